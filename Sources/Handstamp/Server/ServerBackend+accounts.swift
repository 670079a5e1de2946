public import HandstampCore

/// The account functions of Handstamp's own server. A refusal throws ``SessionError/refused(code:detail:)`` with the server's
/// code: `wrong_credentials`, `email_taken`, `weak_password`, `sign_up_closed`, `link_invalid`, `not_anonymous` and so on.
extension ServerBackend {
  /// Creates an account and signs in, unless the server requires the address to be confirmed first: continue with
  /// ``confirmSignUp(_:password:)``. The password is then not used yet.
  ///
  /// - Parameter username: the display name, ``Profile/name``. The user signs in with the email address.
  @concurrent public func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse {
    let claim = SignInClaim(.signUp, as: email)
    return try await SignInTurn.exchange(by: claim, for: "sign-up \(email)") { key throws(SessionError) in
      try await outcome(
        of: send(
          "POST", "/v1/sign-up",
          json: Body(device: device, email: email, password: password.exposed, username: username).keyed(key)))
    }
  }

  @concurrent public func signIn(email: String, password: Secret) async throws(SessionError) -> TokenResponse {
    try await signIn(email: email, password: password, code: nil)
  }

  /// Signs in with an address and a password.
  ///
  /// - Parameter code: the code of an authenticator app, after a sign-in was refused with `second_factor_required`.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials`, with `second_factor_required` if the account has such an
  ///   app, or with `second_factor_wrong` if the code is wrong or was used before.
  @concurrent public func signIn(
    email: String, password: Secret, code: Secret?
  ) async throws(SessionError) -> TokenResponse {
    let claim = SignInClaim(.password, as: email)
    return try await SignInTurn.exchange(by: claim, for: "sign-in \(email)") { key throws(SessionError) in
      var body = Body(device: device, email: email, password: password.exposed).keyed(key)
      body.code = code?.exposed
      return try await grant(of: send("POST", "/v1/sign-in", json: body))
    }
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> TokenResponse {
    try await SignInTurn.exchange(by: SignInClaim(.guest), for: "anonymous") { key throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in/anonymous", json: Body(device: device).keyed(key)))
    }
  }

  @concurrent public func upgrade(
    email: String, password: Secret, username: String, token: AccessToken
  ) async throws(SessionError) -> SignUpResponse {
    let claim = SignInClaim(.upgrade, as: email)
    return try await SignInTurn.exchange(by: claim, for: "upgrade \(email)") { key throws(SessionError) in
      try await outcome(
        of: send(
          "POST", "/v1/upgrade",
          json: Body(device: device, email: email, password: password.exposed, username: username).keyed(key),
          token: token))
    }
  }

  /// Completes a sign-up or an upgrade that was confirmed by mail, sets the account's password, and signs in.
  ///
  /// - Parameters:
  ///   - code: the code in the mail, or in its link.
  ///   - password: the password of the account.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `link_invalid` if the code is unknown, used or expired, or with
  ///   `weak_password`; then the code stays valid.
  @concurrent public func confirmSignUp(
    _ code: Secret, password: Secret
  ) async throws(SessionError) -> TokenResponse {
    let claim = SignInClaim(.signUp)
    return try await SignInTurn.exchange(by: claim, for: "confirm \(code.exposed)") { key throws(SessionError) in
      try await grant(
        of: send(
          "POST", "/v1/sign-up/confirm",
          json: Body(device: device, password: password.exposed, token: .some(code.exposed)).keyed(key)))
    }
  }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {
    try await check(send("POST", "/v1/password-reset", json: Body(email: email)))
  }

  /// Sets a new password with the code of a mail. Ends every session of the account; sign in afterwards.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `link_invalid` or `weak_password`.
  @concurrent public func confirmPasswordReset(
    _ code: Secret, newPassword: Secret
  ) async throws(SessionError) {
    try await check(
      send(
        "POST", "/v1/password-reset/confirm",
        json: Body(token: .some(code.exposed), new_password: newPassword.exposed)))
  }

  /// Changes the account's password.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` if `old` is wrong. With `second_factor_required` or
  ///   `reauthentication_required` the account asks for a stronger proof: call ``reauthenticate(password:code:token:)`` or
  ///   ``reauthenticate(withPasskey:token:)``, then repeat with its token. The same holds for ``deleteAccount(password:token:)``.
  @concurrent public func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, token: AccessToken
  ) async throws(SessionError) {
    try await changePassword(from: old, to: new, endingOthers: endingOthers, code: nil, token: token)
  }

