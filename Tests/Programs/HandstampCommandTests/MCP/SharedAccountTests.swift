#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

/// Two remote servers, x and y, at one account. It was signed in for x alone, and then for both.
@Suite(.timeLimit(.minutes(10))) struct `A bridge whose account is widened for another server` {
  private static let (x, y) = ("https://x.example.org/mcp", "https://y.example.org/mcp")
  private static let issuer = "https://id.example.org"
  private static let account = ListedAccount.id(of: AccountID("ada"), at: issuer)
  private static let call = #"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}"#
  private static let answer = #"{"jsonrpc":"2.0","id":7,"result":{}}"#

  private struct Failed: Error {}

  /// The token for that server alone.
  private static func own(_ url: String) -> String { url == x ? "for-x" : "for-y" }

  private func access(_ token: String) -> StoredAccess {
    StoredAccess(
      token: AccessToken(token), lifetime: Lifetime(start: SystemClock().now(), duration: .seconds(600)))
  }

  /// Signs in as `handstamp mcp login` does: the account's own token is for all of these servers.
  private func signIn(_ home: Home, _ token: String, for resources: [String]) async throws {
    let now = SystemClock().now()
    var session = StoredSession(
      id: SessionID(token), profile: Profile(id: AccountID("ada"), name: "Ada"), refresh: RefreshToken("r-\(token)"),
      revocation: nil, access: access(token), startedAt: now, activeAt: now, issuer: Self.issuer)
    // One for each server is known already, so that no bridge has to ask for it.
    for resource in [Self.x, Self.y] { session.targeted[TokenTarget(resource: resource)] = access(Self.own(resource)) }
    try home.save(
      OAuthRecord(issuer: Self.issuer, client: "agent", scopes: [], resources: resources), of: Self.account)
    guard case .done = await home.vault(of: Self.account).edit(.begin(session)) else { throw Failed() }
    let listed = ListedAccount(id: Self.account, name: "Ada", server: Self.issuer, addedAt: now.wall)
    _ = try await home.accounts.edit(.add(listed)).get()
  }

  private func bridge(_ home: Home, to url: String) throws -> BridgeAccess {
    let server = try RemoteServer(parsing: url)
    try home.save(MCPConnection(url: url, resource: url, account: Self.account), to: server, as: nil)
    return BridgeAccess(MCPSignIn(home: home, server: server))
  }

  private func tokens(_ remote: FakeRemote) -> [String?] {
    remote.requests.filter { $0.method == "POST" }.map { $0.headers.first(named: "Authorization") }
  }

  @Test func `sends each server its own token from then on`() async throws {
    try await ProcessFixture.inFolder { folder in
      let home = Home(path: folder + "/home")
      try await signIn(home, "narrow", for: [Self.x])
      let (atX, atY) = (FakeRemote { _, _ in .json(Self.answer) }, FakeRemote { _, _ in .json(Self.answer) })
      let lines = try await atX.bridge([Self.call, Self.call], to: Self.x, try bridge(home, to: Self.x)) {
        do {
          try await signIn(home, "wide", for: [Self.x, Self.y])
          _ = try await atY.bridge([Self.call], to: Self.y, try bridge(home, to: Self.y))
        } catch { Issue.record(error) }
      }
      #expect(lines == [Self.answer, Self.answer])
      #expect(tokens(atX) == ["Bearer narrow", "Bearer \(Self.own(Self.x))"])
      #expect(tokens(atY) == ["Bearer \(Self.own(Self.y))"])
    }
  }

  @Test func `replaces a refused token by one for its server alone`() async throws {
    try await ProcessFixture.inFolder { folder in
      let home = Home(path: folder + "/home")
      try await signIn(home, "narrow", for: [Self.x])
      let access = try bridge(home, to: Self.x)
      let first = try await access.token()
      #expect(first == AccessToken("narrow"))
      try await signIn(home, "wide", for: [Self.x, Self.y])
      #expect(try await access.token(insteadOf: first, nil) == AccessToken(Self.own(Self.x)))
      await access.conclude()
    }
  }

  @Test func `hears of a sign-out by another program while a stream is open, and of no other sign-in`() async throws {
    try await ProcessFixture.inFolder { folder in
      let home = Home(path: folder + "/home")
      try await signIn(home, "narrow", for: [Self.x])
      let access = try bridge(home, to: Self.x)
      _ = try await access.token()
      let isOver = Locked(false)
      async let end = {
        let end = await access.sessionEnd()
        isOver.withLock { $0 = true }
        return end
      }()
      try await signIn(home, "again", for: [Self.x])
      #expect(
        try await eventually {
          try await access.token() == AccessToken("again") && !isOver.withLock { $0 }
        })
      guard case .done = await home.vault(of: Self.account).edit(.signOut(.signedOut, at: SystemClock().now())) else {
        throw Failed()
      }
      #expect(await end?.code == "signed_out")
      await access.conclude()
    }
  }
}
#endif
