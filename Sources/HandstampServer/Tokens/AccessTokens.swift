#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import JWTKit

/// Mints and checks access tokens: JWT as RFC 9068 profiles them, ES256 through JWTKit.
///
/// The algorithms are taken out of JWTKit's key collection once, so that neither signing nor checking passes through its
/// actor, and the envelope is written and read here: a header is accepted only if it is, byte for byte, one that this server
/// writes. That leaves no room for `none`, for a key inside the header, or for a second spelling of a token.
struct AccessTokens: Sendable, CustomStringConvertible, CustomReflectable {
  /// What a genuine token says.
  struct Claims: Sendable, Hashable {
    var account: AccountID
    var session: SessionID
    /// Whom it was given to.
    var client: String
    /// What that client may do with it; nothing in a token of the server's own app.
    var scope: String?
    /// What it is for.
    var audience: String
    /// The key that it is bound to (RFC 9449 section 6).
    var thumbprint: String?
    var id: String
    var issuedAt: UnixTime
    var expiresAt: UnixTime
  }

  enum Fault: Error, Hashable {
    /// None of ours, damaged, or meant for somebody else.
    case invalid
    case expired
  }

  private let header: [UInt8]
  private let signer: any JWTAlgorithm
  private let verifiers: [String: any JWTAlgorithm]
  private let issuer: String
  private let audience: String
  private let client: String
  /// How long a token is good.
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

  /// A new token, and for how many whole seconds it is good.
  struct Minted {
    var text: String
    var expiresIn: Int64
  }

  /// A new token. Two tokens of one second differ, by `jti`. None outlasts `limit`, the end of its session, by more than a
  /// second.
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
    // Rounded up, so that a token is good for at least as long as `expires_in` says.
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
    return Minted(text: String(decoding: token, as: UTF8.self), expiresIn: life.components.seconds)
  }

  /// The same, for this server's own API.
  func verify(_ token: Substring, at now: UnixTime) -> Result<Claims, Fault> {
    verify(token, at: now, audience: audience)
  }

  /// What `token` says, if it is genuine and good at `now`. The signature comes first: nothing of an unsigned text is read.
  ///
  /// - Parameter audience: whom it must be for; nothing for whomever.
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
    // We write none; who signs with our keys may (RFC 7519 section 4.1.5).
    guard claims.nbf.map({ UnixTime(seconds: $0) <= now }) ?? true else { return .failure(.invalid) }
    return .success(
      Claims(
        account: AccountID(claims.sub), session: SessionID(claims.sid), client: claims.client_id, scope: claims.scope,
        audience: claims.aud, thumbprint: claims.cnf?.jkt, id: claims.jti, issuedAt: UnixTime(seconds: claims.iat),
        expiresAt: end))
  }

  /// Nothing longer is looked at, in bytes.
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
