#if Programs
import AsyncHTTPClient
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import NIOCore
import NIOHTTP1

@testable import HandstampServer

/// A browser as the server sees it: it keeps cookies, sends forms, and follows no redirects.
final class Browser {
  struct BrowserResponse {
    var status: Int
    var headers: [(name: String, value: String)]
    var text: String

    func all(_ name: String) -> [String] { headers.filter { $0.name.lowercased() == name }.map(\.value) }
    func header(_ name: String) -> String? { all(name).first }
    var location: String? { header("location") }
    /// The query fields of the redirect's address.
    var fields: [String: String] {
      let items = location.flatMap { URLComponents(string: $0) }?.queryItems ?? []
      return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    }
    var title: String {
      let title = text.components(separatedBy: "<title>").last?.components(separatedBy: "</title>").first ?? ""
      // Without the name of the site.
      return title.components(separatedBy: " · ").first ?? ""
    }
    /// The CSRF token in the page's form.
    var csrf: String? {
      let parts = text.components(separatedBy: #"name="csrf" value=""#)
      return parts.count > 1 ? parts[1].components(separatedBy: "\"").first : nil
    }
  }

  /// The box "This is not my device", checked.
  static let box = [("asks", "borrowed"), ("borrowed", "yes")]

  let base: String
  var cookies: [String: String] = [:]

  /// Redirects are left to the test.
  private static let client = HTTPClient(
    eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: .init(redirectConfiguration: .disallow))

  init(_ base: String) { self.base = base }

  func get(_ path: String, headers: [String: String] = [:]) async throws -> BrowserResponse {
    try await send("GET", path, headers: headers)
  }

  func post(
    _ path: String, _ fields: [(String, String)], headers: [String: String] = [:]
  ) async throws -> BrowserResponse {
    let body = fields.map { Browser.escaped($0.0) + "=" + Browser.escaped($0.1) }.joined(separator: "&")
    var headers = headers
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    return try await send("POST", path, headers: headers, body: body)
  }

  func send(
    _ method: String, _ path: String, headers: [String: String] = [:], body: String? = nil
  ) async throws -> BrowserResponse {
    var request = HTTPClientRequest(url: base + path)
    request.method = .init(rawValue: method)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    let jar = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
    if !jar.isEmpty { request.headers.add(name: "Cookie", value: jar) }
    if let body { request.body = .bytes(ByteBuffer(string: body)) }
    let response = try await Browser.client.execute(request, timeout: .seconds(240))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
    let sight = BrowserResponse(
      status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) }, text: text)
    for cookie in sight.all("set-cookie") {
      let pair = cookie.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pair.count > 1 ? String(pair[1]) : ""
      cookies[String(pair[0])] = cookie.contains("Max-Age=0") ? nil : value
    }
    return sight
  }

  /// Signs in on the page at `path`, then loads it again.
  func signIn(
    at path: String, as email: String = "ada@example.org", password: String = TestServer.password
  ) async throws -> BrowserResponse {
    let page = try await get(path)
    let answer = try await post(
      path, [("csrf", page.csrf ?? ""), ("email", email), ("password", password), ("action", "sign-in")])
    guard answer.status == 303 else { return answer }
    return try await get(path)
  }

  /// Presses a button on a page.
  func press(_ action: String, on page: BrowserResponse, at path: String, _ more: [(String, String)] = []) async throws
    -> BrowserResponse
  {
    try await post(path, [("csrf", page.csrf ?? ""), ("action", action)] + more)
  }

  static func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
  }

  static func path(_ path: String, _ fields: [(String, String)]) -> String {
    path + "?" + fields.map { escaped($0.0) + "=" + escaped($0.1) }.joined(separator: "&")
  }
}

/// An app whose users sign in on the server's pages.
struct OAuthApp {
  var id = "app"
  var redirect = "org.example.app:/back"
  var verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
  var scope: String? = "profile read"
  var more: [(String, String)] = []

  var challenge: String { Base64URL.encode(SHA256.hash(data: Array(verifier.utf8))) }

  /// The path that the app opens, without the fields in `leaving`.
  func page(leaving: Set<String> = [], changing: [String: String] = [:]) -> String {
    var fields = [
      ("response_type", "code"), ("client_id", id), ("redirect_uri", redirect), ("state", "s t&a=te"),
      ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ]
    if let scope { fields.append(("scope", scope)) }
    fields += more
    return Browser.path(
      "/oauth/authorize",
      fields.filter { !leaving.contains($0.0) }.map { ($0.0, changing[$0.0] ?? $0.1) })
  }

