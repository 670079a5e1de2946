#if Server
import Crypto
import HandstampCore
import HandstampRegistry
import HandstampWebAuthn
import Logging

/// Creates passkeys, and signs in with them (WebAuthn Level 2).
struct PasskeyService: Sendable {
  /// The reason why a passkey was not accepted, as far as it is the user's business.
  enum VerificationError: Error, Sendable, Hashable {
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
  private static let attempts = 4

  let party: RelyingParty
  let registry: Registry
  let clock: ServerClock
  private var challenges: PasskeyChallenges { PasskeyChallenges(mint: registry.mint) }

  // MARK: Creation

  /// Returns `PublicKeyCredentialCreationOptionsJSON` for an account.
  func creationOptions(for account: AccountRecord, boundTo browser: String) async throws -> [UInt8] {
    let handle = try PasskeyService.handle(of: account.id)
    guard let challenge = challenges.new(for: .creation, boundTo: browser, at: clock.now) else {
      throw VerificationError.invalid
    }
    let former = try await registry.passkeys(of: account.id).compactMap { try? $0.passkey }
    let user = PasskeyUser(
      handle: handle, name: account.email?.typed ?? account.shownName, displayName: account.shownName)
    return party.registrationOptions(for: user, challenge: challenge, excluding: former)
  }

  /// Adds the passkey of an authenticator's answer to a user's account.
  ///
  /// - Parameters:
  ///   - answer: `RegistrationResponseJSON`.
  ///   - browser: what the options were bound to.
  ///   - fallback: its name if the model of the authenticator is not known.
  /// - Throws: ``VerificationError``, ``RegistryError/accountChanged``.
  func add(
    _ answer: String, boundTo browser: String, by user: BrowserSession, orNamed fallback: String, _ logger: Logger
  ) async throws -> PasskeyRecord {
    let now = clock.now
    let passkey: Passkey
    let (challenge, expiry): (PasskeyChallenge, UnixTime)
    do throws(PasskeyError) {
      let response = try RegistrationResponse(Array(answer.utf8))
      (challenge, expiry) = try genuine(response.claimedChallenge, .creation, browser, now)
      passkey = try party.verifyRegistration(
        response, challenge: challenge, user: try PasskeyService.handle(of: user.account.id))
    } catch { throw refusal(error, logger) }
    let name = AuthenticatorModel.name(of: passkey.aaguid) ?? fallback
    let record = PasskeyRecord(passkey, of: user.account.id, name: name, at: now)
    guard try await registry.passkeys(of: user.account.id).count < PasskeyRecord.most else {
      throw VerificationError.tooMany
    }
    guard try await registry.addPasskey(record, by: user, challenge: challenge.bytes, until: expiry, now: now) else {
      throw VerificationError.expired
    }
    return record
  }

  // MARK: Sign-in

  /// Returns `PublicKeyCredentialRequestOptionsJSON`. They name no passkeys, so they tell nothing about accounts.
  func requestOptions(boundTo browser: String) throws(VerificationError) -> [UInt8] {
    guard let challenge = challenges.new(for: .request, boundTo: browser, at: clock.now) else { throw .invalid }
    return party.assertionOptions(challenge: challenge)
  }

