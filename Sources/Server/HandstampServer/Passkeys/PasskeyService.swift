#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampWebAuthn
import Logging

/// Creates passkeys, and signs in with them (WebAuthn Level 2).
struct PasskeyService: Sendable {
  /// The reason why a passkey was not accepted, as far as it is the user's business.
  enum Refusal: Sendable, Hashable {
    /// The answer came too late, twice, or from another page: asking again helps.
    case expired
    /// No account has the passkey: it was removed.
    case unknown
    /// The account has too many passkeys.
    case tooMany
    /// The authenticator has not checked who uses it.
    case notVerified
    /// Anything else: a fault of a program, or an attack.
    case invalid
  }

  /// How often a use is tried when the same passkey is used elsewhere at the same time.
  static let attempts = 4

  /// The binding of the challenges of apps: none, because they have no cookies. They expire, and are used once.
  static let app = "app"

  let party: RelyingParty
  var registry: Registry
  let clock: ServerClock
  var domain: String { party.id }

  // MARK: Creation

  /// Returns `PublicKeyCredentialCreationOptionsJSON` for an account.
  func creationOptions(for account: AccountRecord, boundTo place: String) async throws -> JSONText {
    let challenge = try challenge(for: .creation, boundTo: place)
    let previous = try await registry.passkeys(of: account.id).compactMap(\.passkey)
    return party.registrationOptions(
      for: try PasskeyService.user(of: account), challenge: challenge, excluding: previous)
  }

  /// Adds the passkey of an authenticator's answer to a user's account.
  ///
  /// - Parameters:
  ///   - answer: `RegistrationResponseJSON`.
  ///   - place: what the options were bound to.
  ///   - session: the session that the user adds it in.
  ///   - fallback: its name if the model of the authenticator is not known.
  func add(
    _ answer: String, boundTo place: String, to account: AccountRecord, in session: SessionID,
    orNamed fallback: String, _ logger: Logger
  ) async throws {
    let (record, used) = try verify(new: answer, boundTo: place, for: account, orNamed: fallback, logger)
    guard try await registry.passkeys(of: account.id).count < PasskeyRecord.most else {
      throw AccountError.passkey(.tooMany)
    }
    guard try await registry.addPasskey(record, to: account, in: session, challenge: used, now: clock.now) else {
      throw AccountError.passkey(.expired)
    }
  }

  /// Returns the new passkey of an answer, and the record of its challenge, to be stored with it.
  func verify(
    new answer: String, boundTo place: String, for account: AccountRecord, orNamed fallback: String, _ logger: Logger
  ) throws -> (PasskeyRecord, OneTimeTokenRecord) {
    let now = clock.now
    do throws(PasskeyError) {
      let response = try RegistrationResponse(Array(answer.utf8))
      let (challenge, used) = try verifyChallenge(
        response.claimedChallenge, for: .creation, boundTo: place, at: now)
      let passkey = try party.verifyRegistration(
        response, challenge: challenge, user: try PasskeyService.handle(of: account.id))
      let name = AuthenticatorModel.name(of: passkey.aaguid) ?? fallback
      return (PasskeyRecord(passkey, of: account.id, name: name, at: now), used)
    } catch { throw refusal(error, logger) }
  }

  // MARK: Sign-in

  /// Returns `PublicKeyCredentialRequestOptionsJSON`. They name no passkeys, so they tell nothing about accounts.
  func requestOptions(boundTo browser: String) throws(AccountError) -> JSONText {
    party.assertionOptions(challenge: try challenge(for: .request, boundTo: browser))
  }

  /// Verifies an authenticator's answer, and returns the use to be recorded.
  ///
  /// - Parameters:
  ///   - answer: a reading of `AuthenticationResponseJSON`.
  ///   - account: the account whose owner proves it again; `nil` to find the account.
  ///   - mayRepeat: whether an answer that was used before is verified as well. The caller must then refuse to use it again.
  func verify(
    _ answer: String, boundTo browser: String, as account: AccountID?, mayRepeat: Bool, _ logger: Logger
  ) async throws -> CredentialUse {
    let now = clock.now
    let response: AssertionResponse
    let (challenge, used): (PasskeyChallenge, OneTimeTokenRecord)
    do throws(PasskeyError) {
      response = try AssertionResponse(Array(answer.utf8))
      (challenge, used) = try verifyChallenge(response.claimedChallenge, for: .request, boundTo: browser, at: now)
    } catch { throw refusal(error, logger) }
    let isUsed = try await registry.hasUsed(used)
    guard !isUsed || mayRepeat else { throw AccountError.passkey(.expired) }
    guard var record = try await registry.passkey(response.credentialID.text) else {
      throw AccountError.passkey(.unknown)
    }
    // The counter of this answer is stored already.
    if isUsed { record.signCount = 0 }
    // Exports of other systems may leave it out, and the signature covers it.
    if record.userHandle != nil, record.lastUsedAt == nil { record.isBackupEligible = response.isBackupEligible }
    let outcome: AssertionOutcome
    do throws(PasskeyError) {
      guard let passkey = record.passkey else { throw .wrongPasskey }
      guard account == nil || account == record.account else { throw .wrongUser }
      // Whose passkey it is was compared above: an authenticator may leave out the handle.
      outcome = try party.verifyAssertion(
        response, challenge: challenge, passkey: passkey,
        user: account == nil ? .unknown : .known(passkey.userHandle, allowed: []))
    } catch { throw refusal(error, logger) }
    switch outcome {
    case .verified(let passkey):
      (record.signCount, record.isBackedUp) = (passkey.signCount, passkey.isBackedUp)
      guard let use = try await registry.credentialUse(for: record, challenge: used, now: now) else {
        throw AccountError.disabled
      }
      return use
    case .clonedAuthenticator(_, let received):
      try await registry.recordRefusal(record, received: received, now: now)
      logger.warning(
        "Passkey refused: its counter did not go up, so it may have been copied",
        metadata: ["handstamp.account": "\(record.account)"])
      throw AccountError.passkey(.invalid)
    }
  }

