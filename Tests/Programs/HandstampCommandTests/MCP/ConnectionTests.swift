#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `The connection to a remote server` {
  private static let connection = MCPConnection(
    url: "https://X.org/mcp", resource: "https://x.org/mcp", account: AccountID("https://id.org#ada"))

  private func record(_ resources: [String]?) -> OAuthRecord {
    OAuthRecord(issuer: "https://id.org", client: "agent", scopes: [], resources: resources)
  }

  @Test func `uses the account's own tokens only if they are for this server alone`() {
    let target = TokenTarget(resource: "https://x.org/mcp")
    #expect(Self.connection.target(of: record(["https://x.org/mcp"])) == nil)
    #expect(Self.connection.target(of: record(["https://x.org/mcp", "https://y.org"])) == target)
    #expect(Self.connection.target(of: record(nil)) == target && Self.connection.target(of: nil) == target)
  }

  @Test func `is kept for each server, and for each account that was named`() async throws {
    try await ProcessFixture.inFolder { folder in
      let home = Home(path: folder + "/home")
      let server = try RemoteServer(parsing: "https://X.org/mcp")
      #expect(home.connection(to: server, as: nil) == nil)
      try home.save(Self.connection, to: server, as: nil)
      #expect(home.connection(to: try RemoteServer(parsing: "https://x.org:443/mcp"), as: nil) == Self.connection)
      #expect(home.connection(to: server, as: "robot") == nil)
      #expect(home.connection(to: try RemoteServer(parsing: "https://x.org/mcp2"), as: nil) == nil)
    }
  }

  @Test func `is remembered with the client, whose earlier records have none`() throws {
    let known = record(["https://x.org/mcp"])
    #expect(try JSONDecoder().decode(OAuthRecord.self, from: Data(known.jsonBytes())) == known)
    let earlier = #"{"issuer":"https://id.org","client":"agent","scopes":[]}"#
    #expect(try JSONDecoder().decode(OAuthRecord.self, from: Data(earlier.utf8)) == record(nil))
  }

  @Test func `is made again by the step that signs in for it`() throws {
    let server = try RemoteServer(parsing: "https://x.org/mcp")
    let signIn = MCPSignIn(home: Home(path: "unused"), server: server, account: "ada")
    let step = "run: handstamp mcp login https://x.org/mcp --account ada"
    #expect(signIn.hinting(.notSignedIn.about("ada")).hint == step)
    let forced = CommandError(.signInNeeded, "x", hint: "run: handstamp login --force")
    #expect(signIn.hinting(forced).hint == step + " --force")
    #expect(signIn.hinting(forced.hinting("try again later")).hint == "try again later")
  }

  @Test func `keeps the client in that step`() throws {
    let server = try RemoteServer(parsing: "https://x.org/mcp")
    let signIn = MCPSignIn(home: Home(path: "unused"), server: server, client: .init(id: "agent"))
    #expect(signIn.hint == "run: handstamp mcp login https://x.org/mcp --client-id agent")
  }

  @Test func `lacks the scopes that its account was not granted`() {
    var record = OAuthRecord(issuer: "https://id.org", client: "agent", scopes: ["openid", "read"])
    #expect(record.lacked(of: ["read"]) == nil && record.lacked(of: ["read", "write"]) == ["write"])
    record.granted = ["openid"]
    #expect(record.lacked(of: ["read", "openid"]) == ["read"] && record.lacked(of: []) == nil)
  }

  @Test func `is of one bridge at a time`() async throws {
    try await ProcessFixture.inFolder { folder in
      let home = Home(path: folder + "/home")
      let own = RunningBridge(for: try RemoteServer(parsing: "https://x.org/mcp"), at: UnixTime(milliseconds: 1000))
      home.note(own)
      #expect(home.bridges == [own] && own.program != nil)
      var other = own
      other.startedAt = own.startedAt.map { $0 + 1 }
      home.note(other)
      #expect(home.bridges.isEmpty, "another process had the ID")
      home.note(own)
      home.forget(own)
      #expect(home.bridges.isEmpty)
    }
  }
}
#endif
