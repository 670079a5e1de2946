import Crypto
import Foundation
public import HandstampCore
import HandstampSupport

/// Creates proofs that a request comes from the holder of a key (RFC 9449 section 4.2), and tracks each origin's latest nonce
/// and its clock difference to this device, if it has refused a proof. Use one prover per key.
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

  /// - Parameter now: the device's clock. It may be wrong: the `Date` of a refusal corrects it.
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

  /// Records the part of a response that later proofs need: its `DPoP-Nonce`.
  public func learn(from headers: [HeaderField], of url: String) {
    guard let origin = Origin(url), let nonce = headers.first(named: "DPoP-Nonce"), nonce.utf8.count <= 1024 else {
      return
    }
    known.withLock { $0[origin, default: Server()].nonce = nonce }
  }

  /// The lesson of a proof's refusal: with it, the same request may be accepted.
  enum Lesson: Hashable {
    /// The server's nonce (RFC 9449 sections 8 and 9).
    case nonce
    /// The server's time, of one that gives no nonces (section 11.1).
    case time
  }

  /// Records what a response teaches. Each lesson is worth one repetition.
  func lesson(of response: TransportResponse, from url: String) -> Lesson? {
    learn(from: response.headers, of: url)
    if response.header("DPoP-Nonce") != nil, response.refusesProof("use_dpop_nonce") { return .nonce }
    // Only a date that no third party can have written, and that is no cache's.
    guard response.refusesProof("invalid_dpop_proof"), let origin = Origin(url), origin.isTrustworthy,
      let lead = response.servedAt?.since(now())
    else { return nil }
    return known.withLock { known in
      // A date has whole seconds: a smaller difference is ignored.
      guard abs((lead - known[origin, default: Server()].lead).components.seconds) >= 2 else { return nil }
      known[origin, default: Server()].lead = lead
      return .time
    }
  }
}

extension DPoPProver: CustomStringConvertible, CustomReflectable {
  public var description: String { "prover of \(key)" }
  public var customMirror: Mirror { Mirror(self, children: ["key": key.description]) }
}

extension TransportResponse {
  /// Whether it refuses a proof with this code, in its body or its challenge.
  fileprivate func refusesProof(_ code: String) -> Bool {
    if decoded(TokenRefusal.self)?.error == code { return true }
    return status == 401 && header("WWW-Authenticate")?.contains(code) == true
  }

  /// The server's time; `nil` if it is not said, or a cache has kept it.
  var servedAt: UnixTime? { header("Age") == nil ? header("Date").flatMap { UnixTime(httpDate: $0) } : nil }
}
