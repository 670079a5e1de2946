#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn

/// The challenges of passkeys. They are not stored until they are used, so that asking for many costs strangers more than the server:
/// a challenge is its expiry and 112 random bits, with a MAC over both, the ceremony, and the browser that got it.
extension PasskeyService {
  enum Ceremony: String, Sendable { case creation, request }

  /// Twice the time that browsers are told: their clock starts later.
  private static let life = RelyingParty.usualTimeout * 2
  private static let timeSize = 6
  private static let macSize = 12

  /// - Parameter browser: what only that browser knows, or ``app``.
  func challenge(for ceremony: Ceremony, boundTo browser: String) throws(VerificationError) -> PasskeyChallenge {
    let expiry = UInt64(max(0, clock.now.advanced(by: PasskeyService.life).milliseconds))
    var bytes = stride(from: 8 * (PasskeyService.timeSize - 1), through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: expiry >> UInt64($0))
    }
    bytes += randomBytes(PasskeyChallenge.size - PasskeyService.macSize - bytes.count)
    guard let challenge = PasskeyChallenge(bytes + mac(bytes, ceremony, browser)) else { throw .invalid }
    return challenge
  }

  /// Returns the challenge that a browser claims to answer, and the record of its use: once that is stored, no other answer counts.
  ///
  /// - Throws: ``PasskeyError/wrongChallenge`` if it has expired, or was not made for this ceremony and browser.
  func verifyChallenge(
    _ claimed: PasskeyChallenge?, for ceremony: Ceremony, boundTo browser: String, at now: UnixTime
  ) throws(PasskeyError) -> (PasskeyChallenge, OneTimeTokenRecord) {
    guard let claimed else { throw .wrongChallenge }
    let body = Array(claimed.bytes.dropLast(PasskeyService.macSize))
    let expiry = UnixTime(
      milliseconds: body.prefix(PasskeyService.timeSize).reduce(Int64(0)) { $0 << 8 | Int64($1) })
    guard constantTimeEqual(Array(claimed.bytes.suffix(PasskeyService.macSize)), mac(body, ceremony, browser)),
      expiry > now
    else { throw .wrongChallenge }
    let nonce = "passkey " + Base64URL.encode(claimed.bytes)
    return (claimed, OneTimeTokenRecord(usedNonce: nonce, at: now, until: expiry))
  }

  private func mac(_ bytes: [UInt8], _ ceremony: Ceremony, _ browser: String) -> [UInt8] {
    registry.mint.macBytes(
      of: "\(ceremony.rawValue) \(Base64URL.encode(bytes)) \(browser)", for: .passkeyChallenge)
  }
}
#endif
