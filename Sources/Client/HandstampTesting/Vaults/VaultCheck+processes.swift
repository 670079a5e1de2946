import HandstampCore

extension VaultCheck {
  /// Makes 24 edits at once from two vaults, twice; none may be lost.
  func concurrentEditsLoseNothing() async throws {
    let (vault, other) = try await pair()
    let count = 24
    let keys = try await withThrowingTaskGroup(of: VaultEntry.self) { group in
      for number in 0..<count {
        group.addTask {
          try await done(
            number.isMultiple(of: 2) ? vault : other, .begin(VaultSamples.session("s\(number)")), "a sign-in is stored")
        }
      }
      for try await _ in group {}
      let current = try await stored(vault, "a session is stored")
      guard let session = current.session, let token = session.refresh else {
        throw ConformanceError("one of many sign-ins becomes the session", found: "\(current)")
      }
      let told = Set(current.tombstones.map(\.session)).union([session.id])
      try expect(told.count == count && current.revision >= UInt64(count), "no sign-in is lost", found: told.sorted())
      for number in 0..<count {
        let key = try key(UInt8(number))
        group.addTask {
          try await done(
            number.isMultiple(of: 2) ? vault : other, .prepare(session.id, holding: token, key: key), "a key is stored")
        }
      }
      return try await group.reduce(into: Set<RotationKey?>()) { $0.insert($1.session?.pendingKey) }
    }
    try expect(keys.count == 1 && !keys.contains(nil), "all writers of a key receive the same one", found: keys.count)
  }

  func flightLockExcludes() async throws {
    let (vault, other) = try await pair()
    guard let held = try? await vault.lock(.refresh, within: .seconds(5)) else {
      throw ConformanceError("a free refresh lock can be taken", found: "nothing")
    }
    for contender in [vault, other] {
      for limit in [Duration.zero, .milliseconds(30)] where (try? await contender.lock(.refresh, within: limit)) != nil
      {
        throw ConformanceError("a held refresh lock cannot be taken", found: "a second one")
      }
    }
    _ = try await done(other, .begin(VaultSamples.session()), "a sign-in does not wait for the refresh lock")
    guard let signIn = try? await other.lock(.signIn, within: .seconds(5)) else {
      throw ConformanceError("a sign-in does not wait for the refresh lock", found: "no sign-in lock")
    }
    if (try? await vault.lock(.signIn, within: .zero)) != nil {
      throw ConformanceError("a held sign-in lock cannot be taken", found: "a second one")
    }
    signIn.unlock()
    held.unlock()
    guard let next = try? await other.lock(.refresh, within: .seconds(5)) else {
      throw ConformanceError("a released refresh lock can be taken", found: "nothing")
    }
    held.unlock()
    if (try? await vault.lock(.refresh, within: .zero)) != nil {
      throw ConformanceError("unlocking twice does not affect the next holder", found: "the lock was taken again")
    }
    next.unlock()
  }

  /// Ten tasks wait at once, on both vaults; all get the lock, one at a time.
  func flightLockIsHandedOn() async throws {
    let (vault, other) = try await pair()
    let holders = Holders()
    guard let held = try? await vault.lock(.refresh, within: .seconds(5)) else {
      throw ConformanceError("a free refresh lock can be taken", found: "nothing")
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 {
        group.addTask {
          guard let lock = try? await (number.isMultiple(of: 2) ? vault : other).lock(.refresh, within: .seconds(20))
          else {
            throw ConformanceError("every waiter gets the refresh lock in turn", found: "nothing within 20 s")
          }
          await holders.enter()
          await othersFirst()
          await holders.leave()
          lock.unlock()
        }
      }
      await othersFirst()
      held.unlock()
      try await group.waitForAll()
    }
    let most = await holders.most
    try expect(most == 1, "the refresh lock has one holder at a time", found: most)
    let waiter = Task { try? await other.lock(.refresh, within: .seconds(600)) }
    waiter.cancel()
    await waiter.value?.unlock()
  }

  /// Two streams of the second vault listen; both are notified of the first one's writes.
  func writesAreSignalled() async throws {
    let (vault, other) = try await pair()
    _ = try await done(vault, .begin(VaultSamples.session()), "a sign-in is stored")
    let streams = [other.changes(), other.changes()]
    let edit = VaultEdit.signOut(.signedOut, at: VaultSamples.moment(5))
    let outcome = try await done(vault, edit, "a sign-out is stored")
    for stream in streams {
      let heard = await first(of: stream, within: .seconds(10))
      try expect(heard, "a write is signalled to all listeners", found: "nothing within 10 s")
    }
    let seen = try await stored(other, "the tombstone is stored")
    try expect(seen == outcome, "a signalled write can be read", found: seen)
  }

  private func first(of stream: AsyncStream<Void>, within limit: Duration) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await _ in stream { return true }
        return false
      }
      group.addTask {
        try? await Task.sleep(for: limit)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }
}

/// Counts the holders at a time.
private actor Holders {
  private var now = 0
  private(set) var most = 0

  func enter() {
    now += 1
    most = max(most, now)
  }

  func leave() { now -= 1 }
}
