import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A request by verb` {
  private struct Post: Codable, Sendable, Equatable { var title: String }

  private let transport = StubTransport { request in
    .init(
      status: 200, headers: [HeaderField("Link", "</v1/posts?page=2>; rel=next")],
      body: request.body.isEmpty ? Array(#"{"title":"none"}"#.utf8) : request.body)
  }

  private func api(_ transport: any Transport) async throws -> APIClient {
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock())
    try await controller.signIn { .sample(0) }
    return APIClient(baseURL: base, controller: controller, transport: transport)
  }

  private func lines() async -> [String] {
    await transport.requests().map {
      "\($0.method) \($0.url) \($0.headers.first(named: "Content-Type") ?? "-") \(String(decoding: $0.body, as: UTF8.self))"
    }
  }

  @Test func `sends a body as JSON, and decodes the response`() async throws {
    let api = try await api(transport)
    let (post, query) = (Post(title: "Hi"), [URLQueryItem(name: "a", value: "1+1&2")])
    let posted: Post = try await api.post("/v1/posts", query: query, body: post)
    let put: Post = try await api.put("/v1/posts/7", query: query, body: post)
    let patched: Post = try await api.patch("/v1/posts/7", query: query, body: post)
    let deleted = try await api.delete("/v1/posts/7", query: query, body: post, as: Post.self)
    let gotten: Post = try await api.get("/v1/posts/7", query: query)
    #expect([posted, put, patched, deleted] == [post, post, post, post])
    #expect(gotten == Post(title: "none"))
    let url = "\(base)/v1/posts"
    #expect(
      await lines() == [
        #"POST \#(url)?a=1%2B1%262 application/json {"title":"Hi"}"#,
        #"PUT \#(url)/7?a=1%2B1%262 application/json {"title":"Hi"}"#,
        #"PATCH \#(url)/7?a=1%2B1%262 application/json {"title":"Hi"}"#,
        #"DELETE \#(url)/7?a=1%2B1%262 application/json {"title":"Hi"}"#,
        #"GET \#(url)/7?a=1%2B1%262 - "#,
      ])
    for request in await transport.requests() {
      #expect(request.headers.first(named: "Authorization") == "Bearer access-s1-0")
    }
  }

  @Test func `needs neither a body nor a type of response`() async throws {
    let api = try await api(transport)
    try await api.post("/v1/read")
    try await api.put("/v1/read")
    try await api.patch("/v1/read")
    try await api.delete("/v1/read")
    try await api.put("/v1/read", body: ["post": "7"])
    let url = "\(base)/v1/read"
    #expect(
      await lines() == [
        "POST \(url) - ", "PUT \(url) - ", "PATCH \(url) - ", "DELETE \(url) - ",
        #"PUT \#(url) application/json {"post":"7"}"#,
      ])
  }

  @Test func `returns the header fields of a response on request`() async throws {
    let page = try await api(transport).get("/v1/posts", as: APIResponse<Post>.self)
    #expect(page.value == Post(title: "none"))
    #expect(page.status == 200)
    #expect(page.headers.first(named: "link") == "</v1/posts?page=2>; rel=next")
    let empty = StubTransport { _ in .init(status: 204, headers: [HeaderField("X-Total", "0")]) }
    let none = try await api(empty).get("/v1/posts", as: APIResponse<EmptyResponse>.self)
    #expect(none.status == 204)
    let list = StubTransport { _ in .init(status: 200, body: Array("[{}]".utf8)) }
    // A part of a response has no header fields.
    await #expect(throws: APIError.unreadable("not valid: Index 0")) {
      try await api(list).get("/v1/posts", as: [APIResponse<EmptyResponse>].self)
    }
  }

  @Test func `reports a body that cannot be encoded, and sends nothing`() async throws {
    struct Endless: Encodable {
      func encode(to encoder: any Encoder) throws {
        throw EncodingError.invalidValue(0, .init(codingPath: [], debugDescription: "secret"))
      }
    }
    let error = await #expect(throws: APIError.self) { try await api(transport).post("/v1/posts", body: Endless()) }
    #expect(error.map { "\($0)".contains("secret") } == false)
    #expect(await transport.requests().isEmpty)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The path of a request` {
  private func url(of path: APIPath, base url: URL = base) async throws -> String? {
    let transport = StubTransport { _ in .init(status: 200, body: Array("{}".utf8)) }
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock())
    try await controller.signIn { .sample(0) }
    let api = APIClient(baseURL: url, controller: controller, transport: transport)
    do { try await api.post(path) } catch {
      #expect(await transport.requests().isEmpty)
      throw error
    }
    return await transport.requests().first?.url
  }

  @Test(arguments: [
    ("/v1/me", "/v1/me"), ("v1/me", "/v1/me"), ("/v1/a b..c", "/v1/a%20b..c"), ("/v1/100%25", "/v1/100%2525"),
    ("/v1/@me/posts:batch", "/v1/@me/posts:batch"), ("/v1/ä", "/v1/%C3%A4"), ("/v1/", "/v1/"),
    ("//evil.example/x", "//evil.example/x"), (#"/v1/..\x"#, "/v1/..%5Cx"), ("/v1/\r\nx", "/v1/%0D%0Ax"),
  ])
  func `is below that of the base URL, and percent-encoded`(path: String, sent: String) async throws {
    #expect(try await url(of: APIPath(path)) == "\(base)" + sent)
  }

  @Test(arguments: [
    ("7", "7"), ("a/b", "a%2Fb"), ("a?b#c", "a%3Fb%23c"), ("../accounts", "..%2Faccounts"), ("ä", "%C3%A4"),
    ("%2F", "%252F"),
  ])
  func `escapes an interpolated value whole`(id: String, sent: String) async throws {
    #expect(try await url(of: "/v1/posts/\(id)/likes") == "\(base)/v1/posts/\(sent)/likes")
    #expect(try await url(of: "/v1/posts/\(id)-\(7)") == "\(base)/v1/posts/\(sent)-7")
  }

  @Test(arguments: [
    ("/v1/posts?page=2", "question mark"), ("/v1/posts#top", "number sign"), ("/v1/posts/../accounts", ".."),
    ("..", ".."), ("/v1/./posts", ". or .."),
  ])
  func `is refused with the reason if it names another place`(path: String, reason: String) async throws {
    let error = await #expect(throws: APIError.self) { try await url(of: APIPath(path)) }
    guard case .invalidRequest(let text)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains(reason))
  }

  @Test(arguments: ["", ".", ".."])
  func `is refused if an interpolated value would name another place`(id: String) async throws {
    await #expect(throws: APIError.self) { try await url(of: "/v1/posts/\(id)") }
    await #expect(throws: APIError.self) { try await url(of: "/v1/posts/\(id)/likes") }
  }

  @Test func `is appended to an escaped path of the base URL`() async throws {
    let base = try #require(URL(string: "https://api.example.org/a%2Fb/"))
    #expect(try await url(of: "/v1/me", base: base) == "https://api.example.org/a%2Fb/v1/me")
  }
}
