#if Server
import HandstampCore
import HandstampJOSE
import HandstampSupport

/// The claims of an assertion whose signature was verified (RFC 7523 section 3).
struct AssertionClaims: Sendable {
  /// How far the clocks of issuers and this server may differ.
  static let leeway = Duration.seconds(30)

  let issuer: String
  let subject: String
  /// `jti`; `nil` if there is none.
  let id: String?
  let expiresAt: ClaimedTime
  let all: JSONValue
  /// `nbf` and `iat`.
  private let earliest, madeAt: ClaimedTime?

  /// - Throws: `claims` if a required claim is missing, or one has another type.
  init(_ payload: [UInt8]) throws(AssertionDefect) {
    guard let json = JSONValue(payload), case .object = json, let issuer = json["iss"]?.string,
      let subject = json["sub"]?.string, !subject.isEmpty, let end = AssertionClaims.time(json["exp"])
    else { throw .claims }
    let (id, nbf, iat) = (json["jti"], json["nbf"], json["iat"])
    guard id == nil || id?.string.map({ (1...256).contains($0.utf8.count) }) == true,
      nbf == nil || AssertionClaims.time(nbf) != nil, iat == nil || AssertionClaims.time(iat) != nil
    else { throw .claims }
    (self.issuer, self.subject, self.id, expiresAt) = (issuer, subject, id?.string, end)
    (earliest, madeAt, all) = (AssertionClaims.time(nbf), AssertionClaims.time(iat), json)
  }

  /// Returns whether one of its audiences is accepted.
  func isFor(_ accepted: [String]) -> Bool {
    // Bytes: `==` on strings treats other spellings of a character as the same.
    all.audiences.contains { one in accepted.contains { $0.utf8.elementsEqual(one.utf8) } }
  }

  /// Checks the audience and the times.
  ///
  /// - Parameter longest: how long the assertion counts after it was made, whatever its expiry says: Authlib's last an hour. One that
  ///   does not say when it was made must expire so soon.
  /// - Returns: the server time at which it no longer counts.
  @discardableResult
  func check(
    for accepted: [String], at time: ServerClock.Reading, lasting longest: Duration
  ) throws(AssertionDefect) -> UnixTime {
    guard isFor(accepted) else { throw .audience }
    let end = madeAt.map { min(expiresAt, $0.advanced(by: longest)) } ?? expiresAt
    let last = end.advanced(by: AssertionClaims.leeway)
    guard !last.hasPassed(at: time) else { throw .expired }
    func isAhead(_ claim: ClaimedTime?, by more: Duration = .zero) -> Bool {
      claim?.advanced(by: .zero - AssertionClaims.leeway - more).isAhead(of: time) == true
    }
    guard !isAhead(earliest), !isAhead(madeAt) else { throw .notYetValid }
    guard !isAhead(end, by: longest) else { throw .lasting }
    return last.end(at: time)
  }

  /// The seconds of a `NumericDate`, rounded down, as long as they are in some century near this one.
  private static func time(_ member: JSONValue?) -> ClaimedTime? {
    guard let seconds = member?.number, seconds >= 0, seconds < 1e11 else { return nil }
    return ClaimedTime(UnixTime(seconds: Int64(seconds)))
  }
}

/// The reason for which an assertion is refused. For logs: the response only says that it is not valid.
enum AssertionDefect: String, Error, Hashable {
  /// Not a compact JWS with a header that is allowed: `none` and symmetric algorithms are not.
  case malformed
  /// Its `typ` is that of another kind of token.
  case type
  /// The client, or the issuer, has no such key.
  case unknownKey = "unknown_key"
  case signature
  case claims
  /// Another issuer or subject.
  case issuer
  case audience
  case expired
  /// It expires too late.
  case lasting
  case notYetValid = "not_yet_valid"
  /// It was used before.
  case replayed
  /// A claim that the operator requires is missing, or has another value.
  case rule
}
#endif
