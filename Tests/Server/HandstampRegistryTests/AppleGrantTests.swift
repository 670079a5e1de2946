import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `Apple's grant` {
  private static let lease = Duration.seconds(60)

  private func claim(_ registry: Registry, now: UnixTime) async throws -> ClaimedJob<AppleGrant>? {
    guard let item = try await registry.dueJobs(AppleGrant.self, at: now, limit: 1).first else { return nil }
    return try await registry.claim(item, as: AppleGrant.self, until: now.advanced(by: Self.lease), now: now)
  }

  private func token(_ claimed: ClaimedJob<AppleGrant>, _ registry: Registry) throws -> Secret? {
    try claimed.job.token.flatMap { try registry.mint.secret($0, for: .appleGrant, boundTo: claimed.context) }
  }

  @Test func `of an account that is years old is revoked with the same patience`() async throws {
    let world = try await World()
    let registry = world.registry
    try await registry.keep(appleCode: Secret("code"), client: "app", of: world.ada.id, now: start)
    let first = try #require(try await claim(registry, now: start))
    #expect(try await registry.note(appleToken: Secret("token"), in: first) != nil)
    let later = after(.seconds(3 * 365 * 86_400))
    #expect(try await claim(registry, now: later) == nil)
    _ = try await registry.deleteAccount(world.ada, now: later)
    let last = try #require(try await claim(registry, now: later))
    #expect(last.job.endedAt == later)
    #expect(try token(last, registry) == Secret("token"))
  }

  @Test func `is revoked although the account was deleted while the code was on its way`() async throws {
    let world = try await World()
    let registry = world.registry
    try await registry.keep(appleCode: Secret("code"), client: "app", of: world.ada.id, now: start)
    let first = try #require(try await claim(registry, now: start))
    _ = try await registry.deleteAccount(world.ada, now: after(.seconds(1)))
    // No other worker uses the code meanwhile.
    #expect(try await claim(registry, now: after(.seconds(59))) == nil)
    #expect(try await registry.note(appleToken: Secret("token"), in: first) == nil)
    let last = try #require(try await claim(registry, now: after(Self.lease)))
    #expect(last.job.endedAt == after(.seconds(1)) && last.job.code == nil)
    #expect(try token(last, registry) == Secret("token"))
  }
}
