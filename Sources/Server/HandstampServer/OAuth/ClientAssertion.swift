#if Server
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// An assertion that a client has signed to authenticate itself: `private_key_jwt` (RFC 7523 section 2.2, OpenID Connect Core 1.0
/// section 9).
struct ClientAssertion: Sendable {
  /// The value of `client_assertion_type`.
  static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
  /// How long an assertion counts: a stolen one is of no use soon.
  static let longest = Duration.seconds(300)
  /// The types of headers; other kinds of tokens have one of their own (RFC 8725 section 3.11).
  private static let types: Set<String> = ["jwt", "client-authentication+jwt"]

  /// The `client_id` that it claims; nothing is verified yet.
  let subject: String
  private let token: CompactJWS

  /// Returns `nil` for a text that is not an assertion of any client.
  init?(_ text: String) {
    guard let token = CompactJWS(Array(text.utf8)), let subject = token.subject else { return nil }
    self.token = token
    self.subject = subject
  }

  /// Verifies that `client` has signed it for one of `audiences`.
  ///
  /// - Returns: the record that marks it as used.
  func verify(
    by client: ConfiguredClient, for audiences: [String], at time: ServerClock.Reading
  ) throws(AssertionDefect) -> OneTimeTokenRecord {
    guard let header = token.header else { throw .malformed }
    guard header.type.map({ ClientAssertion.types.contains($0.lowercased()) }) ?? true else { throw .type }
    let keys = client.keys.filter { key in
      key.key.algorithm == header.algorithm && (header.keyID == nil || header.keyID == key.id)
    }
    guard !keys.isEmpty else { throw .unknownKey }
    guard let payload = keys.lazy.compactMap({ token.payload(under: header, signedBy: $0.key) }).first else {
      throw .signature
    }
    let claims = try AssertionClaims(payload)
    guard claims.issuer == client.id, claims.subject == client.id else { throw .issuer }
    guard let id = claims.id else { throw .claims }
    let end = try claims.check(for: audiences, at: time, lasting: ClientAssertion.longest)
    return OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret("\(client.id.utf8.count) \(client.id) \(id)"), purpose: .nonce), purpose: .nonce,
      subject: client.id, createdAt: time.now, expiresAt: end)
  }
}
#endif