  /// - Parameter code: the code of an authenticator app.
  @concurrent package func changePassword(
    from old: Secret, to new: Secret, endingOthers: Bool, code: Secret?, token: AccessToken
  ) async throws(SessionError) {
    var body = Body(current: old.exposed, new: new.exposed, end_others: endingOthers)
    body.code = code?.exposed
    try await check(send("POST", "/v1/password", json: body, token: token))
  }

  @concurrent public func deleteAccount(password: Secret?, token: AccessToken) async throws(SessionError) {
    try await deleteAccount(password: password, code: nil, token: token)
  }

  /// - Parameter code: the code of an authenticator app.
  @concurrent package func deleteAccount(
    password: Secret?, code: Secret?, token: AccessToken
  ) async throws(SessionError) {
    var body = Body(password: password?.exposed)
    body.code = code?.exposed
    try await check(send("DELETE", "/v1/me", json: body, token: token))
  }

  /// Proves that the user is the account's owner.
  ///
  /// - Parameter code: the code of an authenticator app, if the account has one.
  /// - Returns: another access token of the same session, which for a while may end the account's other sessions. The session
  ///   keeps its own tokens, which may not.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` if the password is wrong, with `second_factor_required` or
  ///   `second_factor_wrong` for the code.
  @concurrent public func reauthenticate(
    password: Secret, code: Secret? = nil, token: AccessToken
  ) async throws(SessionError) -> AccessToken {
    var body = Body(password: password.exposed)
    body.code = code?.exposed
    return try AccessToken(
      reauthentication: try await send("POST", "/v1/reauthenticate", json: body, token: token))
  }

  /// Ends every session of the account but the token's own.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `reauthentication_required` if the sign-in was too long ago: call
  ///   ``reauthenticate(password:code:token:)``, then repeat with its token.
  @concurrent public func endOtherSessions(token: AccessToken) async throws(SessionError) {
    try await endOtherSessions(password: nil, token: token)
  }

  @concurrent public func registerPushToken(
    _ pushToken: Secret?, token: AccessToken
  ) async throws(SessionError) {
    try await check(
      send("PUT", "/v1/device/push-token", json: Body(token: .some(pushToken?.exposed)), token: token))
  }

  /// Renames one of the account's devices, as the list of sessions shows it.
  @concurrent public func renameDevice(
    of session: SessionID, to name: String, token: AccessToken
  ) async throws(SessionError) {
    try await check(send("PATCH", try path(of: session), json: Body(name: name), token: token))
  }

  func check(_ response: TransportResponse) throws(SessionError) {
    guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
  }

  func grant(of response: TransportResponse) throws(SessionError) -> TokenResponse {
    try check(response)
    return try TokenResponse(signIn: response.body)
  }

  private func outcome(of response: TransportResponse) throws(SessionError) -> SignUpResponse {
    response.status == 202 ? .confirmationSent : .signedIn(try grant(of: response))
  }
}

extension ServerBackend {
  /// The body of a request to the JSON API. Only members that are set are written; a token that is `.some(nil)` is written as
  /// null.
  struct Body: Encodable {
    var device: Device?
    var email: String?
    var password: String?
    var username: String?
    var name: String?
    var token: String??
    var current: String?
    var new: String?
    var end_others: Bool?
    var new_password: String?
    var rotation_key: String?
    var code: String?
    var id_token: String?
    var nonce: String?
    var passkey: String?

    /// Adds the key with which the request can be repeated.
    func keyed(_ key: RotationKey) -> Body {
      var body = self
      body.rotation_key = key.wireText.exposed
      return body
    }
  }
}

extension ServerBackend.Body {
  /// The password as the proof of one request; `nil` without one.
  init?(proof password: Secret?) {
    guard let password else { return nil }
    self.init(password: password.exposed)
  }
}

extension Secret {
  /// The text, for a body that is sent at once.
  fileprivate var exposed: String { withExposed { $0 } }
}
