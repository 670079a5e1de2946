import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// `URLSession`, noting where downloads are written.
private final class NotingTransport: Transport {
  private let base = URLSessionTransport()
  private let files = Locked<[String]>([])

  var paths: [String] { files.withLock { $0 } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await base.send(request)
  }
  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await base.upload(request, fromFile: path)
  }
  @concurrent func download(
    _ request: TransportRequest, toFile path: String
  ) async throws(TransportError) -> TransportResponse {
    files.withLock { $0.append(path) }
    return try await base.download(request, toFile: path)
  }
}

/// One request that a server received.
private struct Received: Sendable {
  var token: String?
  var body: [UInt8]
}

@Suite(.timeLimit(.minutes(10))) final class `A request of the author's own` {
  private let clock = ManualClock()
  private let backend = ScriptedBackend.rotating()
  private let transport = NotingTransport()
  private let received = Locked<[Received]>([])
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("requests-\(UUID().uuidString)")

  init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func api(
    _ server: LoopbackServer, transport: (any Transport)? = nil
  ) async throws -> (api: APIClient, request: URLRequest) {
    let controller = SessionController(backend: backend, vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0) }
    clock.advance(by: .seconds(60))
    let url = try #require(URL(string: server.url))
    let options = APIClient.Options(retryPolicy: RetryPolicy(attempts: 1))
    let api = APIClient(
      baseURL: url, controller: controller, transport: transport ?? self.transport, options: options)
    return (api, URLRequest(url: url.appendingPathComponent("file")))
  }

  /// Answers the first token with 401, and any other with `answer`.
  private func rotating(_ answer: @escaping @Sendable (LoopbackServer.Connection) -> Void) throws -> LoopbackServer {
    try LoopbackServer { [received] connection in
      let token = connection.header("Authorization")
      let body = connection.body()
      received.withLock { $0.append(Received(token: token, body: body)) }
      if token == "Bearer access-s1-0" { connection.answer(401) } else { answer(connection) }
    }
  }

  private func file(_ bytes: [UInt8]) throws -> URL {
    let file = folder.appendingPathComponent("upload")
    try Data(bytes).write(to: file)
    return file
  }

  private static let megabytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) }

  @Test func `is sent as it is, and its response returned whatever its status`() async throws {
    let server = try rotating { $0.answer(404, #"{"title":"gone"}"#, headers: "Link: <next>\r\n") }
    var (api, request) = try await api(server)
    request.httpMethod = "POST"
    request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
    request.httpBody = Data("hello".utf8)
    let (data, response) = try await api.data(for: request)
    #expect(String(decoding: data, as: UTF8.self) == #"{"title":"gone"}"#)
    #expect(response.statusCode == 404)
    #expect(response.value(forHTTPHeaderField: "Link") == "<next>")
    #expect(received.withLock { $0.map(\.token) } == ["Bearer access-s1-0", "Bearer access-s1-1"])
    #expect(received.withLock { $0.map { String(decoding: $0.body, as: UTF8.self) } } == ["hello", "hello"])
    #expect(backend.calls.count == 1)
  }

  @Test func `is refused if it is for another origin, or has a stream as its body`() async throws {
    let server = try rotating { $0.answer(200) }
    var (api, request) = try await api(server)
    let source = try file([1])
    for url in ["https://evil.example/file", "/file", server.url.replacing("http:", with: "https:")] {
      let other = URLRequest(url: try #require(URL(string: url)))
      await #expect(throws: APIError.self) { try await api.data(for: other) }
      await #expect(throws: APIError.self) { try await api.download(for: other) }
      await #expect(throws: APIError.self) { try await api.upload(for: other, from: source) }
    }
    request.httpBodyStream = InputStream(data: Data([1]))
    await #expect(throws: APIError.self) { try await api.data(for: request) }
    #expect(received.withLock { $0.isEmpty })
    #expect(transport.paths.isEmpty)
  }

  @Test(arguments: [0, 3_000_000])
  func `uploads a file, and reads it again after a 401`(size: Int) async throws {
    let server = try rotating { $0.answer(201, "done") }
    var (api, request) = try await api(server)
    request.httpMethod = "POST"
    let bytes = Array(Self.megabytes.prefix(size))
    let source = try file(bytes)
    let (data, response) = try await api.upload(for: request, from: source)
    #expect(response.statusCode == 201)
    #expect(String(decoding: data, as: UTF8.self) == "done")
    #expect(received.withLock { $0.map(\.token) } == ["Bearer access-s1-0", "Bearer access-s1-1"])
    #expect(received.withLock { $0.allSatisfy { $0.body == bytes } })
    #expect(backend.calls.count == 1)
  }

  @Test func `uploads data`() async throws {
    let server = try rotating { $0.answer(200) }
    var (api, request) = try await api(server)
    request.httpMethod = "PUT"
    let response = try await api.upload(for: request, from: Data(Self.megabytes)).1
    #expect(response.statusCode == 200)
    #expect(received.withLock { $0.count == 2 && $0.allSatisfy { $0.body == Self.megabytes } })
  }

  @Test func `is repeated once only`() async throws {
    let server = try rotating { $0.answer(401) }
    var (api, request) = try await api(server)
    request.httpMethod = "POST"
    let source = try file([1, 2])
    await #expect(throws: APIError.session(.tokenRejected)) { try await api.upload(for: request, from: source) }
    #expect(received.withLock { $0.map(\.body) } == [[1, 2], [1, 2]])
    clock.advance(by: .seconds(60))
    await #expect(throws: APIError.session(.tokenRejected)) { try await api.download(for: request) }
    #expect(transport.paths.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
  }

  @Test func `has no body as a GET`() async throws {
    let server = try rotating { $0.answer(200) }
    let (api, request) = try await api(server)
    let source = try file([1])
    await #expect(throws: APIError.invalidRequest("a GET has no body: set httpMethod")) {
      try await api.upload(for: request, from: source)
    }
    await #expect(throws: APIError.invalidRequest("a GET has no body: set httpMethod")) {
      try await api.upload(for: request, from: Data([1]))
    }
    #expect(received.withLock { $0.isEmpty })
  }

  @Test func `uploads no file that cannot be read`() async throws {
    let server = try rotating { $0.answer(200) }
    let (api, request) = try await api(server)
    for file in [folder, folder.appendingPathComponent("none"), URL(string: "https://example.org/file")!] {
      await #expect(throws: APIError.invalidRequest("the file cannot be read")) {
        try await api.upload(for: request, from: file)
      }
    }
    #expect(received.withLock { $0.isEmpty })
  }

  @Test(arguments: [200, 404])
  func `downloads to a file that only its owner can read`(status: Int) async throws {
    let text = String(repeating: "0123456789", count: 300_000)
    let server = try rotating { $0.answer(status, text, headers: "ETag: \"1\"\r\n") }
    let (api, request) = try await api(server)
    let (file, response) = try await api.download(for: request)
    defer { try? FileManager.default.removeItem(at: file) }
    #expect(response.statusCode == status)
    #expect(response.value(forHTTPHeaderField: "ETag") == "\"1\"")
    #expect(try String(contentsOf: file, encoding: .utf8) == text)
    let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    #expect(received.withLock { $0.count } == 2)
  }

  @Test func `leaves no file when the connection breaks`() async throws {
    let server = try rotating { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nhalf")
    }
    let (api, request) = try await api(server)
    let error = await #expect(throws: APIError.self) { try await api.download(for: request) }
    guard case .network(.connectionLost)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(transport.paths.count == 2)
    #expect(transport.paths.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
  }

  @Test func `reports bytes that are not a response`() async throws {
    let server = try rotating { $0.write("SSH-2.0-OpenSSH\r\n\r\n\u{0}\u{1}") }
    let (api, request) = try await api(server)
    let (put, source) = (request.putting, try file([1]))
    for call in 0..<3 {
      let error = await #expect(throws: APIError.self) {
        switch call {
        case 0: _ = try await api.data(for: request)
        case 1: _ = try await api.upload(for: put, from: source)
        default: _ = try await api.download(for: request)
        }
      }
      guard case .network? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
    #expect(transport.paths.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
  }

  @Test func `is dropped by a sign-out, and leaves no file`() async throws {
    let (begun, end) = (Gate(), DispatchSemaphore(value: 0))
    let server = try LoopbackServer { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nhalf")
      begun.open()
      end.wait()
    }
    defer { end.signal() }
    let (api, request) = try await api(server)
    let call = Task { try await api.download(for: request).0 }
    await begun.wait()
    await api.controller.signOut()
    await #expect(throws: APIError.session(.signedOut(.signedOut))) { try await call.value }
    #expect(transport.paths.count == 1)
    #expect(transport.paths.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
    // The next session has nothing to do with it.
    let (put, source) = (request.putting, try file([1]))
    await #expect(throws: APIError.session(.signedOut(.signedOut))) {
      try await api.upload(for: put, from: source)
    }
  }

  @Test func `takes no credential to the origin of a redirect`() async throws {
    let other = try LoopbackServer { [received] connection in
      received.withLock { $0.append(Received(token: connection.header("Authorization"), body: [])) }
      connection.answer(200)
    }
    let server = try LoopbackServer { connection in
      _ = connection.body()
      connection.answer(307, "", headers: "Location: \(other.url)/file\r\n")
    }
    let (api, request) = try await api(server)
    let source = try file([1])
    #expect(try await api.data(for: request).1.statusCode == 307)
    let uploaded = try await api.upload(for: request.putting, from: source).1
    #expect(uploaded.statusCode == 307)
    let (file, response) = try await api.download(for: request)
    try FileManager.default.removeItem(at: file)
    #expect(response.statusCode == 307)
    #expect(response.value(forHTTPHeaderField: "Location") == "\(other.url)/file")
    await #expect(throws: APIError.status(307, nil)) { try await api.delete("/v1/posts") }
    #expect(received.withLock { $0.isEmpty })
  }

  @Test func `is downloaded through a transport that has only streams, and not uploaded`() async throws {
    let server = try rotating { $0.answer(200, "content") }
    let (api, request) = try await api(server, transport: StreamingTransport())
    let (file, _) = try await api.download(for: request)
    #expect(try String(contentsOf: file, encoding: .utf8) == "content")
    try FileManager.default.removeItem(at: file)
    let sent = received.withLock { $0.count }
    let (put, source) = (request.putting, try self.file([1]))
    await #expect(throws: APIError.network(.invalidRequest("this transport sends no files"))) {
      try await api.upload(for: put, from: source)
    }
    #expect(received.withLock { $0.count } == sent)
  }
}

/// A transport that has only what the protocol demands.
private struct StreamingTransport: Transport {
  private let base = URLSessionTransport()

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await base.send(request)
  }
  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}

extension URLRequest {
  /// The same as a PUT.
  fileprivate var putting: URLRequest {
    var put = self
    put.httpMethod = "PUT"
    return put
  }
}
