#if Server
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// Verifies the assertions of issuers that clients trust (RFC 7523 section 2.1): ID tokens of a CI's jobs. Only RS256 is accepted, which
/// GitHub and GitLab sign with.
///
/// A job may use its token more than once: GitLab gives a job one for all of its commands.
struct IssuerAssertions: Sendable {
  /// How long an assertion counts: as long as the longest jobs.
  static let longest = Duration.seconds(86_400)

  private let keys: [String: KeySet]

  /// - Parameter transport: fetches metadata and keys; without it, no assertion is accepted.
  init(of clients: [ConfiguredClient], transport: (any Transport)?, now: @escaping @Sendable () -> UnixTime) {
    let issuers = Set(clients.flatMap(\.trusts).map(\.issuer))
    keys = Dictionary(
      uniqueKeysWithValues: transport.map { transport in
        issuers.map { ($0, KeySet(issuer: $0, transport: transport, now: now)) }
      } ?? [])
  }

  /// Verifies that an issuer which `client` trusts has signed the assertion, and that the client's rules allow it.
  ///
  /// - Throws: ``AssertionDefect``, or ``KeysUnavailable`` if the issuer's keys cannot be fetched.
  func verify(_ text: String, for client: ConfiguredClient, at time: ServerClock.Reading) async throws {
    guard let token = CompactJWS(Array(text.utf8)), let header = token.header, let name = header.keyID,
      let claimed = token.issuer
    else { throw AssertionDefect.malformed }
    let trusts = client.trusts.filter { $0.issuer.isIssuer(published: claimed) }
    guard !trusts.isEmpty, let keys = keys[trusts[0].issuer] else { throw AssertionDefect.issuer }
    guard let key = try await keys.key(named: name) else { throw AssertionDefect.unknownKey }
    guard await keys.published.map({ $0.utf8.elementsEqual(claimed.utf8) }) ?? true else {
      throw AssertionDefect.issuer
    }
    guard let payload = token.payload(under: header, signedBy: key) else { throw AssertionDefect.signature }
    let claims = try AssertionClaims(payload)
    try claims.check(for: trusts.map(\.audience), at: time, lasting: IssuerAssertions.longest)
    let isAllowed = trusts.contains { $0.allows(claims.all) && claims.isFor([$0.audience]) }
    guard isAllowed else { throw AssertionDefect.rule }
  }
}
#endif