  /// Verifies an authenticator's answer, and lets `work` record its use in the write that it makes; again if the passkey was used
  /// elsewhere at the same time.
  ///
  /// - Parameters:
  ///   - answer: a reading of `AuthenticationResponseJSON`.
  ///   - account: the account whose owner proves it again; `nil` to find the account.
  ///   - mayRepeat: whether an answer that was used before is verified as well. `work` must then refuse to use it again.
  /// - Throws: ``VerificationError``, and what `work` throws.
  func signIn<Result>(
    _ answer: [UInt8], boundTo browser: String, as account: AccountID? = nil, mayRepeat: Bool = false,
    _ logger: Logger, _ work: (CredentialUse) async throws -> Result
  ) async throws -> Result {
    for _ in 0..<PasskeyService.attempts {
      let use = try await use(answer, boundTo: browser, as: account, mayRepeat: mayRepeat, logger)
      do { return try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
    }
    throw VerificationError.expired
  }

  private func use(
    _ answer: [UInt8], boundTo browser: String, as account: AccountID?, mayRepeat: Bool, _ logger: Logger
  ) async throws -> CredentialUse {
    let now = clock.now
    let response: AssertionResponse
    let (challenge, expiry): (PasskeyChallenge, UnixTime)
    do throws(PasskeyError) {
      response = try AssertionResponse(answer)
      (challenge, expiry) = try genuine(response.claimedChallenge, .request, browser, now)
    } catch { throw refusal(error, logger) }
    let isUsed = try await registry.hasUsed(challenge: challenge.bytes)
    guard !isUsed || mayRepeat else { throw VerificationError.expired }
    guard var record = try await registry.passkey(response.credentialID.text) else { throw VerificationError.unknown }
    // The counter of this answer is stored already.
    if isUsed { record.signCount = 0 }
    let outcome: AssertionOutcome
    do throws(PasskeyError) {
      guard let passkey = try? record.passkey else { throw .wrongPasskey }
      let user = try account.map { account throws(PasskeyError) in
        AssertionUser.known(try PasskeyService.handle(of: account), allowed: [])
      }
      outcome = try party.verifyAssertion(response, challenge: challenge, passkey: passkey, user: user ?? .unknown)
    } catch { throw refusal(error, logger) }
    switch outcome {
    case .verified(let passkey):
      record.signCount = passkey.signCount
      record.isBackedUp = passkey.isBackedUp
    case .clonedAuthenticator(_, let received):
      try await registry.recordRefusal(record, received: received, now: now)
      logger.warning(
        "Passkey refused: its counter did not go up, so it may have been copied",
        metadata: ["handstamp.account": "\(record.account)"])
      throw VerificationError.invalid
    }
    guard
      let use = try await registry.credentialUse(for: record, challenge: challenge.bytes, until: expiry, now: now)
    else { throw ProblemError.accountDisabled }
    return use
  }

  // MARK: Verification

  private func genuine(
    _ claimed: PasskeyChallenge?, _ ceremony: PasskeyChallenges.Ceremony, _ browser: String, _ now: UnixTime
  ) throws(PasskeyError) -> (PasskeyChallenge, UnixTime) {
    guard let claimed, let expiry = challenges.expiry(of: claimed, for: ceremony, boundTo: browser, at: now) else {
      throw .wrongChallenge
    }
    return (claimed, expiry)
  }

  private func refusal(_ error: PasskeyError, _ logger: Logger) -> VerificationError {
    switch error {
    case .wrongChallenge: return .expired
    case .userNotVerified, .userNotPresent: return .notVerified
    // The operator's settings, mostly.
    case .wrongOrigin, .wrongRelyingParty:
      logger.warning("Passkey refused", metadata: ["handstamp.cause": "\(error)"])
      return .invalid
    default:
      logger.info("Passkey refused", metadata: ["handstamp.cause": "\(error)"])
      return .invalid
    }
  }

  /// The name of an account to authenticators, which does not change.
  fileprivate static func handle(of account: AccountID) throws(PasskeyError) -> UserHandle {
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

  /// The stored passkey.
  ///
  /// - Throws: if it cannot be read, as one that a later version has stored.
  fileprivate var passkey: Passkey {
    get throws {
      guard let id = CredentialID(text: id) else { throw PasskeyService.VerificationError.unknown }
      return Passkey(
        id: id, publicKey: try COSEKey(publicKey), userHandle: try PasskeyService.handle(of: account),
        signCount: signCount,
        isBackupEligible: isBackupEligible, isBackedUp: isBackedUp, transports: transports)
    }
  }
}
#endif
