#if Programs
import Foundation
import Handstamp
import HandstampTransports

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The command in a terminal of its own, next to Authlib's server.
struct OAuthTerminal: Sendable {
  let home: String
  let server: IndependentServer

  func run(
    _ words: String, input: String = "", variables: [String: String] = [:]
  ) async throws -> Child.Outcome {
    try await run(words.split(separator: " ").map(String.init), input: input, variables: variables)
  }

  func run(
    _ words: [String], input: String = "", variables: [String: String] = [:]
  ) async throws -> Child.Outcome {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Independent")
    let all = ["HANDSTAMP_HOME": home, "BROWSER": folder.appendingPathComponent("browser.py").path]
    let child = try Child(words, variables: all.merging(variables) { $1 }, input: input)
    return try await child.outcome()
  }

  func get(_ path: String, token: String? = nil) async throws -> (status: Int, object: [String: Any]) {
    let headers = token.map { [HeaderField("Authorization", "Bearer \($0)")] } ?? []
    let answer = try await AsyncHTTPTransport.shared.send(
      TransportRequest(method: "GET", url: server.url + path, headers: headers))
    let object = (try? JSONSerialization.jsonObject(with: Data(answer.body))) as? [String: Any] ?? [:]
    return (answer.status, object)
  }

  func count(_ name: String) async throws -> Int? { try await get("/counts").object[name] as? Int }

  /// Makes the access token in the vault expire, as if its lifetime had passed.
  func expire(_ account: AccountID = AccountID("user-1"), at server: String? = nil) async throws {
    let issuer = try ServerAddress(parsing: server ?? self.server.url)
    let vault = Home(path: home).vault(of: ListedAccount.id(of: account, at: issuer.text))
    guard case .value(let entry) = await vault.read(), let session = entry.session, let token = session.refresh,
      let access = session.access?.token
    else { throw Program.Failed(description: "not signed in") }
    let over = TokenResponse(tokens: TokenSet(access: access, expiresIn: .zero))
    let outcome = await vault.edit(
      .advance(session.id, RefreshedTokens(over, sent: token, since: SystemClock().now())))
    guard case .done = outcome else { throw Program.Failed(description: "\(outcome)") }
  }

  /// Makes the ID token in the vault expire, as if its lifetime had passed since the last refresh.
  ///
  /// - Parameter rest: What is left of it.
  func expireIDToken(leaving rest: Duration = .nanoseconds(1) - .seconds(60)) async throws {
    let issuer = try ServerAddress(parsing: server.url)
    let vault = Home(path: home).vault(of: ListedAccount.id(of: AccountID("user-1"), at: issuer.text))
    guard case .value(let entry) = await vault.read(), var session = entry.session,
      var lifetime = session.access?.lifetime
    else { throw Program.Failed(description: "not signed in") }
    // The command does not replace what it got a moment ago.
    lifetime.start = lifetime.start.advanced(by: .seconds(-60))
    session.access?.lifetime = lifetime
    session.idToken?.lifetime = Lifetime(start: lifetime.start, duration: .seconds(60) + rest)
    guard case .done = await vault.edit(.putBack(session, revision: entry.revision)) else {
      throw Program.Failed(description: "the vault was not written")
    }
  }

  /// The requests that the server received, each as `GET /path`.
  func paths() async throws -> [String] { try await get("/paths").object["paths"] as? [String] ?? [] }

  /// How clients sent their secrets, each as `/path basic`.
  func authentication() async throws -> Set<String> {
    Set(try await get("/paths").object["authentication"] as? [String] ?? [])
  }

  /// Ends every session at the server, as its operator may.
  func endAll() async throws {
    _ = try await AsyncHTTPTransport.shared.send(TransportRequest(method: "POST", url: server.url + "/forget"))
  }

  static func run(
    _ options: [String] = [], script: String = "server.py", _ body: @Sendable (OAuthTerminal) async throws -> Void
  ) async throws {
    let home = NSTemporaryDirectory() + "handstamp-oauth-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    try await IndependentServer.run(options, script: script) { try await body(OAuthTerminal(home: home, server: $0)) }
  }
}
#endif
