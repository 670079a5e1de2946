import Crypto
import Foundation
public import HandstampCore
import HandstampSupport

/// Creates proofs that a request comes from the holder of a key (RFC 9449 section 4.2), and tracks each origin's latest nonce
/// and its clock difference to this device. Use one prover per key.
public final class DPoPProver: Sendable {
  /// The key that signs the proofs.
  public let key: DPoPKey
  private let now: @Sendable () -> UnixTime
  private let known = Locked<[Origin: Server]>([:])

  private struct Server: Sendable {
    var nonce: String?
    /// How far the origin's clock is ahead.
    var lead: Duration = .zero
  }

  /// - Parameter now: the device's clock. It may be wrong: the `Date` of every response corrects it.
  public init(_ key: DPoPKey, now: @escaping @Sendable () -> UnixTime = { OAuthTime.system.now() }) {
    self.key = key
    self.now = now
  }

  /// Returns the value of the `DPoP` field for one request; valid for that one only.
  ///
  /// - Parameters:
  ///   - method: the request's method.
  ///   - url: the request's URL; its query and fragment are ignored.
  ///   - token: the access token in the request, if any.
  /// - Throws: ``SessionError/storage(_:)`` if the key cannot sign.
  public func proof(
    method: String, url: String, token: AccessToken? = nil
  ) throws(SessionError) -> String {
    let server = Origin(url).flatMap { origin in known.withLock { $0[origin] } } ?? Server()
    let target = String(url.prefix { $0 != "?" && $0 != "#" })
    var claims = JSONText([("htm", method), ("htu", target)])
    claims.add("iat", now().advanced(by: server.lead).seconds)
    claims.add("jti", Base64URL.encode(randomBytes(16)))
    if let token {
      claims.add("ath", token.secret.withExposedBytes { Base64URL.encode(SHA256.hash(data: $0)) })
    }
    claims.add("nonce", ifPresent: server.nonce)
    let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(key.jwk)}"#
    let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(claims.finished)
    return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
  }

  /// Records the parts of a response that later proofs need: its `DPoP-Nonce` and its `Date`.
  public func learn(from headers: [HeaderField], of url: String) {
    guard let origin = Origin(url) else { return }
    let nonce = headers.first(named: "DPoP-Nonce")
    let lead = headers.first(named: "Date").flatMap { UnixTime(httpDate: $0) }.map { $0.since(now()) }
    guard nonce != nil || lead != nil else { return }
    known.withLock { known in
      if let nonce, nonce.utf8.count <= 1024 { known[origin, default: Server()].nonce = nonce }
      // A date has whole seconds: a smaller difference is ignored.
      if let lead { known[origin, default: Server()].lead = abs(lead.components.seconds) < 2 ? .zero : lead }
    }
  }

  /// Whether the same request would be accepted with the nonce in its refusal (RFC 9449 sections 8 and 9).
  static func wantsNonce(_ answer: TransportResponse) -> Bool {
    guard answer.header("DPoP-Nonce") != nil else { return false }
    if answer.decoded(TokenRefusal.self)?.error == "use_dpop_nonce" { return true }
    return answer.status == 401 && answer.header("WWW-Authenticate")?.contains("use_dpop_nonce") == true
  }
}

extension DPoPProver: CustomStringConvertible, CustomReflectable {
  public var description: String { "prover of \(key)" }
  public var customMirror: Mirror { Mirror(self, children: ["key": key.description]) }
}
