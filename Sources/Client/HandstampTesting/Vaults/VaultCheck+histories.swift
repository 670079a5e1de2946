import HandstampCore

extension VaultCheck {
  /// Makes random edits through two vaults over one store, and compares each outcome, and what is stored, with the rules.
  func randomEditsFollowTheRules() async throws {
    for seed in 0..<8 as Range<UInt64> {
      var random = SplitMix64(state: seed)
      let (vault, other) = try await pair()
      var entry = VaultEntry()
      for _ in 0..<40 {
        let edit = try edit(after: entry, with: &random)
        let outcome = await (Bool.random(using: &random) ? vault : other).edit(edit)
        let result = edit.applied(to: entry)
        if case .write(let new) = result { entry = new }
        switch (outcome, result) {
        case (.done(let found), .write), (.done(let found), .unchanged), (.conflict(let found), .conflict):
          try compare(found, entry, "the entry after an edit is that of its rules (seed \(seed), \(edit))")
        default:
          throw ConformanceError(
            "an edit is done or a conflict by its rules (seed \(seed), \(edit))", found: "\(outcome)")
        }
      }
      switch await other.read() {
      case .value(let found): try compare(found, entry, "the last entry is stored (seed \(seed))")
      case .absent where entry.isEmpty: break
      case let reading: throw ConformanceError("the last entry is stored (seed \(seed))", found: "\(reading)")
      }
    }
  }

  private func compare(_ found: VaultEntry, _ entry: VaultEntry, _ promise: String) throws {
    try expect(
      found.session == entry.session && found.tombstones == entry.tombstones && found.signIn == entry.signIn, promise,
      found: found)
  }

  /// Draws an edit of the stored session, or of another that the store may know.
  private func edit(after entry: VaultEntry, with random: inout SplitMix64) throws -> VaultEdit {
    func draw<Value>(_ values: [Value]) -> Value { values[Int(random.next() % UInt64(values.count))] }
    let stored = entry.session.flatMap { draw([true, true, true, false]) ? $0 : nil }
    let session = stored ?? VaultSamples.session(draw(["s1", "s2", "s3"]))
    let token = session.refresh ?? RefreshToken("none")
    let moment = VaultSamples.moment(Int64(random.next() % 100))
    let key = try key(UInt8(random.next() % 4))
    switch random.next() % 12 {
    case 0: return .begin(session, steps: draw([[], ["jar"]]))
    case 1, 2: return .prepare(session.id, holding: token, key: key)
    case 3, 4:
      let successor = RefreshToken("\(session.id)-refresh-\(random.next() % 8)")
      var tokens = VaultSamples.refreshed(token, to: successor, "\(random.next() % 8)")
      tokens.response.acceptsRotationKey = draw([true, false])
      return .advance(session.id, tokens)
    case 5:
      return .end(session.id, holding: draw([nil, token]), reason: .revoked, at: moment, steps: ["jar", "store"])
    case 6: return .signOut(.signedOut, at: moment, steps: draw([[], ["store"]]), isLate: draw([true, false]))
    case 7: return .delivered(session.id)
    case 8: return .cleaned(session.id, steps: [draw(["jar", "store"])])
    case 9: return .touch(session.id, at: moment)
    case 10:
      return .bury(Tombstone(session: session.id, reason: .idle, endedAt: moment, revocation: session.revocation))
    default:
      return draw([
        .forgetSignIn(key), .prepareSignIn(PendingSignIn(key: key, purpose: random.next() % 2, startedAt: moment.wall)),
      ])
    }
  }
}
