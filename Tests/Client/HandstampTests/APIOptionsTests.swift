import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The options of an API client` {
  private struct Post: Codable, Sendable, Equatable { var createdAt: Date }
  private struct WritePost: Endpoint {
    typealias Response = Post
    var method: String { "PUT" }
    var path: APIPath { "/v1/posts" }
    var body: (any Encodable)? { post }
    let post: Post
  }
  private struct Pinned: Endpoint {
    var path: APIPath { "/v1/pinned" }
    var headers: [HeaderField] { [HeaderField("accept-language", "de")] }
  }

  private let clock = ManualClock()

  private func client(_ transport: StubTransport, _ options: APIClient.Options) async throws -> APIClient {
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    return APIClient(baseURL: base, controller: controller, transport: transport, options: options)
  }

  @Test func `encode and decode bodies`() async throws {
    let options = APIClient.Options()
    options.encoder.keyEncodingStrategy = .convertToSnakeCase
    options.encoder.dateEncodingStrategy = .secondsSince1970
    options.decoder.keyDecodingStrategy = .convertFromSnakeCase
    options.decoder.dateDecodingStrategy = .secondsSince1970
    let transport = StubTransport { request in .init(status: 200, body: request.body) }
    let api = try await client(transport, options)
    let post = Post(createdAt: Date(timeIntervalSince1970: 7))
    let answer: Post = try await api.post("/v1/posts", body: post)
    #expect(answer == post)
    #expect(try await api.send(WritePost(post: post)) == post)
    for request in await transport.requests() {
      #expect(String(decoding: request.body, as: UTF8.self) == #"{"created_at":7}"#)
    }
  }

  @Test func `add headers, which an endpoint may replace`() async throws {
    let transport = StubTransport { _ in .init(status: 200, body: Array("{}".utf8)) }
    let api = try await client(
      transport, .init(headers: [HeaderField("X-App", "forum"), HeaderField("Accept-Language", "en")]))
    let _: EmptyResponse = try await api.get("/v1/me")
    #expect(await transport.requests().last?.headers.first(named: "Accept-Language") == "en")
    _ = try await api.send(Pinned())
    let last = try #require(await transport.requests().last)
    #expect(last.headers.filter { $0.name.lowercased() == "accept-language" }.map(\.value) == ["de"])
    #expect(last.headers.first(named: "X-App") == "forum")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The id of an installation` {
  @Test func `stays the same, for each program its own`() throws {
    let name = "handstamp-test-\(UInt64.random(in: .min ... .max))"
    let id = DeviceID.installation(of: name)
    #expect(DeviceID.installation(of: name) == id && id.rawValue.count >= 16)
    #expect(DeviceID.installation(of: name + "2") != id)
    for name in [name, name + "2"] {
      if let folder = ProgramFolder(name) { try FileManager.default.removeItem(atPath: folder.path) }
    }
  }
}
