#if Programs
import Crypto
import CryptoExtras
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

@testable import HandstampServer

/// Stands in for Apple: signs identity tokens, and serves its keys on loopback.
final class AppleStub: Sendable {
  static let issuer = "https://appleid.example"
  static let clientID = "org.example.forum"
  static let nonce = "a nonce of the app, long enough"

  /// Two keys, generated once because that is slow.
  static let keys: [String: _RSA.Signing.PrivateKey] = {
    var keys: [String: _RSA.Signing.PrivateKey] = [:]
    for id in ["one", "two"] { keys[id] = try? _RSA.Signing.PrivateKey(keySize: .bits2048) }
    return keys
  }()

  struct State: Sendable {
    /// The names of the keys that are served.
    var kids = ["one"]
    var cacheControl: String? = "max-age=600"
    var status = HTTPResponse.Status.ok
    /// Served instead of the keys.
    var body: String?
    /// The number of times the keys were fetched.
    var fetches = 0
  }

  private let state = Locked(State())
  private let gate: Gate?

  private init(gate: Gate?) { self.gate = gate }

  var fetches: Int { state.withLock { $0.fetches } }
  func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  /// - Parameter gate: delays every response.
  static func run<Value>(
    behind gate: Gate? = nil, _ body: (AppleStub, _ keysURL: String) async throws -> Value
  ) async throws -> Value {
    let stub = AppleStub(gate: gate)
    let router = Router()
    router.get("/keys") { _, _ in await stub.answer() }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "apple")
    logger.logLevel = .critical
    let application = Application(
      router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
    let running = Task { try await application.run() }
    defer { running.cancel() }
    for await port in ports { return try await body(stub, "http://127.0.0.1:\(port)/keys") }
    throw CancellationError()
  }

  private func answer() async -> Response {
    await gate?.wait()
    let state = state.withLock { state in
      state.fetches += 1
      return state
    }
    var headers: HTTPFields = [.contentType: "application/json"]
    headers[.cacheControl] = state.cacheControl
    return Response(
      status: state.status, headers: headers,
      body: .init(byteBuffer: ByteBuffer(string: state.body ?? AppleStub.keySet(state.kids))))
  }

  /// As served by Apple, next to a key of another type.
  static func keySet(_ kids: [String]) -> String {
    let served = kids.compactMap { kid -> String? in
      guard let key = keys[kid], let primitives = try? key.publicKey.getKeyPrimitives() else { return nil }
      let (n, e) = (Base64URL.encode(primitives.modulus), Base64URL.encode(primitives.publicExponent))
      return #"{"kty":"RSA","kid":"\#(kid)","use":"sig","alg":"RS256","n":"\#(n)","e":"\#(e)"}"#
    }
    return #"{"keys":[{"kty":"new","kid":"later"},\#(served.joined(separator: ","))]}"#
  }

  /// An identity token; every part of it can differ from Apple's.
  struct Token {
    var kid = "one"
    /// The name of the signing key; `kid` if `nil`.
    var signedBy: String?
    var alg = "RS256"
    var issuer = AppleStub.issuer
    var audience = AppleStub.clientID
    var subject = "001.ada"
    var email: String? = "ada@example.org"
    var nonce: String? = AppleStub.nonce
    var expiresAt: UnixTime
    var issuedAt: UnixTime
    var crit = ""

    init(until expiresAt: UnixTime, _ change: (inout Token) -> Void = { _ in }) {
      self.expiresAt = expiresAt
      issuedAt = expiresAt.advanced(by: .seconds(-300))
      change(&self)
    }

    var text: String {
      let header = #"{"alg":"\#(alg)","kid":"\#(kid)"\#(crit)}"#
      var payload = #"{"iss":"\#(issuer)","aud":"\#(audience)","sub":"\#(subject)","exp":\#(expiresAt.seconds)"#
      if let email { payload += #","email":"\#(email)","email_verified":true"# }
      payload += #","iat":\#(issuedAt.seconds)"#
      if let nonce {
        payload += #","nonce":"\#(SHA256.hash(data: Array(nonce.utf8)).map { hex($0) }.joined())""#
      }
      let body = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array((payload + "}").utf8))
      let signature = try? AppleStub.keys[signedBy ?? kid]?.signature(
        for: Array(body.utf8), padding: .insecurePKCS1v1_5)
      return body + "." + (signature.map { Base64URL.encode($0.rawRepresentation) } ?? "")
    }

    private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
  }
}
#endif
