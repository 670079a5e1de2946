#if Programs
import AsyncHTTPClient
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampServer
import HandstampSupport
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
    guard signer.signature(of: text)?.count == 64 else { throw BenchError("unexpected length of a signature") }
  }
}

/// A minimal request, with the same framework and the same client.
struct HelloLane: Lane {
  let client: HTTPClient
  let url: String

  mutating func step() async throws {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(20))
    let body = try await response.body.collect(upTo: 1 << 16)
    guard response.status == .ok, body.readableBytes == 12 else { throw BenchError("unexpected greeting") }
  }

  /// Runs the hello server, whose address it prints, for an hour or until it is killed.
  static func serve() async throws {
    try await serve { url in
      FileHandle.standardOutput.write(Data((url.dropLast() + "\n").utf8))
      try await Task.sleep(for: .seconds(3600))
    }
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
    throw BenchError("the hello server did not start")
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
      throw BenchError("unexpected response")
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
    try await store.write([.replaceSession(next, expecting: row.revision)], events: [])
    next.revision += 1
    row = next
  }
}

/// Only the check of an access token's signature.
struct VerifyingLane: Lane {
  let key: JWSPublicKey
  let header: [UInt8]
  let token: [UInt8]

  /// - Parameter signing: has input as long as this token's claims.
  init(_ signing: SigningLane) throws {
    key = signing.signer.publicKey
    header = CompactJWS.header(for: key, type: "at+jwt")
    guard let token = CompactJWS.signed(signing.text, under: header, by: signing.signer) else {
      throw BenchError("cannot sign")
    }
    self.token = token
  }

  mutating func step() async throws {
    guard CompactJWS(token)?.payload(under: header, signedBy: key) != nil else {
      throw BenchError("a good token was refused")
    }
  }
}

/// Only the reading of a session's row.
struct ReadingLane: Lane {
  let store: SQLiteRegistryStore
  let id: SessionID

  mutating func step() async throws {
    guard try await store.session(id) != nil else { throw BenchError("a session is missing") }
  }
}

/// The terms of a bound: the processor time, in microseconds, of each part that a request cannot do without, with 32 at once.
struct Terms {
  let folder: String
  private let width = 32
  private let stretch: Duration = .seconds(1)

  @concurrent func write() async throws {
    let costs = try await ServerUnderTest.run(in: folder + "/terms") { server in
      let sessions = try await server.sessions(2 * width)
      let signing = SigningLane()
      let verifying = try VerifyingLane(signing)
      return [
        "hashes": try hashRate(),
        "sign": try await cost(of: (0..<width).map { _ in signing }),
        "verify": try await cost(of: (0..<width).map { _ in verifying }),
        "commit": try await cost(of: sessions.prefix(width).map { CommitLane(store: server.store, row: $0.row) }),
        "read": try await cost(of: sessions.suffix(width).map { ReadingLane(store: server.store, id: $0.row.id) }),
      ]
    }
    FileHandle.standardOutput.write(try JSONEncoder().encode(costs))
  }

  /// Password hashes a second, by as many threads as a server has for them, and without a server.
  private func hashRate() throws -> Double {
    let threads = PasswordSettings().threads
    let counts = Locked(0)
    let clock = ContinuousClock()
    let (begin, end) = (clock.now, clock.now.advanced(by: stretch * 2))
    let group = DispatchGroup()
    for _ in 0..<threads {
      group.enter()
      Thread.detachNewThread {
        while clock.now < end, (try? Argon2Parameters.recommended.hash(Secret("correct horse battery"))) != nil {
          counts.withLock { $0 += 1 }
        }
        group.leave()
      }
    }
    group.wait()
    return Double(counts.withLock { $0 }) / ((clock.now - begin) / .seconds(1))
  }

  private func cost(of lanes: [some Lane]) async throws -> Double {
    var lanes = Lanes(lanes)
    // The first stretch fills the caches.
    _ = try await lanes.work(width, for: stretch / 4)
    return try await lanes.work(width, for: stretch).cost
  }
}
#endif
