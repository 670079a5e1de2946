#if Programs
import AsyncHTTPClient
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1

/// Only the signature of an access token.
struct SigningLane: Lane {
  let signer = JWSPrivateKey.es256()
  /// Input as long as a token without its signature.
  let text = [UInt8](repeating: 0x61, count: 500)

  mutating func step() async throws {
    guard try signer.signature(of: text).count == 64 else { throw BenchFault("unexpected length of a signature") }
  }
}

/// A minimal request, with the same framework and the same client.
struct HelloLane: Lane {
  let client: HTTPClient
  let url: String

  mutating func step() async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(20))
    let body = try await response.body.collect(upTo: 1 << 16)
    guard response.status == .ok, body.readableBytes == 12 else { throw BenchFault("unexpected greeting") }
  }

  /// Runs the hello server on loopback during `body`.
  static func serve<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let router = Router()
    router.get("/") { _, _ in "hello, world" }
    router.post("/") { request, _ in
      let form = try await request.body.collect(upTo: 1 << 16)
      return ByteBuffer(repeating: UInt8(ascii: "x"), count: form.readableBytes * ExchangeLane.answerToForm)
    }
    var logger = Logger(label: "handstamp.bench.hello")
    // It logs being stopped as an error.
    logger.logLevel = .critical
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    let application = Application(
      router: router, server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
    let serving = Task {
      defer { port.finish() }
      try await application.run()
    }
    defer { serving.cancel() }
    for await port in ports { return try await body("http://127.0.0.1:\(port)/") }
    try await serving.value
    throw BenchFault("the hello server did not start")
  }
}

/// A request and a response as long as those of a refresh, without meaningful content, with the same framework and the same
/// client. Not part of the bound: it shows the share of HTTP in the remaining time.
struct ExchangeLane: Lane {
  let client: HTTPClient
  let url: String
  private static let form = ByteBuffer(repeating: UInt8(ascii: "x"), count: 170)
  static let answerToForm = 5

  mutating func step() async throws {
    var request = HTTPClientRequest(url: url)
    request.method = .POST
    request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
    request.body = .bytes(ExchangeLane.form)
    let response = try await client.execute(request, timeout: .seconds(20))
    let body = try await response.body.collect(upTo: 1 << 16)
    guard response.status == .ok, body.readableBytes == 170 * ExchangeLane.answerToForm else {
      throw BenchFault("unexpected response")
    }
  }
}

/// Only the durable write of a refresh.
struct CommitLane: Lane {
  let store: SQLiteRegistryStore
  var row: SessionRow

  mutating func step() async throws {
    var next = row
    next.counter += 1
    _ = try await store.write([.replaceSession(next, expecting: row.revision)], events: [])
    next.revision += 1
    row = next
  }
}
#endif
