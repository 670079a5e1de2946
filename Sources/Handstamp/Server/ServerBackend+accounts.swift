public import HandstampCore

/// What Handstamp's own server offers beyond refresh. What it refuses comes as ``SessionError/refused(code:detail:)`` with its
/// code: `wrong_credentials`, `email_taken`, `weak_password`, `sign_up_closed`, `link_invalid`, `not_anonymous` and so on.
extension ServerBackend {
  /// Makes an account and signs in, unless the server wants the address confirmed first: go on with ``confirmSignUp(_:)``.
  @concurrent public func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpOutcome {
    try await outcome(
      of: send("POST", "/v1/sign-up", json: Body.signUp(email, password, username, device)))
  }

  @concurrent public func signIn(email: String, password: Secret) async throws(SessionError) -> Grant {
    try await SignInTurn.take { () async throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in", json: Body.signIn(email, password, device)))
    }
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> Grant {
    try await SignInTurn.take { () async throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in/anonymous", json: Body(device: device)))
    }
  }

  @concurrent public func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpOutcome {
    try await outcome(
      of: send("POST", "/v1/upgrade", json: Body.signUp(email, password, username, device), token: token))
  }

  /// Opens the account, or makes a full one of the guest's, for which a mail was sent.
  ///
  /// - Parameter code: what stands in the mail, or in its link.
  @concurrent public func confirmSignUp(_ code: Secret) async throws(SessionError) -> Grant {
    try await SignInTurn.take { () async throws(SessionError) in
      try await grant(
        of: send("POST", "/v1/sign-up/confirm", json: Body(device: device, token: .some(code.exposed))))
    }
  }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {
    try await check(send("POST", "/v1/password-reset", json: Body(email: email)))
  }

  /// Sets a new password with the code of a mail. Every session of the account ends; sign in afterwards.
  @concurrent public func confirmPasswordReset(
    _ code: Secret, newPassword: Secret
  ) async throws(SessionError) {
    try await check(
      send(
        "POST", "/v1/password-reset/confirm",
        json: Body(token: .some(code.exposed), new_password: newPassword.exposed)))
  }

  @concurrent public func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError) {
    try await check(
      send(
        "POST", "/v1/password", json: Body(current: old.exposed, new: new.exposed, end_others: endingOthers),
        token: token))
  }

  @concurrent public func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError) {
    try await check(send("DELETE", "/v1/me", json: Body(password: password?.exposed), token: token))
  }

  @concurrent public func endOtherSessions(token: AccessToken) async throws(SessionError) {
    try await check(send("POST", "/v1/sessions/end-others", token: token))
  }

  @concurrent public func registerPushToken(
    _ pushToken: Secret?, token: AccessToken
  ) async throws(SessionError) {
    try await check(
      send("PUT", "/v1/device/push-token", json: Body(token: .some(pushToken?.exposed)), token: token))
  }

  /// Gives one of the account's devices another name, as the list of sessions shows it.
  @concurrent public func renameDevice(
    of session: SessionID, to name: String, token: AccessToken
  ) async throws(SessionError) {
    try await check(
      send("PATCH", "/v1/sessions/\(session.rawValue)", json: Body(name: name), token: token))
  }

  private func check(_ response: TransportResponse) throws(SessionError) {
    guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
  }

  private func grant(of response: TransportResponse) throws(SessionError) -> Grant {
    try check(response)
    return try Grant(signIn: response.body)
  }

  private func outcome(of response: TransportResponse) throws(SessionError) -> SignUpOutcome {
    response.status == 202 ? .confirmationSent : .signedIn(try grant(of: response))
  }
}

/// What the JSON API is told. Only what is set is written; a token that is nothing is written as null.
private struct Body: Encodable {
  var device: ServerBackend.Device?
  var email: String?
  var password: String?
  var username: String?
  var name: String?
  var token: String??
  var current: String?
  var new: String?
  var end_others: Bool?
  var new_password: String?

  static func signIn(_ email: String, _ password: Secret, _ device: ServerBackend.Device) -> Body {
    Body(device: device, email: email, password: password.exposed)
  }

  static func signUp(
    _ email: String, _ password: Secret, _ username: String, _ device: ServerBackend.Device
  ) -> Body {
    Body(device: device, email: email, password: password.exposed, username: username)
  }
}

extension Secret {
  /// For a body that is written at once.
  fileprivate var exposed: String { withExposed { $0 } }
}
