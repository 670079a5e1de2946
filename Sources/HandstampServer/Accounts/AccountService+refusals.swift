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
        let use = try await passkeys.use(
          of: answer, boundTo: browser, as: account, mayRepeat: mayRepeat, caller.logger)
        do { return try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
      }
      throw PasskeyService.VerificationError.expired
    } catch let refusal as PasskeyService.VerificationError {
      await note(refused: .passkey, of: account, because: "\(refusal)", caller)
      throw refusal
    }
  }

  /// Returns the use of a recovery code; `nil` if there is no such code. The audit log gets a refusal.
  func use(
    of code: RecoveryCode, account: AccountRecord?, on device: String, _ caller: Caller
  ) async throws -> CredentialUse? {
    // Without an account, the same work as for one without codes.
    let record =
      account
      ?? AccountRecord(id: AccountID(""), email: nil, username: "", passwordHash: nil, createdAt: clock.now)
    if let use = try await owned(caller).credentialUse(for: code, account: record, on: device, now: clock.now) {
      return use
    }
    await note(refused: .recoveryCode, of: account?.id, because: "unknown", caller)
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
