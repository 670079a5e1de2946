#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting

@testable import HandstampServer

/// Two servers of ours in one process: people sign in at ``test`` with accounts that they have at ``provider``.
struct ProviderPair: Sendable {
  static let issuer = "https://provider.example"
  static let callback = Browser.issuer + "/sign-in/with/office/callback"
  static let secret = Secret("the secret of the forum, long enough")

  let test: TestServer
  let provider: TestServer
  let road: Road

  /// The way of the provider's requests to the server.
  let wayBack: WayBack

  /// The provider's back-channel logouts, which reach the server at its port.
  final class WayBack: Transport {
    private struct State {
      var port: String?
      var statuses: [Int] = []
    }

    private let base = PatientTransport()
    private let state = Watched(State())
    private let address: String

    init(to address: String = Browser.issuer) { self.address = address }

    func lead(to port: String) { state.change { $0.port = port } }

    /// Returns the statuses of the responses when there are as many.
    func statuses(_ count: Int) async -> [Int] {
      await state.wait { $0.statuses.count >= count }.statuses
    }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      var request = request
      guard let port = state.value.port, request.url.hasPrefix(address) else {
        return TransportResponse(status: 503)
      }
      request.url = port + request.url.dropFirst(address.count)
      let response = try await base.send(request)
      state.change { $0.statuses.append(response.status) }
      return response
    }

    func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      throw .invalidRequest("no streams")
    }
  }

  /// Requests to the provider's public address, which reach it at its port; or nothing, if it is down.
  final class Road: Transport {
    private let base = PatientTransport()
    private let port: String
    private let isOpen = Locked(true)

    init(to port: String) { self.port = port }

    func close() { isOpen.withLock { $0 = false } }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      var request = request
      guard isOpen.withLock({ $0 }), request.url.hasPrefix(ProviderPair.issuer) else {
        return TransportResponse(status: 503)
      }
      request.url = port + request.url.dropFirst(ProviderPair.issuer.count)
      return try await base.send(request)
    }

    func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      throw .invalidRequest("no streams")
    }
  }

  static func run(
    mailer: (any Mailer)? = nil, _ change: (inout UpstreamProvider) -> Void = { _ in },
    _ configure: (inout ServerConfiguration) -> Void = { _ in }, body: (ProviderPair) async throws -> Void
  ) async throws {
    let clock = TestClock()
    let client = try ConfiguredClient(
      id: "forum", secretHash: ConfiguredClient.hash(of: secret), redirectURIs: [callback],
      scopes: ["openid", "profile", "email"],
      backChannelLogoutURI: Browser.issuer + "/sign-in/with/office/logout")
    let (phone, wayBack) = (try phone(), WayBack())
    try await TestServer.run(clock: clock, transport: wayBack) {
      $0.issuer = issuer
      $0.clients = [client, phone]
    } body: { provider in
      let road = Road(to: provider.client.base)
      try await TestServer.run(clock: clock, mailer: mailer, transport: road) {
        var settings = UpstreamProvider(
          id: "office", name: "Work", issuer: issuer, clientID: "forum", clientSecret: secret)
        change(&settings)
        $0.providers = [settings]
        configure(&$0)
      } body: { test in
        wayBack.lead(to: test.client.base)
        try await body(ProviderPair(test: test, provider: provider, road: road, wayBack: wayBack))
      }
    }
  }

  private static func phone() throws -> ConfiguredClient {
    try ConfiguredClient(
      id: "phone", redirectURIs: ["org.example.phone:/back"], scopes: ["openid", "profile", "email"],
      hasClaimsInIDTokens: true)
  }

  var registry: Registry { test.server.registry }
  var browser: Browser { Browser(test.client.base) }

  /// An account at the provider.
  func person(_ email: String, isVerified: Bool = true) async throws -> TestServer.Session {
    let session = try await provider.signUp(email)
    if isVerified { try await change(session) { $0.emailConfirmedAt = provider.clock.now } }
    return session
  }

  /// Changes an account at the provider.
  func change(_ session: TestServer.Session, _ body: (inout AccountRecord) -> Void) async throws {
    let registry = provider.server.registry
    guard var record = try await registry.account(AccountID(session.account)) else { return }
    body(&record)
    _ = try await registry.update(record)
  }

  /// An account with a confirmed address at the server itself.
  func member(_ email: String, isConfirmed: Bool = true) async throws -> AccountRecord {
    let session = try await test.signUp(email)
    guard var record = try await registry.account(AccountID(session.account)) else { throw CancellationError() }
    if isConfirmed { record.emailConfirmedAt = test.clock.now }
    return try await registry.update(record)
  }

  func identity(_ session: TestServer.Session) -> ExternalIdentity {
    ExternalIdentity(issuer: ProviderPair.issuer, subject: session.account)
  }

  // MARK: The way there and back

  /// Presses the provider's button on a page. Returns the page of the provider that the browser is sent to.
  func leave(_ browser: Browser, from path: String = "/sign-in", _ action: String = "provider") async throws -> String {
    struct NotSent: Error { var title: String }
    let sight = try await browser.press(
      action, on: try await browser.get(path), at: path, [("provider", "office")])
    guard let refresh = sight.header("refresh"), refresh.hasPrefix("0; url=" + ProviderPair.issuer) else {
      throw NotSent(title: sight.title)
    }
    return String(refresh.dropFirst("0; url=".count))
  }

  /// Signs in at the provider and allows it. Returns the way back, as a path of the server.
  func visit(_ url: String, as email: String) async throws -> String {
    struct NoWayBack: Error { var title: String }
    let browser = Browser(provider.client.base)
    var path = String(url.dropFirst(ProviderPair.issuer.count))
    let page = try await browser.get(path)
    let signedIn = try await browser.press(
      "sign-in", on: page, at: path, [("email", email), ("password", TestServer.password)])
    path = String((signedIn.location ?? "").dropFirst(ProviderPair.issuer.count))
    var sight = try await browser.get(path)
    if sight.status != 303 { sight = try await browser.press("allow", on: sight, at: path) }
    guard let back = sight.location, back.hasPrefix(ProviderPair.callback) else { throw NoWayBack(title: sight.title) }
    return String(back.dropFirst(Browser.issuer.count))
  }

  /// The whole way. Returns the response to the browser that is back.
  func signIn(
    _ email: String, _ browser: Browser, from path: String = "/sign-in", _ action: String = "provider"
  ) async throws -> Browser.BrowserResponse {
    try await browser.get(try await visit(try await leave(browser, from: path, action), as: email))
  }

  /// The account that a browser is signed in to.
  func account(of browser: Browser) async throws -> AccountID? {
    guard let cookie = browser.cookies[ResponseCookie.session] else { return nil }
    return try await registry.browserSession(Secret(cookie), now: test.clock.now)?.account.id
  }
}
#endif
