#if Programs
import Foundation
import HTTPTypes
import HandstampRegistry
import HandstampServer
import HandstampTesting
import HandstampTransports
import Hummingbird
import Logging
import NIOCore
import Testing

@testable import Handstamp

/// The transports that ship with Handstamp; every promise of `Transport` is tested on each.
enum Kind: String, CaseIterable, Sendable {
  case urlSession, asyncHTTPClient
  /// `URLSessionTransport` on Apple platforms, and where libcurl is missing.
  case foundation

  static let allCases = [urlSession, asyncHTTPClient]

  func make() -> any Transport {
    switch self {
    case .foundation: FoundationTransport()
    case .urlSession: URLSessionTransport()
    case .asyncHTTPClient: AsyncHTTPTransport(connectTimeout: .seconds(240))
    }
  }

  /// Makes one that waits minutes for an answer: the server of the same process may be starved by other tests.
  func patient() -> any Transport { PatientTransport(base: make()) }
}

let password = Secret("correct horse battery")

/// A real session server on a free port, with an in-memory store and a clock that stands still.
struct RealServer: Sendable {
  let url: URL
  let server: SessionServer

  static func run<Value>(
    life: Duration = .seconds(600), mailer: (any Mailer)? = nil,
    apple: AppleSignIn? = nil,
    _ configure: (inout ServerConfiguration) -> Void = { _ in }, body: (RealServer) async throws -> Value
  ) async throws -> Value {
    var configuration = ServerConfiguration(issuer: "https://id.example.org")
    configuration.mail.jitter = .zero
    configuration.mail.notices = []
    configuration.passwords.hashing = .forTests
    configuration.limits = .none
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    configuration.now = { SystemClock().now().wall }
    configuration.accessTokenLife = life
    configure(&configuration)
    var random = SystemRandomNumberGenerator()
    let mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
    let server = try await SessionServer(
      configuration: configuration, registry: Registry(store: MemoryRegistryStore(), mint: mint), keys: SigningKeys(),
      mailer: mailer, apple: apple)
    let running = try await server.start()
    guard let url = URL(string: "http://127.0.0.1:\(running.port)") else { throw CancellationError() }
    do {
      let value = try await body(RealServer(url: url, server: server))
      try await running.stop()
      return value
    } catch {
      try await running.stop()
      throw error
    }
  }

  func backend(_ kind: Kind, device: String = "phone") -> ServerBackend {
    ServerBackend(
      baseURL: url, device: .init(id: DeviceID(device), name: device), transport: kind.patient())
  }
}

/// A misbehaving server.
struct OddServer {
  static func run<Value>(
    _ routes: (Router<BasicRequestContext>) -> Void, _ body: (String) async throws -> Value
  ) async throws -> Value {
    let router = Router()
    routes(router)
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "odd")
    logger.logLevel = .critical
    let application = Application(
      router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
    let running = Task { try await application.run() }
    defer { running.cancel() }
    for await port in ports { return try await body("http://127.0.0.1:\(port)") }
    throw CancellationError()
  }
}

extension TokenResponse {
  var accessToken: AccessToken {
    get throws { try #require(tokens.access) }
  }
}
#endif
