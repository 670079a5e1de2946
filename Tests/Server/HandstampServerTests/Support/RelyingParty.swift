#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import HTTPTypes
import Hummingbird
import Logging
import Testing

@testable import HandstampServer

/// A relying party's endpoint for back-channel logouts, on loopback.
final class RelyingParty: Sendable {
  private struct State {
    var status = HTTPResponse.Status.ok
    var tokens: [String] = []
  }

  private let state = Watched(State())
  private let gate: Gate?

  private init(gate: Gate?) { self.gate = gate }

  /// The response from now on.
  func answer(_ status: HTTPResponse.Status) { state.change { $0.status = status } }

  /// The logout tokens that it got, also those that it refused.
  var tokens: [String] { state.value.tokens }

  /// Returns the tokens when there are as many.
  func tokens(_ count: Int) async -> [String] {
    await state.wait { $0.tokens.count >= count }.tokens
  }

  /// - Parameter gate: delays every answer.
  static func run<Value>(
    behind gate: Gate? = nil, _ body: (RelyingParty, _ uri: String) async throws -> Value
  ) async throws -> Value {
    let party = RelyingParty(gate: gate)
    let router = Router()
    router.post("/logout") { request, _ in
      let form = try FormFields(try await request.wholeBody(upTo: 65_536).readableBytesView)
      return await party.receive(form["logout_token"] ?? "")
    }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "party")
    logger.logLevel = .critical
    let application = Application(
      router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
    let running = Task { try await application.run() }
    defer { running.cancel() }
    for await port in ports { return try await body(party, "http://127.0.0.1:\(port)/logout") }
    throw CancellationError()
  }

  private func receive(_ token: String) async -> Response {
    let status = state.change { state in
      state.tokens.append(token)
      return state.status
    }
    await gate?.wait()
    return Response(status: status)
  }
}

extension OAuthApp {
  /// An OpenID Connect client with a secret.
  static func party(_ id: String = "party", scope: String = "openid profile email") -> OAuthApp {
    var app = OAuthApp()
    (app.id, app.redirect, app.scope) = (id, "https://\(id).example.org/cb", scope)
    app.more = [("nonce", "n-0S6_WzA2Mj")]
    return app
  }

  /// Signs in to a client with a secret, and returns the tokens' answer.
  func tokens(_ browser: Browser, at test: TestServer) async throws -> WireClient.Answer {
    try await redeem(
      try await code(browser), at: test, headers: TestServer.basic(id, TestServer.secret))
  }
}

extension TestServer {
  /// A server with two OpenID Connect clients and Ada's account.
  ///
  /// - Parameters:
  ///   - logout: where clients are told of ended sessions.
  ///   - more: further clients.
  static func runOpenID(
    logout: [String: String] = [:], limits: RegistryLimits = RegistryLimits(), clock: TestClock = TestClock(),
    adding more: [ConfiguredClient] = [], body: (TestServer) async throws -> Void
  ) async throws {
    let hash = ConfiguredClient.hash(of: Secret(secret))
    var parties: [ConfiguredClient] = []
    for (id, algorithm) in [("party", SigningKeys.Algorithm.es256), ("old", .rs256), ("mail", .es256)] {
      parties.append(
        try ConfiguredClient(
          id: id, name: "The \(id)", secretHash: hash, redirectURIs: ["https://\(id).example.org/cb"],
          scopes: ["openid", "profile", "email", "offline_access"], idTokenSigning: algorithm,
          backChannelLogoutURI: logout[id], postLogoutRedirectURIs: ["https://\(id).example.org/bye?a=b"]))
    }
    let phone = try ConfiguredClient(
      id: "phone", redirectURIs: ["org.example.phone:/cb", "http://127.0.0.1/cb"], scopes: ["openid", "profile"])
    let clients = parties + [phone] + more
    let keys = try #require(TestServer.bothKeys)
    try await run(limits: limits, clock: clock, transport: PatientTransport(), keys: keys) {
      $0.clients = clients
    } body: { test in
      _ = try await test.signUp()
      try await body(test)
    }
  }
}
#endif
