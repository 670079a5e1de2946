#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import JWTKit

/// Verifies the identity tokens that Apple issues to apps (OpenID Connect Core section 3.1.3.7). Only RS256 is accepted.
struct IdentityTokens: Sendable {
  /// The claims of a genuine token.
  struct Claims: Sendable, Hashable {
    /// The user. Never the email address, which can be reassigned.
    var identity: ExternalIdentity
    /// The value that makes the sign-in unique.
    var nonce: String
    var expiresAt: UnixTime
  }

  /// Maximum length of a token, in bytes; longer input is refused unread.
  private static let longest = 8192
  /// The accepted lengths of a nonce. Shorter ones could be guessed.
  static let nonceLengths = 16...256

  private let apple: AppleSignIn
  private let keys: KeySet

  init(_ apple: AppleSignIn, now: @escaping @Sendable () -> UnixTime) {
    self.apple = apple
    keys = KeySet(url: apple.keysURL, transport: apple.transport, now: now)
  }

  /// Returns the claims of `token` if it is genuine, valid at `now`, issued for one of the configured apps, and was requested
  /// with `nonce`: the token contains its SHA-256 in hexadecimal. Before the signature is verified, only the header is
  /// parsed.
  func verify(_ token: Secret, nonce: String, at now: UnixTime) async throws(IdentityTokenFault) -> Claims {
    guard token.count <= IdentityTokens.longest else { throw .invalid }
    let bytes = token.withExposedBytes { Array($0) }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header: Header = IdentityTokens.read(parts[0]), header.alg == "RS256",
      header.crit == nil, let signature = Base64URL.decode(parts[2])
    else { throw .invalid }
    guard let key = try await keys.key(named: header.kid),
      (try? key.verify(signature, signs: bytes[..<parts[1].endIndex])) == true,
      let payload: Payload = IdentityTokens.read(parts[1])
    else { throw .invalid }
    let end = UnixTime(seconds: payload.exp)
    let hash = SHA256.hash(data: Array(nonce.utf8)).map { IdentityTokens.hex($0) }.joined()
    guard payload.iss == apple.issuer, apple.clientIDs.contains(payload.aud), now < end,
      IdentityTokens.nonceLengths.contains(nonce.utf8.count), payload.nonce == hash,
      (1...IdentityTokens.longestSubject).contains(payload.sub.utf8.count)
    else { throw .invalid }
    return Claims(
      identity: ExternalIdentity(issuer: payload.iss, subject: payload.sub), nonce: hash, expiresAt: end)
  }

  /// Maximum length of a subject, in bytes (OpenID Connect Core section 2).
  private static let longestSubject = 255

  private struct Header: Decodable {
    var alg: String
    var kid: String
    var crit: [String]?
  }

  private struct Payload: Decodable {
    var iss: String
    var aud: String
    var sub: String
    var exp: Int64
    var nonce: String
  }

  private static func read<Value: Decodable>(_ part: ArraySlice<UInt8>) -> Value? {
    Base64URL.decode(part).flatMap { try? JSONDecoder().decode(Value.self, from: Data($0)) }
  }

  private static func hex(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }
}
#endif
