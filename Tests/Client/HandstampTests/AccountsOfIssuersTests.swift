import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// A subject at one issuer is a different account at another (OpenID Connect Core 1.0 section 5.7).
@MainActor @Suite(.timeLimit(.minutes(10))) struct `Accounts of several issuers` {
  private let clock = ManualClock()
  private let store = MemoryAccountsStore()
  private let vaults = Locked<[AccountID: MemoryVault]>([:])
  private let good = "https://id.example.org"
  private let evil = "https://evil.example.org"

  private func accounts() -> Accounts<String> {
    Accounts(store: store, clock: clock) { [vaults, clock] account in
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return SessionManager<String>(
        backend: ScriptedBackend.rotating(), vault: vault, baseURL: base,
        transport: StubTransport { _ in .init(status: 200) }, policy: quiet, clock: clock
      ) { _ in "content" }
    }
  }

  private func grant(_ name: String, at issuer: String?, session: String? = nil) -> TokenResponse {
    var grant = TokenResponse.sample(0, session: "session-\(session ?? name)")
    grant.profile = Profile(id: AccountID(name), name: name)
    grant.issuer = issuer
    return grant
  }

  private func token(_ id: AccountID, _ accounts: Accounts<String>) async throws -> AccessToken? {
    try await accounts.session(of: id)?.controller.token()
  }

  @Test func `with the same subject stay separate, each with its own tokens`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { grant("ada", at: good, session: "first") }
    let other = try await accounts.add { grant("ada", at: evil, session: "second") }
    #expect(ada == AccountID("ada"))
    #expect(other == AccountID("https://evil.example.org#ada"))
    #expect(accounts.accounts.map(\.server) == [good, evil])
    #expect(try await token(ada, accounts) == AccessToken("access-session-first-0"))
    #expect(try await token(other, accounts) == AccessToken("access-session-second-0"))
    // Each is found again, in either order, also by another program.
    let later = self.accounts()
    #expect(try await later.add { grant("ada", at: evil, session: "third") } == other)
    #expect(try await later.add { grant("ada", at: good, session: "fourth") } == ada)
    #expect(later.accounts.count == 2)
  }

  @Test func `keep their ids when the other is removed`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { grant("ada", at: good, session: "first") }
    let other = try await accounts.add { grant("ada", at: evil, session: "second") }
    try await accounts.remove(ada)
    #expect(try await accounts.add { grant("ada", at: evil, session: "third") } == other)
    #expect(accounts.accounts.map(\.id) == [other])
  }

  @Test func `cannot be taken over by a subject that imitates another's full id`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { grant("ada", at: evil, session: "first") }
    let trap = try await accounts.add { grant("\(good)#ada", at: evil, session: "second") }
    let victim = try await accounts.add { grant("ada", at: good, session: "third") }
    #expect(Set([ada, trap, victim]).count == 3)
    #expect(accounts[victim]?.server == good)
    #expect(try await token(victim, accounts) == AccessToken("access-session-third-0"))
    #expect(try await token(trap, accounts) == AccessToken("access-session-second-0"))
    #expect(try await accounts.add { grant("ada", at: good, session: "fourth") } == victim)
  }

  /// Such an account is named after the issuer, and the next such sign-in may be another person's.
  @Test func `whose server names no user never take each other's place`() async throws {
    let accounts = accounts()
    func unnamed(_ session: String) -> TokenResponse {
      var grant = grant(good, at: good, session: session)
      grant.namesNoUser = true
      return grant
    }
    let first = try await accounts.add { unnamed("first") }
    let second = try await accounts.add { unnamed("second") }
    #expect(first == AccountID(good) && second == AccountID("\(good) 2"))
    #expect(try await token(first, accounts) == AccessToken("access-session-first-0"))
    #expect(try await token(second, accounts) == AccessToken("access-session-second-0"))
    // The app says whose it is by the session that it signs in to.
    let session = try #require(accounts.session(of: second))
    try await session.signIn { unnamed("third") }
    #expect(try await token(second, accounts) == AccessToken("access-session-third-0"))
    #expect(try await token(first, accounts) == AccessToken("access-session-first-0"))
    // A user who is named has an account of their own.
    let ada = try await accounts.add { grant("ada", at: good, session: "fourth") }
    await #expect(throws: SessionError.self) { try await session.signIn { grant("ada", at: good, session: "fifth") } }
    #expect(Set([first, second, ada]).count == 3 && accounts.accounts.count == 3)
  }

  @Test func `differ from an account without an issuer, which is found again, too`() async throws {
    let accounts = accounts()
    let ada = try await accounts.add { grant("ada", at: nil, session: "first") }
    let other = try await accounts.add { grant("ada", at: good, session: "second") }
    #expect(ada == AccountID("ada") && other == AccountID("https://id.example.org#ada"))
    #expect(try await accounts.add { grant("ada", at: nil, session: "third") } == ada)
    #expect(try await token(other, accounts) == AccessToken("access-session-second-0"))
    #expect(accounts.accounts.map(\.server) == [nil, good])
    #expect(accounts.accounts.map(\.idAtServer) == [ada, ada])
    // In the other order.
    let bob = try await accounts.add { grant("bob", at: good, session: "fourth") }
    let anonymous = try await accounts.add { grant("bob", at: nil, session: "fifth") }
    #expect(bob == AccountID("bob") && anonymous == AccountID("#bob"))
    #expect(accounts.accounts.named("bob").map(\.id) == [bob, anonymous])
  }
}
