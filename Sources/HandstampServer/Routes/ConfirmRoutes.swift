#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// Answers 202 for every address. Whether the address has an account is looked up after the response: either a mail with a
  /// one-time token, or one saying that there is an account, goes to that mailbox.
  func confirmationSent(
    to body: SignUpBody, _ context: ServerContext,
    _ issue: @escaping @Sendable (_ hash: Secret, _ now: UnixTime) async throws(RegistryError) -> OneTimeToken
  ) async throws -> Response {
    guard Mailbox(body.email) != nil else {
      throw Problem.invalidRequest("email: mail cannot be sent to this address.")
    }
    let hash = try await hashing { () throws(PasswordPool.Busy) in try await passwords.hash(body.password) }
    let (email, now) = (body.email, self.now())
    try later {
      guard desk.mayWrite("sign-up", to: email, now: now) else { return }
      do throws(RegistryError) {
        if try await registry.account(email: email) != nil {
          await write(.known, to: email, nil)
        } else {
          await write(.confirm, to: email, try await issue(hash, now))
        }
      } catch {
        report(error, context)
      }
    }
    return .sent("confirmation_sent")
  }

  /// `POST /v1/sign-up/confirm`: redeems a mailed one-time token: creates the account or upgrades the guest account, and
  /// signs in.
  @concurrent func confirmSignUp(_ request: Request, _ context: ServerContext) async throws -> Response {
    let body = try await request.json(as: ConfirmBody.self, upTo: configuration.bodyLimit)
    guard let token = OneTimeToken(presented: body.token) else { throw Problem.oneTimeTokenInvalid }
    return try await begin(status: .created, context) { now throws(RegistryError) in
      try await registry.confirm(token, device: body.device, now: now)
    }
  }

  /// `POST /v1/password-reset`: answers 202 for every address, and sends a mail if there is a password to reset.
  @concurrent func requestReset(_ request: Request, _ context: ServerContext) async throws -> Response {
    let body = try await request.json(as: ResetBody.self, upTo: configuration.bodyLimit)
    let (email, now) = (body.email, self.now())
    try later {
      guard desk.mayWrite("reset", to: email, now: now) else { return }
      do throws(RegistryError) {
        guard let account = try await registry.account(email: email), account.closedAt == nil else { return }
        // Use the account's spelling of the address, which was confirmed.
        guard let known = account.email else { return }
        await write(.reset, to: known, try await registry.beginReset(of: account, now: now))
      } catch {
        report(error, context)
      }
    }
    return .sent("mail_sent")
  }

  /// `POST /v1/password-reset/confirm`: sets the password and ends every session of the account.
  @concurrent func confirmReset(_ request: Request, _ context: ServerContext) async throws -> Response {
    let body = try await request.json(as: ResetConfirmBody.self, upTo: configuration.bodyLimit)
    try PasswordRule.check(new: body.password)
    guard let token = OneTimeToken(presented: body.token) else { throw Problem.oneTimeTokenInvalid }
    let place = try admitted()
    let isGood: Bool
    do throws(RegistryError) {
      isGood = try await registry.isGood(token, for: .passwordReset, now: now())
    } catch {
      throw problem(error, context)
    }
    // Do not spend a hash on guesses.
    guard isGood else { throw Problem.oneTimeTokenInvalid }
    let hash = try await hashing { () throws(PasswordPool.Busy) in try await place.hash(body.password) }
    try await end(context) { now throws(RegistryError) in
      try await registry.resetPassword(with: token, hash: hash, now: now)
    }
    metrics.update { $0.passwordChanges += 1 }
    return .nothing
  }
}

extension Response {
  /// 202: the work continues after the response.
  fileprivate static func sent(_ status: String) -> Response {
    var json = JSONText()
    json.add("status", status)
    return .json(json, status: .accepted)
  }
}
#endif
