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

  @Test func `are a thousand at most, and make room when they are forgotten`() async throws {
    let world = try await World()
    let client = try #require(try await register(world))
    let first = try #require(try await world.registry.item(StoredItemID(.registration, client.id)))
    let more = (1..<RegisteredClient.most).map { number in
      RegistryChange.createItem(
        StoredItem(
          id: StoredItemID(.registration, "\(number)"), kind: .registration, subject: first.subject,
          payload: first.payload, createdAt: start, expiresAt: first.expiresAt))
    }
    try await world.store.write(more, events: [])
    #expect(try await register(world, now: first.expiresAt.advanced(by: .milliseconds(-1))) == nil)
    #expect(try await register(world, now: first.expiresAt) != nil)
  }
}
