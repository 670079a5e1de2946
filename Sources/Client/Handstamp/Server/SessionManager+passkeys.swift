public import HandstampCore

/// The passkeys of the signed-in account, at Handstamp's own server. At another they throw ``SessionError/unsupported(_:)``.
///
/// Each returns the list as it is then, so that the app can tell the device's password managers: `PasskeySheet` of HandstampUI does.
extension SessionManager {
  /// Returns the account's passkeys.
  public func passkeys() async throws(SessionError) -> PasskeyList {
    let server = try passkeyServer
    return try await working { () async throws(SessionError) in
      try await server.passkeys(token: try await controller.token())
    }
  }

  /// Adds a passkey of this device.
  ///
  /// - Parameters:
  ///   - proof: the token of ``reauthenticate(_:)``, which the server asks for some time after the sign-in.
  ///   - ask: passes the server's options to the device, and returns its answer. Both are JSON text of WebAuthn Level 3:
  ///     `PublicKeyCredentialCreationOptionsJSON` and `RegistrationResponseJSON`.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `reauthentication_required` before `ask` is called, or afterwards with
  ///   `passkey_expired` or `passkey_limit`; and what `ask` throws.
  @discardableResult
  public func addPasskey(
    proof: AccessToken? = nil, asking ask: PasskeyPrompt
  ) async throws(SessionError) -> PasskeyList {
    let server = try passkeyServer
    return try await working { () async throws(SessionError) in
      let token = try await controller.token()
      return try await server.addPasskey(asking: ask, token: proof ?? token)
    }
  }

  /// Removes a passkey. One that is gone already is no error.
  ///
  /// - Parameters:
  ///   - id: ``PasskeyList/Passkey/id``.
  ///   - proof: as for ``addPasskey(proof:asking:)``.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `reauthentication_required`, or with `passkey_last` if it is the only way
  ///   into the account.
  @discardableResult
  public func removePasskey(_ id: String, proof: AccessToken? = nil) async throws(SessionError) -> PasskeyList {
    let server = try passkeyServer
    return try await working { () async throws(SessionError) in
      let token = try await controller.token()
      return try await server.removePasskey(id, token: proof ?? token)
    }
  }

  package var passkeyServer: ServerBackend {
    get throws(SessionError) {
      guard let server else { throw .unsupported("passkeys") }
      return server
    }
  }
}
