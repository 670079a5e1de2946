#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// A way and a place of sign-ins that were refused.
struct RefusedSignIn: Hashable, Sendable {
  var way: SignInWay
  var account: AccountID?
  var network: String?
}

/// Proofs of the owner other than a password.
extension AccountService {
  /// Verifies an authenticator's answer, and lets `work` record its use in the write that it makes; again if the passkey was used
  /// elsewhere at the same time. The audit log gets a refusal.
  ///
  /// - Throws: ``PasskeyService/VerificationError``, ``ProblemError/accountDisabled``, `rate_limited`, `not_offered`, and the errors
  ///   of `work`.
  func verify<Result>(
    passkey answer: String, boundTo browser: String, as account: AccountID? = nil, mayRepeat: Bool = false,
    _ caller: Caller, _ work: (CredentialUse) async throws -> Result
  ) async throws -> Result {
    guard let passkeys else { throw ProblemError.noPasskeys }
    try limits.take(.passwords, from: caller.client, .own)
    do {
      for _ in 0..<PasskeyService.attempts {
        let use = try await passkeys.verify(
          answer, boundTo: browser, as: account, mayRepeat: mayRepeat, caller.logger)
        do { return try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
      }
      throw PasskeyService.VerificationError.expired
    } catch let refusal as PasskeyService.VerificationError {
      await note(refused: .passkey, of: account, because: "\(refusal)", caller)
      throw refusal
    }
  }

  /// Verifies a recovery code as it was typed, and lets `work` record its use in the write that it makes; again if another code
  /// of the account was used at the same time. The audit log gets a refusal.
  ///
  /// - Parameter device: the name of the device that it is used on.
  /// - Returns: the result of `work`; `nil` if the account has no such code.
  /// - Throws: `rate_limited`, and the errors of `work`.
  func verify<Result>(
    recoveryCode typed: String, of address: String, on device: String, _ caller: Caller,
    _ work: (CredentialUse) async throws -> Result
  ) async throws -> Result? {
    try limits.take(.codes, from: caller.client, .own)
    guard let email = EmailAddress(composed: address), let code = RecoveryCode(typed: typed) else { return nil }
    let none = AccountRecord(id: AccountID(""), email: nil, username: "", passwordHash: nil, createdAt: clock.now)
    for _ in 0..<2 {
      let account = try await registry.account(email: email)
      // Without an account, the same work as for one without codes.
      let use = try await owned(caller).credentialUse(for: code, account: account ?? none, on: device, now: clock.now)
      guard let use else {
        await note(refused: .recoveryCode, of: account?.id, because: "unknown", caller)
        return nil
      }
      do { return try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
    }
    return nil
  }

  /// Returns the refusal of a mailed code, which the audit log gets.
  func refusedCode(_ caller: Caller) async -> RegistryError {
    await note(refused: .mailedCode, of: nil, because: "unknown", caller)
    return .oneTimeTokenInvalid
  }

  func note(refused way: SignInWay, of account: AccountID?, because reason: String, _ caller: Caller) async {
    let refused = RefusedSignIn(
      way: way, account: account, network: caller.client.address.map { "\($0.network)" })
    guard let count = refusals.count(refused, at: clock.now) else { return }
    do {
      // By no owner: nothing was proved.
      try await registry.acting(as: .server(from: caller.client.text)).audit(
        .signInRefused, account: account,
        details: JSONText([("way", way.rawValue), ("reason", reason), ("count", "\(count)")]).text,
        now: clock.now)
    } catch {
      caller.logger.warning("Refused sign-in not recorded in the audit log", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
