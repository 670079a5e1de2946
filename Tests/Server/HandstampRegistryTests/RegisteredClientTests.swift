import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `Clients that register themselves` {
  private func register(_ world: World, now: UnixTime = start) async throws -> RegisteredClient? {
    try await world.registry.register(
      name: "tool & co", redirectURIs: ["http://localhost/a?b=c", "http://[::1]/"], scopes: ["profile", "read"],
      now: now)
  }

  @Test func `are remembered as they are, by IDs that say so`() async throws {
    let world = try await World()
    let client = try #require(try await register(world))
    #expect(RegisteredClient.isID(client.id))
    #expect(try await world.registry.registeredClient(client.id, now: start) == client)
    #expect(try await register(world)?.id != client.id)
    for id in ["registered-", "registered-tool", "tool", client.id + "x"] { #expect(!RegisteredClient.isID(id)) }
  }

  @Test func `are a thousand at most, of which the oldest unused one makes room, and none in use`() async throws {
    let world = try await World()
    let unused = try #require(try await register(world)).id
    let younger = try #require(try await register(world, now: after(.milliseconds(1)))).id
    let first = try #require(try await world.registry.item(StoredItemID(.registration, unused)))
    let end = start.advanced(by: RegisteredClient.memory)
    let used = (2..<RegisteredClient.most).map { number in
      RegistryChange.createItem(
        StoredItem(
          id: StoredItemID(.registration, "\(number)"), kind: .registration, subject: first.subject,
          payload: first.payload, createdAt: start.advanced(by: .seconds(-1)), expiresAt: end))
    }
    try await world.store.write(used, events: [])
    let now = after(.milliseconds(2))
    func isKnown(_ id: String) async throws -> Bool {
      try await world.registry.registeredClient(id, now: now) != nil
    }
    let new = try #require(try await register(world, now: now)).id
    #expect(try await !isKnown(unused))
    #expect(try await world.registry.registeredClients(now: now).count == RegisteredClient.most)
    // Once these are used as well, there is no room until some are forgotten.
    for id in [younger, new] {
      #expect(try await isKnown(id))
      try await world.registry.keepClient(id, until: end, now: start)
    }
    #expect(try await register(world, now: end.advanced(by: .milliseconds(-1))) == nil)
    #expect(try await register(world, now: end) != nil)
    // Until the expired ones are pruned, their number has a limit as well.
    let expired = (0..<RegisteredClient.most - 2).map { number in
      RegistryChange.createItem(
        StoredItem(
          id: StoredItemID(.registration, "late \(number)"), kind: .registration, subject: first.subject,
          payload: first.payload, createdAt: start, expiresAt: start))
    }
    try await world.store.write(expired, events: [])
    #expect(try await register(world, now: end) == nil)
  }
}
