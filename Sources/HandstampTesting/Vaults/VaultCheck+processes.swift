import HandstampCore

extension VaultCheck {
  /// Twice 24 edits at once from two vaults: every one is there afterwards.
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
      let current = try await stored(vault, "someone is signed in")
      guard let session = current.session, let token = session.refresh else {
        throw BrokenPromise("of many sign-ins one is the session", found: "\(current)")
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
    try expect(keys.count == 1 && !keys.contains(nil), "of many keys all learn of the same one", found: keys.count)
  }

  func flightLockExcludes() async throws {
    let (vault, other) = try await pair()
    guard let held = try? await vault.lock(within: .seconds(5)) else {
      throw BrokenPromise("a free flight lock is to be had", found: "nothing")
    }
    for contender in [vault, other] {
      for limit in [Duration.zero, .milliseconds(30)] where (try? await contender.lock(within: limit)) != nil {
        throw BrokenPromise("a held flight lock is to be had by nobody else", found: "a second one")
      }
    }
    _ = try await done(other, .begin(VaultSamples.session()), "a sign-in does not wait for the flight lock")
    held.unlock()
    guard let next = try? await other.lock(within: .seconds(5)) else {
      throw BrokenPromise("an unlocked flight lock is to be had", found: "nothing")
    }
    held.unlock()
    if (try? await vault.lock(within: .zero)) != nil {
      throw BrokenPromise("unlocking twice takes nothing from the next holder", found: "it was given away")
    }
    next.unlock()
  }

  /// Ten wait at once, on both vaults; all get it, one at a time.
  func flightLockIsHandedOn() async throws {
    let (vault, other) = try await pair()
    let holders = Holders()
    guard let held = try? await vault.lock(within: .seconds(5)) else {
      throw BrokenPromise("a free flight lock is to be had", found: "nothing")
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<10 {
        group.addTask {
          guard let lock = try? await (number.isMultiple(of: 2) ? vault : other).lock(within: .seconds(20)) else {
            throw BrokenPromise("who waits for the flight lock gets it in turn", found: "nothing within 20 s")
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
    try expect(most == 1, "one holds the flight lock at a time", found: most)
    let waiter = Task { try? await other.lock(within: .seconds(600)) }
    waiter.cancel()
    await waiter.value?.unlock()
  }

  /// Two listen on the second vault; both hear of the first one's writes.
  func writesAreSignalled() async throws {
    let (vault, other) = try await pair()
    _ = try await done(vault, .begin(VaultSamples.session()), "a sign-in is stored")
    let streams = [other.changes(), other.changes()]
    let edit = VaultEdit.endWhatever(.signedOut, at: VaultSamples.moment(5))
    let outcome = try await done(vault, edit, "a sign-out is stored")
    for stream in streams {
      let heard = await first(of: stream, within: .seconds(10))
      try expect(heard, "a write is signalled to all who listen", found: "nothing within 10 s")
    }
    let seen = try await stored(other, "the tombstone is there")
    try expect(seen == outcome, "who hears of a write can read it", found: seen)
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

/// Counts how many are inside at once.
private actor Holders {
  private var now = 0
  private(set) var most = 0

  func enter() {
    now += 1
    most = max(most, now)
  }

  func leave() { now -= 1 }
}
