#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampTesting
import Hummingbird
import Logging
import NIOCore
import NIOPosix

/// Our server at the address that it listens on, as metadata requires, with Ada's account.
struct OwnServer: Sendable {
  let url: String
  let server: SessionServer
  static let password = "correct horse battery"
  /// Where browsers are sent after a sign-out.
  static let signedOut = "https://app.example.org/signed-out"
  /// A key of each kind, generated once because that is slow.
  private static let bothKeys = Result { try SigningKeys().withRSAKey() }

  static func run<Value>(
    adding more: [ConfiguredClient] = [], _ body: (OwnServer) async throws -> Value
  ) async throws -> Value {
    // Another process may take the port between the check and the use; then another port is tried.
    for _ in 0..<20 {
      let port = try await freePort()
      let url = "http://127.0.0.1:\(port)"
      let server = try await make(url, more)
      guard let running = try? await server.start(port: port) else { continue }
      do {
        let value = try await body(OwnServer(url: url, server: server))
        try await running.stop()
        return value
      } catch {
        try await running.stop()
        throw error
      }
    }
    throw Program.Failed(description: "no port was free")
  }

  /// A free port below those that the system hands out, so that no socket of another test gets it before it is used.
  static func freePort() async throws -> Int {
    for _ in 0..<1000 {
      let port = Int.random(in: 10_000..<32_768)
      let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      guard let probe = try? await bootstrap.bind(host: "127.0.0.1", port: port).get() else { continue }
      try await probe.close()
      return port
    }
    throw Program.Failed(description: "no port was free")
  }

  private static func make(_ issuer: String, _ more: [ConfiguredClient]) async throws -> SessionServer {
    let client = try ConfiguredClient(
      id: "app", name: "An app", redirectURIs: ["http://127.0.0.1/callback"], flows: [.code, .device],
      scopes: ["profile", "read"], audiences: ["https://api.example.org"])
    // Two whose users sign in with OpenID Connect; the sessions of the second outlast the browser's.
    let parties = try [[], ["offline_access"]].map { more in
      try ConfiguredClient(
        id: more.isEmpty ? "leaves" : "stays", name: "A party", redirectURIs: ["http://127.0.0.1/callback"],
        scopes: ["openid", "profile"] + more, postLogoutRedirectURIs: [signedOut])
    }
    let configuration = ServerConfiguration(issuer: issuer) {
      $0.clients = [client] + parties + more
      $0.passwords.hashing = .forTests
      $0.limits = .none
      $0.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    }
    var random = SystemRandomNumberGenerator()
    let mint = TokenMint(try MasterKeys(drawing: KeyID("k1"), from: &random))
    return try await SessionServer(
      configuration: configuration, registry: Registry(store: MemoryRegistryStore(), mint: mint),
      keys: more.isEmpty ? SigningKeys() : bothKeys.get())
  }

  /// Creates Ada's account.
  func signUp() async throws { try await OwnServer.signUp("ada@example.org", at: url) }

  static func signUp(_ email: String, at url: String) async throws {
    guard let base = URL(string: url) else { return }
    _ = try await ServerBackend(
      baseURL: base, device: .init(id: DeviceID("d"), name: "d"), transport: URLSessionTransport()
    ).signUp(email: email, password: Secret(password), username: "Ada")
  }
}
#endif
