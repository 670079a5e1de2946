#if Server
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampSQLite

@Suite(.timeLimit(.minutes(10))) struct `A webhook's backlog` {
  private static let size = 100_000

  private func registry(_ store: any RegistryStore) throws -> Registry {
    Registry(
      store: store,
      mint: TokenMint(try MasterKeys(current: KeyID("k1"), keys: [KeyID("k1"): Secret(bytes: Array(0..<32))])))
  }

  /// Sends up to so many waves, and returns the events in order.
  private func send(_ waves: Int, of registry: Registry, at now: UnixTime) async throws -> [EventID] {
    var taken: [EventID] = []
    guard var hook = try await registry.claimWebhook("crm", until: now.advanced(by: .seconds(120)), now: now) else {
      return []
    }
    for _ in 0..<waves {
      let wave = try await hook.wave(in: registry, at: now)
      guard !wave.courses.isEmpty else { break }
      let outcomes = wave.courses.map { course in
        var outcome = WebhookWave.Outcome(course)
        outcome.delivered = course.events.count
        return outcome
      }
      taken += wave.courses.flatMap { $0.events.map(\.id) }
      let lease = now.advanced(by: .seconds(120))
      hook = try #require(
        try await registry.finish(wave, outcomes, test: nil, of: hook, until: { _ in lease }, now: now)
      ).webhook
    }
    return taken
  }

  @Test func `of 100,000 events survives a server that is killed`() async throws {
    let folder = try Folder()
    var store = try folder.server.open().store
    var registry = try self.registry(store)
    _ = try await registry.addWebhook(Webhook.Settings(name: "crm", url: "https://crm.example.org/"), now: start)
    for batch in 0..<Self.size / 1000 {
      let events = (0..<1000).map { number in
        // Four of one account in a row, as a sign-in and its ends are.
        RegistryEvent(
          kind: .sessionRevoked, account: AccountID("a\((batch * 1000 + number) / 4 % 5000)"),
          session: SessionID("s\(number % 4)"), reason: .revoked, at: start)
      }
      try await store.write([], events: events)
    }
    let first = try await send(500, of: registry, at: start)
    let position = try #require(try await registry.webhooks().first).cursor
    #expect(position.rawValue == Int64(first.count))
    // The store is not closed: the file is as a killed server leaves it, and the lease is still that server's.
    store = try folder.server.open().store
    registry = try self.registry(store)
    #expect(try await send(1, of: registry, at: start.advanced(by: .seconds(119))).isEmpty)
    let rest = try await send(.max, of: registry, at: start.advanced(by: .seconds(120)))
    #expect((first + rest).sorted() == (1...Int64(Self.size)).map { EventID(rawValue: $0) })
    let hook = try #require(try await registry.webhooks().first)
    #expect(hook.cursor == (try await registry.lastEventID()))
  }
}
#endif
