#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The authenticator app of an account: a second factor beside its password. A passkey needs none.
extension AccountService {
  /// Runs `work` for the owner of an account whose password was right, after the second factor that the account asks for.
  ///
  /// - Parameters:
  ///   - code: the one-time password, if there was one.
  ///   - device: the device that it was typed on.
  ///   - repeated: what an earlier request with the same code has begun; `nil` if there was none.
  ///   - work: records the use in the write that it makes: of the password alone if the account has no app.
  /// - Throws: ``ProblemError/secondFactorRequired`` without a code, ``ProblemError/secondFactorWrong``, `rate_limited`.
  func withSecondFactor<Value>(
    of account: AccountRecord, code: Secret?, on device: DeviceID?, _ caller: Caller,
    repeated: () async throws -> Value? = { nil }, _ work: (CredentialUse) async throws -> Value
  ) async throws -> Value {
    guard try await registry.totp(of: account.id) != nil else { return try await work(.password(of: account)) }
    guard let email = account.email, let code, !code.isEmpty else { throw ProblemError.secondFactorRequired }
    // No attempt, which would count.
    guard !code.withExposed({ TOTPSecret.digits(of: $0) }).isEmpty else { throw ProblemError.secondFactorWrong }
    let attempt = PasswordAttempt(email: email, password: code, device: device, caller: caller)
    var value: Value?
    let fits = try await passwordGuard.check(attempt, for: account.id, isCode: true, at: clock.now) { _ in
      // Again if the record was changed at the same time.
      for _ in 0..<2 {
        guard let record = try await registry.totp(of: account.id) else { throw RegistryError.accountChanged }
        let time = clock.read()
        switch try await registry.check(
          totp: code.withExposed { $0 }, of: account, record, now: time.now, or: time.wall)
        {
        case .use(let use):
          do { value = try await work(use) } catch RegistryError.oneTimeTokenInvalid { continue }
        case .used: value = try await repeated()
        case .wrong: return false
        }
        return value != nil
      }
      return false
    }
    guard fits, let value else {
      await note(refused: .passwordAndCode, of: account.id, because: "code", caller)
      throw ProblemError.secondFactorWrong
    }
    return value
  }

  /// The same for a signed-in owner.
  func withSecondFactor<Value>(
    of owner: Owner, code: Secret?, _ work: (CredentialUse) async throws -> Value
  ) async throws -> Value {
    let device = try await registry.session(owner.session, now: clock.now)?.device.id
    do {
      return try await withSecondFactor(of: owner.account, code: code, on: device, owner.caller, work)
    } catch let problem as ProblemError where problem.status == .unauthorized { throw problem.forSignedInUser }
  }

  /// Begins to set up an authenticator app.
  ///
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``, `not_offered`.
  func newTOTP(of owner: Owner) async throws -> TOTPSetup {
    try await require(.addApp, of: owner)
    try requirePassword(owner)
    return try registry.newTOTP(in: owner.session, now: clock.now)
  }

  /// Adds an authenticator app that shows the right code. In a session of a recovery code, it replaces the one that was lost.
  ///
  /// - Returns: `false` if the code is wrong, or there is an app.
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``, `not_offered`, `rate_limited`.
  func addTOTP(_ setup: TOTPSetup, code: String, of owner: Owner) async throws -> Bool {
    try await require(.addApp, of: owner)
    try requirePassword(owner)
    guard !TOTPSecret.digits(of: code).isEmpty else { return false }
    try limits.take(.codes, from: owner.caller.client)
    let isAdded = try await changing(owner) { record in
      let time = clock.read()
      return try await owned(owner.caller).addTOTP(
        setup, code: code, to: record, in: owner.session, replacing: owner.methods.isRecovering, now: time.now,
        or: time.wall)
    }
    if isAdded { recorder.announceChange(owner.account.id) }
    return isAdded
  }

  /// - Returns: whether there was one.
  /// - Throws: ``ProblemError/reauthenticationRequired(_:)``.
  func removeTOTP(of owner: Owner) async throws -> Bool {
    try await require(.removeApp, of: owner)
    let isRemoved = try await owned(owner.caller).removeTOTP(of: owner.account.id, in: owner.session, now: clock.now)
    recorder.announceChange(owner.account.id)
    return isRemoved
  }

  /// Without recovery codes, which come with passkeys, a lost device would be the end of the account.
  private func requirePassword(_ owner: Owner) throws(ProblemError) {
    guard passkeys != nil, owner.account.passwordHash != nil, owner.account.email != nil else {
      throw .notOffered("An authenticator app is for accounts with a password")
    }
  }
}

extension ProblemError {
  /// Only after the right password.
  static let secondFactorRequired = ProblemError(
    .unauthorized, "second_factor_required", "The account asks for a second factor",
    detail: "Send the request again with the code of the authenticator app as `code`, or sign in with a passkey.",
    headers: [.wwwAuthenticate: "Bearer"])

  static let secondFactorWrong = ProblemError(
    .unauthorized, "second_factor_wrong", "The code is wrong, or was used before",
    detail: "Wait for the next code, and check the device's clock.", headers: [.wwwAuthenticate: "Bearer"])

  /// The error for a signed-in user: the access token is valid, so the status is not 401.
  var forSignedInUser: ProblemError {
    var problem = self
    (problem.status, problem.headers[.wwwAuthenticate]) = (.forbidden, nil)
    return problem
  }
}
#endif
