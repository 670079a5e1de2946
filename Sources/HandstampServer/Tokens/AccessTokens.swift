#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import JWTKit

/// Issues and verifies access tokens: JWT as profiled by RFC 9068, ES256 through JWTKit.
///
/// The algorithms are taken out of JWTKit's key collection once, so that neither signing nor verifying passes through its
/// actor. The envelope is written and parsed here: a header is accepted only if it is, byte for byte, one that this server
/// writes. That rules out `none`, keys inside the header, and alternative spellings of a token.
struct AccessTokens: Sendable, CustomStringConvertible, CustomReflectable {
  /// The claims of a genuine token.
  struct Claims: Sendable, Hashable {
    var account: AccountID
    var session: SessionID
    /// The client that it was issued to.
    var client: String
    /// The scope granted to the client; `nil` in a token of the server's own app.
    var scope: String?
    /// The API that it is for.
    var audience: String
    /// The thumbprint of the key that it is bound to (RFC 9449 section 6).
    var thumbprint: String?
    var id: String
    var issuedAt: UnixTime
    var expiresAt: UnixTime
  }

  enum Fault: Error, Hashable {
    /// Not issued by this server, damaged, or meant for another audience.
    case invalid
    case expired
  }

  private let header: [UInt8]
  private let signer: any JWTAlgorithm
  private let verifiers: [String: any JWTAlgorithm]
  private let issuer: String
  private let audience: String
  private let client: String
  /// Lifetime of a token.
  let life: Duration

  init(keys: SigningKeys, issuer: String, audience: String, client: String, life: Duration) async throws {
    let collection = JWTKeyCollection()
    var verifiers: [String: any JWTAlgorithm] = [:]
    var headers: [[UInt8]] = []
    for key in keys.keys {
      let kid = JWKIdentifier(string: key.id)
      await collection.add(ecdsa: try ES256PrivateKey(backing: key.key), kid: kid)
      var json = JSONText()
      json.add("alg", "ES256")
      json.add("kid", key.id)
      json.add("typ", "at+jwt")
      var header: [UInt8] = []
      Base64URL.append(json.finished, to: &header)
      verifiers[String(decoding: header, as: UTF8.self)] = try await collection.getKey(for: kid)
      headers.append(header)
    }
    guard let header = headers.first, let signer = verifiers[String(decoding: header, as: UTF8.self)] else {
      throw SigningKeysFault()
    }
    self.header = header
    self.signer = signer
    self.verifiers = verifiers
    self.issuer = issuer
    self.audience = audience
    self.client = client
    self.life = life
  }

  /// A new token, and its lifetime in whole seconds.
  struct Minted {
    var text: String
    var life: Int64
  }

  /// Issues a token. Its `jti` is unique. It outlasts `limit`, the end of its session, by at most a second.
  func mint(
    account: AccountID, session: SessionID, client: SessionClient? = nil, thumbprint: String? = nil, at now: UnixTime,
    until limit: UnixTime? = nil
  ) throws -> Minted {
    let left = limit.map { max(.seconds(1), $0.since(now)) } ?? life
    let life = min(life, left)
    var random = SystemRandomNumberGenerator()
    var id: [UInt8] = []
    for _ in 0..<2 { withUnsafeBytes(of: random.next() as UInt64) { id.append(contentsOf: $0) } }
    var payload = JSONText(reserving: 320)
    payload.add("iss", issuer)
    payload.add("sub", account.rawValue)
    payload.add("aud", client?.audience ?? audience)
    payload.add("client_id", client?.id ?? self.client)
    payload.add("scope", ifPresent: client?.scope)
    if let thumbprint {
      var confirmation = JSONText()
      confirmation.add("jkt", thumbprint)
      payload.add("cnf", confirmation)
    }
    payload.add("iat", now.seconds)
    // Rounded up, so that a token is valid for at least `expires_in`.
    payload.add("exp", (now.advanced(by: life).milliseconds + 999) / 1000)
    payload.add("jti", Base64URL.encode(id))
    payload.add("sid", session.rawValue)
    var token = header
    token.reserveCapacity(640)
    token.append(UInt8(ascii: "."))
    Base64URL.append(payload.finished, to: &token)
    let signature = try signer.sign(token)
    token.append(UInt8(ascii: "."))
    Base64URL.append(signature, to: &token)
    return Minted(text: String(decoding: token, as: UTF8.self), life: life.components.seconds)
  }

  /// Verifies a token for this server's own API.
  func verify(_ token: Substring, at now: UnixTime) -> Result<Claims, Fault> {
    verify(token, at: now, audience: audience)
  }

  /// Returns the claims of `token` if it is genuine and valid at `now`. The signature is verified before the payload is parsed.
  ///
  /// - Parameter audience: the required audience; `nil` accepts any.
  func verify(_ token: Substring, at now: UnixTime, audience: String?) -> Result<Claims, Fault> {
    let bytes = Array(token.utf8)
    guard bytes.count <= AccessTokens.longest else { return .failure(.invalid) }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3,
      let verifier = verifiers[String(decoding: parts[0], as: UTF8.self)],
      let signature = Base64URL.decode(parts[2]), signature.count == 64,
      (try? verifier.verify(signature, signs: Array(bytes[..<parts[1].endIndex]))) == true,
      let payload = Base64URL.decode(parts[1]),
      let claims = try? JSONDecoder().decode(Payload.self, from: Data(payload)),
      claims.iss == issuer, audience == nil || claims.aud == audience
    else { return .failure(.invalid) }
    let end = UnixTime(seconds: claims.exp)
    guard now < end else { return .failure(.expired) }
    // This server writes no `nbf`; other signers with its keys may (RFC 7519 section 4.1.5).
    guard claims.nbf.map({ UnixTime(seconds: $0) <= now }) ?? true else { return .failure(.invalid) }
    return .success(
      Claims(
        account: AccountID(claims.sub), session: SessionID(claims.sid), client: claims.client_id, scope: claims.scope,
        audience: claims.aud, thumbprint: claims.cnf?.jkt, id: claims.jti, issuedAt: UnixTime(seconds: claims.iat),
        expiresAt: end))
  }

  /// Maximum length of a token, in bytes; longer input is refused unread.
  private static let longest = 8192

  var description: String { "access tokens of \(issuer)" }
  var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }

  private struct Payload: Decodable {
    var iss: String
    var sub: String
    var aud: String
    var exp: Int64
    var nbf: Int64?
    var sid: String
    var client_id: String
    var scope: String?
    var jti: String
    var iat: Int64
    var cnf: Confirmation?
  }

  private struct Confirmation: Decodable {
    var jkt: String
  }
}
#endif