  /// A code for the user who is signed in at the browser or signs in now.
  func code(_ browser: Browser) async throws -> String {
    let path = page()
    var sight = try await browser.get(path)
    if sight.title == "Sign in" { sight = try await browser.signIn(at: path) }
    // What was allowed before is not asked for again.
    let back = sight.status == 303 ? sight : try await browser.press("allow", on: sight, at: path)
    struct NoCode: Error { var status: Int }
    guard let code = back.fields["code"] else { throw NoCode(status: back.status) }
    return code
  }

  func redeem(
    _ code: String, at test: TestServer, changing: [String: String] = [:], remember: String = "",
    headers: [String: String] = [:]
  ) async throws -> WireClient.Answer {
    let fields = [
      ("grant_type", "authorization_code"), ("client_id", id), ("code", code), ("redirect_uri", redirect),
      ("code_verifier", verifier), ("remember", remember),
    ]
    return try await test.oauth(
      "/oauth/token", fields.map { ($0.0, changing[$0.0] ?? $0.1) }.filter { !$0.1.isEmpty }, headers: headers)
  }

  func refresh(
    _ token: String, at test: TestServer, _ more: [(String, String)] = [], headers: [String: String] = [:]
  ) async throws -> WireClient.Answer {
    try await test.oauth(
      "/oauth/token", [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", id)] + more,
      headers: headers)
  }

  /// Signs in once.
  func session(_ test: TestServer, headers: [String: String] = [:]) async throws -> TestServer.Session {
    try TestServer.Session(
      try await redeem(try await code(Browser(test.client.base)), at: test, headers: headers))
  }

  /// The confidential client.
  static var site: OAuthApp {
    var site = OAuthApp()
    (site.id, site.redirect, site.scope) = ("site", "https://site.example.org/cb", nil)
    return site
  }
}

extension TestServer {
  static let secret = "a secret: of/an API"
  /// The parameter of all challenges.
  static let resourceMetadata =
    #"resource_metadata="https://id.example.org/.well-known/oauth-protected-resource""#

  /// Clients of every type.
  static func clients() throws -> [ConfiguredClient] {
    let hash = Array(SHA256.hash(data: Array(secret.utf8)))
    return [
      try ConfiguredClient(
        id: "app", name: "Ada's <App>", redirectURIs: ["org.example.app:/back", "http://127.0.0.1/cb"],
        flows: [.code, .device], scopes: ["profile", "read", "write"], audiences: ["https://api.example.org"]),
      try ConfiguredClient(
        id: "other", redirectURIs: ["https://other.example.org/cb?a=b"], flows: [.code, .device], scopes: ["read"]),
      try ConfiguredClient(id: "own", redirectURIs: ["org.example.own:/"], isFirstParty: true),
      try ConfiguredClient(id: "own-tv", flows: [.device], isFirstParty: true),
      try ConfiguredClient(id: "api", secretHash: hash, flows: [], introspects: true),
      try ConfiguredClient(id: "https://api.example.org", secretHash: hash, flows: []),
      try ConfiguredClient(
        id: "site", secretHash: hash, redirectURIs: ["https://site.example.org/cb"], scopes: ["profile"]),
    ]
  }

  /// A server with these clients and Ada's account.
  static func runOAuth(
    limits: RegistryLimits = RegistryLimits(), body: (TestServer) async throws -> Void
  ) async throws {
    let clients = try clients()
    try await run(limits: limits) {
      $0.clients = clients
    } body: { test in
      _ = try await test.signUp()
      try await body(test)
    }
  }

  func oauth(
    _ path: String, _ fields: [(String, String)], headers: [String: String] = [:]
  ) async throws -> WireClient.Answer {
    var headers = headers
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    let body = fields.map { Browser.escaped($0.0) + "=" + Browser.escaped($0.1) }.joined(separator: "&")
    return try await client.send("POST", path, headers: headers, body: Array(body.utf8))
  }

  static func basic(_ id: String, _ secret: String) -> [String: String] {
    let text = Browser.escaped(id) + ":" + Browser.escaped(secret)
    return ["Authorization": "Basic " + Data(text.utf8).base64EncodedString()]
  }

  func introspect(_ token: String, as client: String = "api") async throws -> WireClient.Answer {
    try await oauth("/oauth/introspect", [("token", token)], headers: Self.basic(client, Self.secret))
  }
}
#endif
