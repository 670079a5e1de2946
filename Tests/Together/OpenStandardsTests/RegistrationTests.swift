#if Programs
import Foundation
import HTTPTypes
import HandstampCore
import HandstampSupport
import Hummingbird
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// A server that registers programs (RFC 7591), and forgets them when it is told to. A remote MCP server beside it hands its issuer over
/// as FastMCP and the SDK for Python do, with a slash.
private final class RegistrationOffice: Sendable {
  private struct State: Sendable {
    var known: Set<String> = []
    var registered: [String] = []
    var tokens = 0
  }
  private let state = Locked(State())
  private let place = Locked("")

  /// Empty until it is served.
  var url: String { place.withLock { $0 } }
  /// The bodies of all registrations.
  var registrations: [String] { state.withLock { $0.registered } }
  func forgetAll() { state.withLock { $0.known = [] } }

  private static func json(_ text: String, _ status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  private func register(_ body: String) -> Response {
    let id = state.withLock { state in
      state.registered.append(body)
      state.known.insert("c\(state.registered.count)")
      return "c\(state.registered.count)"
    }
    return Self.json(#"{"client_id":"\#(id)","token_endpoint_auth_method":"none"}"#, .created)
  }

  /// The response to a form of a client, if it is known.
  private func answer(_ body: String, _ good: (_ number: Int, _ client: String) -> Response) -> Response {
    let found = state.withLock { state -> (Int, String)? in
      guard let client = state.known.first(where: { body.contains("client_id=\($0)") }) else { return nil }
      state.tokens += 1
      return (state.tokens, client)
    }
    return found.map(good) ?? Self.json(#"{"error":"invalid_client"}"#, .unauthorized)
  }

  private func tokens(_ body: String) -> Response {
    answer(body) { number, client in
      guard !body.contains("grant_type=authorization_code") else {
        return Self.json(#"{"error":"invalid_grant"}"#, .badRequest)
      }
      let claims = #"{"iss":"\#(url)","sub":"ada","aud":"\#(client)","exp":2000000000,"name":"Ada"}"#
      let token = [#"{"alg":"ES256"}"#, claims, "-"].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
      return Self.json(
        """
        {"access_token":"a\(number)","token_type":"Bearer","expires_in":600,"refresh_token":"r\(number)",\
        "id_token":"\(token)"}
        """)
    }
  }

  private static func text(_ request: Request) async throws -> String {
    String(buffer: try await request.body.collect(upTo: 1 << 16))
  }

  private var router: Router<BasicRequestContext> {
    let router = Router()
    router.get("/.well-known/oauth-authorization-server") { _, _ in
      let url = self.url
      return Self.json(
        """
        {"issuer":"\(url)","token_endpoint":"\(url)/token","device_authorization_endpoint":"\(url)/device",\
        "registration_endpoint":"\(url)/register","scopes_supported":["read"]}
        """)
    }
    router.post("/register") { request, _ in self.register(try await Self.text(request)) }
    router.post("/token") { request, _ in self.tokens(try await Self.text(request)) }
    router.post("/device") { request, _ in
      let code = #"{"device_code":"d","user_code":"ABCD","verification_uri":"\#(self.url)/go","interval":1}"#
      return self.answer(try await Self.text(request)) { _, _ in Self.json(code) }
    }
    let place = "/.well-known/oauth-protected-resource/mcp"
    router.get("\(place)") { _, _ in
      Self.json(
        #"{"resource":"\#(self.url)/mcp","authorization_servers":["\#(self.url)/"],"scopes_supported":["read"]}"#)
    }
    router.get("/mcp") { _, _ in
      Response(
        status: .unauthorized, headers: [.wwwAuthenticate: "Bearer resource_metadata=\"\(self.url)\(place)\""])
    }
    return router
  }

  static func run(_ body: @escaping @Sendable (RegistrationOffice, _ home: String) async throws -> Void) async throws {
    let home = NSTemporaryDirectory() + "handstamp-register-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    let office = RegistrationOffice()
    try await serving(office.router) { url in
      office.place.withLock { $0 = url }
      try await body(office, home)
    }
  }
}

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A command that registers itself` {
  private func run(_ words: String, _ home: String) async throws -> Child.Outcome {
    try await Child(
      words.split(separator: " ").map(String.init), variables: ["HANDSTAMP_HOME": home], input: ""
    ).outcome()
  }

  private func record(_ home: String, _ office: RegistrationOffice) throws -> OAuthRecord? {
    try Home(path: home).oauth(of: ListedAccount.id(of: AccountID("ada"), at: office.url))
  }

  @Test func `does so once, keeps its session when it is forgotten, and does so anew at a sign-in`() async throws {
    try await RegistrationOffice.run { office, home in
      let login = try await run("login --issuer \(office.url)/ --register --device", home)
      #expect(login.status == 0, "\(login.words)")
      #expect(office.registrations.count == 1)
      #expect(office.registrations.first?.contains(#""redirect_uris":["http://127.0.0.1/callback"]"#) == true)
      let known = try #require(try record(home, office))
      #expect(known.client == "c1" && known.issuer == office.url && known.registration?.issuer == office.url)
      for words in ["login --force --device", "login --force --device --register", "refresh"] {
        let again = try await run(words, home)
        #expect(again.status == 0, "\(again.words)")
      }
      #expect(office.registrations.count == 1, "the server knows it still")

      office.forgetAll()
      let refused = try await run("refresh", home)
      #expect(refused.status == ExitReason.configuration.rawValue, "\(refused.words)")
      #expect(refused.words.contains("the client registered itself; the session is kept"), "\(refused.words)")
      #expect(refused.words.contains("hint: run: handstamp login --force"), "\(refused.words)")
      #expect(try await run("token", home).status == 0 && office.registrations.count == 1)
      let anew = try await run("login --force --device", home)
      #expect(anew.status == 0, "\(anew.words)")
      #expect(try record(home, office)?.client == "c2" && office.registrations.count == 2)
      #expect(try await run("refresh", home).status == 0)
    }
  }

  @Test func `does so for a remote server whose metadata spells the issuer with a slash`() async throws {
    try await RegistrationOffice.run { office, home in
      for _ in 0..<2 {
        let login = try await run("mcp login \(office.url)/mcp --device", home)
        #expect(login.status == 0, "\(login.words)")
        #expect(login.words.contains("\(office.url)/mcp is used with"), "\(login.words)")
      }
      #expect(try record(home, office)?.issuer == office.url && office.registrations.count == 1)
      #expect(office.registrations.first?.contains(#""scope":"read""#) == true)
      let forced = try await run("mcp login \(office.url)/mcp --device --force", home)
      #expect(forced.status == 0 && office.registrations.count == 1, "\(forced.words)")
    }
  }

  @Test func `is told what to do where it cannot`() async throws {
    try await RegistrationOffice.run { office, home in
      let both = try await run("login --issuer \(office.url) --register --client-id app", home)
      #expect(both.status == ExitReason.usage.rawValue && both.words.contains("--register cannot be combined"))
      let unknown = try await run("login --issuer \(office.url) --client-id nobody --device", home)
      #expect(unknown.words.contains("or let it register itself: handstamp login --register"), "\(unknown.words)")
    }
    try await OwnServer.run { server async throws in
      let home = NSTemporaryDirectory() + "handstamp-register-\(UInt64.random(in: 0 ... .max))"
      defer { try? FileManager.default.removeItem(atPath: home) }
      let none = try await run("login --issuer \(server.url) --register --device", home)
      #expect(none.status == ExitReason.configuration.rawValue, "\(none.words)")
      #expect(none.words.contains("does not register programs") && none.words.contains("--client-id"), "\(none.words)")
    }
  }
}
#endif