  /// The ID of the passkey that an authenticator's answer is by, whether or not it is valid.
  static func credential(in answer: String) -> String? {
    (try? AssertionResponse(Array(answer.utf8)))?.credentialID.text
  }

  // MARK: Verification

  private func refusal(_ error: PasskeyError, _ logger: Logger) -> AccountError {
    switch error {
    case .wrongChallenge: return .passkey(.expired)
    case .userNotVerified, .userNotPresent: return .passkey(.notVerified)
    // The operator's settings, mostly.
    case .wrongOrigin, .wrongRelyingParty:
      logger.warning("Passkey refused", metadata: ["handstamp.cause": "\(error)"])
      return .passkey(.invalid)
    default:
      logger.info("Passkey refused", metadata: ["handstamp.cause": "\(error)"])
      return .passkey(.invalid)
    }
  }

  /// The account as authenticators show it. With its passkeys, it is enough to tell credential managers which ones the server accepts
  /// (WebAuthn Level 3 section 5.1.10, _Signal_).
  static func user(of account: AccountRecord) throws -> PasskeyUser {
    PasskeyUser(
      handle: try handle(of: account.id), name: account.email?.typed ?? account.shownName,
      displayName: account.shownName)
  }

  /// The name of an account to authenticators, which does not change.
  static func handle(of account: AccountID) throws(PasskeyError) -> UserHandle {
    let hash = SHA256.hash(data: Array("handstamp passkeys \(account)".utf8))
    guard let handle = UserHandle(Array(hash)) else { throw .wrongUser }
    return handle
  }
}

extension PasskeyRecord {
  init(_ passkey: Passkey, of account: AccountID, name: String, at now: UnixTime) {
    self.init(
      id: passkey.id.text, account: account, publicKey: passkey.publicKey.bytes, signCount: passkey.signCount,
      isBackupEligible: passkey.isBackupEligible, isBackedUp: passkey.isBackedUp, transports: passkey.transports,
      name: name, createdAt: now)
  }

  /// The stored passkey; `nil` if it cannot be read, as one that a later version has stored.
  fileprivate var passkey: Passkey? {
    guard let id = CredentialID(text: id), let key = try? COSEKey(publicKey),
      let handle = userHandle.flatMap({ UserHandle(foreign: $0) }) ?? (try? PasskeyService.handle(of: account))
    else { return nil }
    return Passkey(
      id: id, publicKey: key, userHandle: handle, signCount: signCount, isBackupEligible: isBackupEligible,
      isBackedUp: isBackedUp, transports: transports)
  }
}

/// The models of authenticators that people know by name (AAGUID, WebAuthn Level 2 section 6.1). What a response says of its model is
/// not verified.
enum AuthenticatorModel {
  private static let names = [
    "08987058cadc4b81b6e130de50dcbe96": "Windows Hello",
    "9ddd1817af5a4672a2b93e3dd95000a9": "Windows Hello",
    "6028b017b1d44c02b4b3afcdafc96bb2": "Windows Hello",
    "adce000235bcc60a648b0b25f1f05503": "Chrome on Mac",
    "bada5566a7aa401fbd9645619a55120d": "1Password",
    "d548826e79b4db40a3d811116f7e8349": "Bitwarden",
    "531126d6e717415c93203d9aa6981239": "Dashlane",
    "dd4ec289e01d41c9bb8970fa845d4bf2": "iCloud Keychain",
    "ea9b8d664d011d213ce4b6b48cb575d4": "Google Password Manager",
    "fbfc3007154e4ecc8c0b6e020557d7bd": "iCloud Keychain",
    "fdb141b25d84443e8a354698c205a502": "KeePassXC",
  ]

  /// Returns the name of a model; `nil` if it is not known.
  static func name(of aaguid: [UInt8]) -> String? { names[Hexadecimal.text(aaguid)] }
}

/// The challenges of passkeys. They are not stored until they are used, so that asking for many costs strangers more than the server:
/// a challenge is its expiry and 112 random bits, with a MAC over both, the ceremony, and the browser that got it.
extension PasskeyService {
  enum Ceremony: String, Sendable { case creation, request }

  /// Twice the time that browsers are told: their clock starts later.
  private static let life = RelyingParty.usualTimeout * 2
  private static let timeSize = 6
  private static let macSize = 12

  /// - Parameter browser: what only that browser knows, or ``app``.
  func challenge(for ceremony: Ceremony, boundTo browser: String) throws(AccountError) -> PasskeyChallenge {
    let expiry = UInt64(max(0, clock.now.advanced(by: PasskeyService.life).milliseconds))
    var bytes = stride(from: 8 * (PasskeyService.timeSize - 1), through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: expiry >> UInt64($0))
    }
    bytes += randomBytes(PasskeyChallenge.size - PasskeyService.macSize - bytes.count)
    guard let challenge = PasskeyChallenge(bytes + mac(bytes, ceremony, browser)) else { throw .passkey(.invalid) }
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
