#if Programs
import HandstampCore
import HandstampSupport
import HandstampTransports
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import HandstampServer

/// A host of documents on this machine.
private final class DocumentHost: Sendable {
  static let url = "https://app.example.org/client.json"
  static let document =
    #"{"client_id":"\#(url)","client_name":"Editor","redirect_uris":["https://app.example.org/back"]}"#

  let answer = Locked((status: 200, body: DocumentHost.document))
  let hosts = Locked<[String]>([])

  static func run(_ body: (DocumentHost, _ port: Int) async throws -> Void) async throws {
    let host = DocumentHost()
    let router = Router()
    router.get("**") { request, _ in
      host.hosts.withLock { $0.append(request.head.authority ?? "") }
      let answer = host.answer.withLock { $0 }
      return Response(
        status: .init(code: answer.status),
        headers: [
          .contentType: "application/json", .cacheControl: "max-age=300",
          .location: "https://app.example.org/elsewhere.json",
        ],
        body: .init(byteBuffer: ByteBuffer(string: answer.body)))
    }
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
      logger: Logger(label: "documents") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await application.run() }
    defer { serving.cancel() }
    guard let port = await ports.first(where: { _ in true }) else { throw CancellationError() }
    try await body(host, port)
  }

  /// - Parameter isForTests: whether addresses of this machine are allowed.
  static func settings(port: Int, isForTests: Bool = true) -> ClientDocumentSettings {
    let source = PinnedNetwork(
      resolve: { _ in [IPAddress("127.0.0.1")].compactMap { $0 } },
      connect: { host, address in CleartextTransport(host: host, address: address, port: port) },
      close: { await ($0 as? CleartextTransport)?.base.shutdown() })
    var settings = ClientDocumentSettings(
      rights: StrangerRights(scopes: ["profile", "read"], audiences: ["https://api.example.org"]), source: source)
    settings.allowsPrivate = isForTests
    return settings
  }
}

/// Without TLS; the name is found nowhere, so only the address that is given leads there.
private struct CleartextTransport: Transport {
  let base: AsyncHTTPTransport
  let port: Int

  init(host: String, address: IPAddress, port: Int) {
    self.port = port
    base = AsyncHTTPTransport(
      pinning: host, to: "\(address)", connectTimeout: .seconds(240), certificateAuthorities: nil)
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var request = request
    request.url = request.url.replacing("https://app.example.org", with: "http://app.example.org:\(port)")
    request.timeout = .seconds(240)
    return try await base.send(request)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .invalidRequest("documents are no streams")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A client with a document of its own` {
  private var app: OAuthApp {
    var app = OAuthApp()
    (app.id, app.redirect) = (DocumentHost.url, "https://app.example.org/back")
    return app
  }

  private func run(
    isForTests: Bool = true, _ body: (TestServer, DocumentHost) async throws -> Void
  ) async throws {
    try await DocumentHost.run { host, port in
      let settings = DocumentHost.settings(port: port, isForTests: isForTests)
      try await TestServer.run({ $0.clientDocuments = settings }) { test in
        _ = try await test.signUp()
        try await body(test, host)
      }
    }
  }

  @Test func `signs users in after they have seen its host`() async throws {
    try await run { test, host in
      let browser = Browser(test.client.base)
      let path = app.page()
      let page = try await browser.signIn(at: path)
      #expect(page.text.contains("Editor (app.example.org)"))
      let back = try await browser.press("allow", on: page, at: path)
      #expect(back.location?.hasPrefix("https://app.example.org/back?") == true)
      let session = try TestServer.Session(
        try await app.redeem(try #require(back.fields["code"]), at: test))
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      // One fetch, at the name's address.
      #expect(host.hosts.withLock { $0 }.count == 1)
      #expect(host.hosts.withLock { $0 }.first?.hasPrefix("app.example.org") == true)
      let apps = try await browser.get("/account/apps")
      #expect(apps.text.contains("Editor (app.example.org)"))
    }
  }

  @Test func `stays signed in whatever becomes of its host`() async throws {
    try await run { test, host in
      let session = try await app.session(test)
      host.answer.withLock { $0 = (404, "gone") }
      test.clock.advance(by: .seconds(400))
      let fetches = host.hosts.withLock { $0 }.count
      let refreshed = try await app.refresh(session.refresh, at: test)
      #expect(refreshed.status == 200)
      #expect(host.hosts.withLock { $0 }.count == fetches)
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.status == 400 && page.text.contains("the status is 404"))
    }
  }

  @Test func `gets codes only where its document says`() async throws {
    try await run { test, _ in
      let browser = Browser(test.client.base)
      for redirect in [
        "https://app.example.org/", "https://app.example.org/back/", "https://evil.example/", DocumentHost.url,
        "https://localhost",
      ] {
        let page = try await browser.get(app.page(changing: ["redirect_uri": redirect]))
        #expect(page.status == 400 && page.location == nil, "\(redirect)")
      }
      let pushed = try await test.oauth(
        "/oauth/par",
        [
          ("client_id", app.id), ("redirect_uri", "https://evil.example/"), ("response_type", "code"),
          ("code_challenge", app.challenge), ("code_challenge_method", "S256"),
        ])
      #expect(pushed.status == 400)
    }
  }

  @Test func `may request what the operator allows such clients`() async throws {
    try await run { test, _ in
      var app = app
      app.scope = "read write"
      app.more = [("resource", "https://api.example.org")]
      let answer = try await app.redeem(try await app.code(Browser(test.client.base)), at: test)
      #expect(answer.json["scope"] == "read")
      app.more = [("resource", "https://other.example.org")]
      let refused = try await Browser(test.client.base).get(app.page())
      #expect(refused.fields["error"] == "invalid_target")
    }
  }

  @Test(arguments: [
    (302, DocumentHost.document), (200, DocumentHost.document + String(repeating: " ", count: ClientDocuments.longest)),
    (200, "{}"),
  ])
  func `is refused with a document that is elsewhere, too long or not valid`(_ status: Int, _ body: String) async throws
  {
    try await run { test, host in
      host.answer.withLock { $0 = (status, body) }
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.status == 400)
      #expect(page.location == nil)
      #expect(host.hosts.withLock { $0 }.count == 1)
    }
  }

  @Test func `on this machine is never connected to in production`() async throws {
    try await run(isForTests: false) { test, host in
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.status == 400 && page.text.contains("not public"))
      #expect(host.hosts.withLock { $0 }.isEmpty)
    }
  }

  @Test func `is announced by the metadata, and unknown unless the operator allows it`() async throws {
    try await run { test, _ in
      let metadata = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(metadata.json["client_id_metadata_document_supported"] == true)
      #expect(metadata.json["scopes_supported"] == ["profile", "read"])
      #expect(metadata.json.fields["registration_endpoint"] == nil)
    }
    try await TestServer.runOAuth { test in
      let metadata = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(metadata.json["client_id_metadata_document_supported"] == false)
      let page = try await Browser(test.client.base).get(app.page())
      #expect(page.status == 400 && page.text.contains("not registered"))
    }
  }
}
#endif
