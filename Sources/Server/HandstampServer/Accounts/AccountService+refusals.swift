#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// Sign-ins that were refused alike.
struct RefusedSignIn: Hashable, Sendable {
  var way: SignInWay
  var reason: String
  var account: AccountID?
  var network: String?
}

/// Proofs of the owner other than a password.
extension AccountService {
  /// Verifies an authenticator's answer, and lets `work` record its use in the write that it makes; again if the passkey was used
  /// elsewhere at the same time. The audit log gets a refusal.
  ///
  /// - Throws: ``AccountError/passkey(_:)``, ``AccountError/disabled``, `rate_limited`, `not_offered`, and the errors
  ///   of `work`.
  func verify<Result>(
    passkey answer: String, boundTo browser: String, as account: AccountID? = nil, mayRepeat: Bool = false,
    _ caller: Caller, _ work: (CredentialUse) async throws -> Result
  ) async throws -> Result {
    guard let passkeys else { throw AccountError.notOffered(.passkeys) }
    try limits.take(.passwords, from: caller.client, .own)
    do {
      for _ in 0..<PasskeyService.attempts {
        let use = try await passkeys.verify(
          answer, boundTo: browser, as: account, mayRepeat: mayRepeat, caller.logger)
        do { return try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
      }
      throw AccountError.passkey(.expired)
    } catch AccountError.passkey(let refusal) {
      await note(refused: .passkey, of: account, because: "\(refusal)", caller)
      throw AccountError.passkey(refusal)
    }
  }

  /// A recovery code as it was typed, with the other proof that it may need.
  struct TypedRecovery: Sendable {
    var code: String
    var email: String
    var password: Secret?
    var mailed: Secret?
  }

  /// The result of a recovery code.
  enum Recovery<Value> {
    case done(Value)
    /// The account has no such code.
    case unknown
    /// The code is right, and was not used: another proof has to be beside it.
    case incomplete(AccountRecord)
  }

  /// Verifies a recovery code, and lets `work` record its use in the write that it makes; again if another code of the account was used
  /// at the same time. The audit log gets a refusal.
  ///
  /// Where the operator requires a second factor, or the account has an authenticator app, it takes a password or a mailed code as well
  /// (NIST SP 800-63B-4 section 4.2.2), unless the account can have neither.
  ///
  /// - Throws: ``AccountError/wrongCredentials`` for the password, ``RegistryError/oneTimeTokenInvalid`` for the mailed code,
  ///   `rate_limited`, and the errors of `work`.
  func verify<Value>(
    _ typed: TypedRecovery, on browser: DeviceInfo, _ caller: Caller, _ work: (CredentialUse) async throws -> Value
  ) async throws -> Recovery<Value> {
    guard let email = EmailAddress(composed: typed.email), let code = RecoveryCode(typed: typed.code) else {
      return .unknown
    }
    try limits.take(.codes, from: caller.client, .own)
    let none = AccountRecord(id: AccountID(""), email: nil, username: "", passwordHash: nil, createdAt: clock.now)
    for _ in 0..<2 {
      var account = try await registry.account(email: email)
      var other: CredentialUse?
      if let password = typed.password {
        let owner = try await accounts.account(
          PasswordAttempt(email: email, password: password, device: browser.id, caller: caller))
        (account, other) = (owner, .password(of: owner))
      } else if let mailed = typed.mailed {
        guard let token = token(mailed),
          let use = try await registry.credentialUse(byMailed: token, now: clock.now), use.account.id == account?.id
        else { throw await refusedCode(caller) }
        other = use
      }
      // Without an account, the same work as for one without codes.
      let use = try await owned(caller).credentialUse(
        for: code, account: account ?? none, on: browser.name, now: clock.now)
      guard let use else {
        await note(refused: .recoveryCode, of: account?.id, because: "unknown", caller)
        return .unknown
      }
      let isProtected =
        if try await hasApp(use.account) { true } else { try await requiredContext(of: use.account) != nil }
      let canHaveOther = use.account.passwordHash != nil || outbox.hasMailer
      if isProtected, canHaveOther, other == nil { return .incomplete(use.account) }
      do {
        return .done(try await work(isProtected ? use.beside(other, now: clock.now) : use))
      } catch RegistryError.oneTimeTokenInvalid { continue }
    }
    return .unknown
  }

  /// Mails a code that counts beside a recovery code, which has to be right.
  func mailRecovery(_ typed: TypedRecovery, on browser: DeviceInfo, _ caller: Caller) async throws -> EmailAddress? {
    let typed = TypedRecovery(code: typed.code, email: typed.email)
    guard case .incomplete(let account) = try await verify(typed, on: browser, caller, { _ in }),
      let email = account.email
    else { return nil }
    try limits.take(.mails, from: caller.client, about: email.normalized)
    try await outbox.add(.ownerProof(email, isRecovery: true), to: email, by: caller)
    return email
  }

  /// Returns the refusal of a mailed code, which the audit log gets.
  func refusedCode(_ caller: Caller) async -> RegistryError {
    await note(refused: .mailedCode, of: nil, because: "unknown", caller)
    return .oneTimeTokenInvalid
  }

  func note(refused way: SignInWay, of account: AccountID?, because reason: String, _ caller: Caller) async {
    let refused = RefusedSignIn(
      way: way, reason: reason, account: account, network: caller.client.address.map { "\($0.network)" })
    guard let count = refusals.count(refused, at: clock.now) else { return }
    await record(refused, count, from: caller.client.text, caller.logger)
  }

  /// Writes an entry for so many refusals to the audit log. They are by no owner: nothing was proved.
  func record(_ refused: RefusedSignIn, _ count: Int, from address: String?, _ logger: Logger) async {
    let details = JSONText([("way", refused.way.rawValue), ("reason", refused.reason), ("count", "\(count)")])
    do {
      try await registry.acting(as: .server(from: address)).audit(
        .signInRefused, account: refused.account, details: details.text, now: clock.now)
    } catch {
      logger.warning("Refused sign-in not recorded in the audit log", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
