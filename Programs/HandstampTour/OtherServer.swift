#if Operator && DEBUG
import Foundation
import HandstampCore
import HandstampServer
import HandstampSupport
import Hummingbird
import Logging
import ServiceLifecycle

@testable import HandstampCommand
@testable import HandstampCommandLine

/// A typical third-party OAuth server: it has no rotation keys, its refresh token stays the same, and each new access token
/// replaces the previous one.
final class OtherServer: HTTPResponder {
  typealias Context = WireContext

  private struct State {
    var refreshes = 0
    var tokens = 0
    var fate: Proxy.Fate = .arrives
  }

  private let state = Locked(State())
  private let address = OneShot<String>()

  /// Runs a server until `body` returns.
  static func run<Value: Sendable>(
    _ body: @escaping @Sendable (OtherServer, String) async throws -> Value
  ) async throws -> Value {
    let server = OtherServer()
    let running = Task { try await server.run() }
    defer { running.cancel() }
    let address = try await within(.seconds(240), "the third-party server") { try await server.address.value() }
    return try await body(server, address)
  }

  /// The number of refreshes.
  var refreshes: Int { state.withLock { $0.refreshes } }

  /// Sets the fate of the next refresh response.
  func nextAnswer(_ fate: Proxy.Fate) { state.withLock { $0.fate = fate } }

  @concurrent func respond(to request: Hummingbird.Request, context: WireContext) async throws -> Response {
    let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
    switch request.uri.path {
    case "/.well-known/openid-configuration": return OtherServer.json(metadata(try await address.value()))
    case "/device_authorization":
      return OtherServer.json([
        "device_code": "device", "user_code": "TOUR", "verification_uri": "\(try await address.value())/device",
        "expires_in": 60, "interval": 1,
      ])
    case "/token":
      if body.contains("grant_type=refresh_token") { try await refresh() }
      return OtherServer.json(tokens())
    case "/revoke": return Response(status: .ok)
    default: return Response(status: .notFound)
    }
  }

  private func refresh() async throws {
    let fate = state.withLock { state in
      state.refreshes += 1
      defer { state.fate = .arrives }
      return state.fate
    }
    guard case .waits(let isHere, let goOn) = fate else { return }
    isHere.set(())
    try await goOn.value()
  }

  private func tokens() -> [String: any Sendable] {
    let number = state.withLock { state in
      state.tokens += 1
      return state.tokens
    }
    return [
      "access_token": "other-access-\(number)", "token_type": "Bearer", "expires_in": 600,
      "refresh_token": "other-refresh",
    ]
  }

  private func metadata(_ issuer: String) -> [String: any Sendable] {
    [
      "issuer": issuer, "token_endpoint": issuer + "/token", "revocation_endpoint": issuer + "/revoke",
      "device_authorization_endpoint": issuer + "/device_authorization",
    ]
  }

  private static func json(_ object: [String: any Sendable]) -> Response {
    let bytes = (try? JSONSerialization.data(withJSONObject: object)) ?? Data()
    return Response(
      status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private func run() async throws {
    let logger = Logger(label: "other server") { _ in SwiftLogNoOpLogHandler() }
    let application = Application(
      responder: self, server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { [address] channel in address.set("http://127.0.0.1:\(channel.localAddress?.port ?? 0)") },
      logger: logger)
    try await ServiceGroup(configuration: ServiceGroupConfiguration(services: [application], logger: logger)).run()
  }
}
#endif
