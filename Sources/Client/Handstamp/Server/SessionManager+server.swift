public import Foundation
public import HandstampCore
public import Logging

/// A session at Handstamp's own server.
extension SessionManager {
  /// Creates the session object for the server at `url`, and begins to restore the session from the platform's vault.
  ///
  /// ```swift
  /// let session = SessionManager(server: url) { api in try await api.get("/v1/me", as: Me.self) }
  /// try await session.signIn(email: "ada@example.org", password: "correct horse")
  /// ```
  ///
  /// | platform | vault |
  /// |---|---|
  /// | Apple | the keychain, service `name` |
  /// | Linux | `$XDG_STATE_HOME/<name>/vault`, by default `~/.local/state/<name>/vault` |
  ///
  /// The place depends on `name` alone, and holds one session, whatever initializer names it; processes with the same `name` share
  /// it. The session knows its server: with another `url` it is ``VaultError/otherServer(_:)``, and its tokens are not sent. If the
  /// server has moved, say so: `earlier: [.server("https://old.example.org")]`. A program with several servers gives each a name.
  /// On Linux the host's name is sent to the server as the device name.
  ///
  /// - Parameters:
  ///   - url: the server's URL: `https`. Over `http`, passwords and tokens can be read in transit: only for tests.
  ///   - name: the program's name, such as `org.example.forum`: where the session and the device's ID are stored. Default: the
  ///     bundle identifier, otherwise the name of the executable.
  ///   - vault: stores the session; `nil` (the default) for the vault of the table. A program that is not signed with a keychain
  ///     entitlement passes `.sealedFile(name)`, an encrypted file.
  ///   - earlier: where an earlier version of the program kept the session, and other URLs of the server. Default: none.
  ///   - transport: sends the requests of the backend and of ``api``.
  ///   - policy: when to refresh, how to retry, when the session ends on its own.
  ///   - audit: records the session's events, in order, such as `.standard(name)` in a file beside the platform's vault, or the
  ///     ``FileAuditLog`` of `vault`; `nil` (the default) for none.
  ///   - presence: the lock that guards the tokens; `nil` makes them available to any caller.
  ///   - cleanups: the steps that erase the app's data when a session ends, beside those that every session has, see ``SignOutPlan``.
  ///   - logger: gets one line for every decision; `nil` for none. No line contains a secret.
  ///   - apiOptions: coders, headers and retries of ``api``.
  ///   - load: loads the app's content after each sign-in and each restore, once; ``refreshContent()`` repeats it. It runs
  ///     independently of the session: a slow or failing load neither delays nor ends the session. An error is shown as a
  ///     ``SessionError``; see the initializer that takes a backend. Default: loads nothing, a `SessionManager<Void>`.
  public convenience init(
    server url: URL, name: String = ServerBackend.programName, vault: (any Vault)? = nil, earlier: [EarlierPlace] = [],
    transport: any Transport = URLSessionTransport(), policy: SessionPolicy = SessionPolicy(),
    audit: (any AuditLog)? = nil, presence: PresenceLock? = nil, cleanups: [CleanupStep] = [], logger: Logger? = nil,
    apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content = { (_: APIClient) in }
  ) {
    self.init(
      backend: ServerBackend(url, program: name, transport: transport), vault: vault ?? .standard(name),
      earlier: earlier, baseURL: url, transport: transport, policy: policy, audit: audit, presence: presence,
      cleanups: cleanups, logger: logger, apiOptions: apiOptions, load: load)
  }
}

extension ServerBackend {
  /// The bundle identifier, otherwise the name of the executable.
  public static var programName: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

  /// The server at `url`, for this installation of `program`.
  init(_ url: URL, program: String, transport: any Transport) {
    let device = Device(id: .installation(of: program), name: ServerBackend.deviceName)
    self.init(baseURL: url, device: device, transport: transport)
  }

  /// The name of this device in the list of devices: the platform on Apple platforms, the host name elsewhere.
  package static var deviceName: String {
    #if canImport(Darwin)
    return Device.thisPlatform
    #else
    // The kernel's name; other functions may use the network.
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return Device.thisPlatform }
    let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.isEmpty ? Device.thisPlatform : text
    #endif
  }
}

extension SessionManager {
  /// Takes over the session that the app's former system has begun on this device: users stay signed in when the app moves to
  /// Handstamp's own server, which accepts the former refresh token once. Call it at each launch, until no earlier version of the app is
  /// in use.
  ///
  /// ```swift
  /// try await session.adopt(from: { try await oldRefreshToken() }, removing: { try removeOldTokens() })
  /// ```
  ///
  /// A request that got no response is repeated, also by a later launch, and gets the same session. The old token stays where it is until
  /// the new session is stored, or the server says that it is worth nothing.
  ///
  /// | when this returns or throws | the old token |
  /// |---|---|
  /// | `true`: a session is in use, this one or another | removed |
  /// | `false`: there is nothing to take over, and no session | – |
  /// | ``SessionError/sessionEnded(_:)`` with the reason: the user has to sign in, ``state`` is signed out | removed |
  /// | any other error: it is not known; the next launch tries again | kept |
  ///
  /// - Parameters:
  ///   - read: returns the former refresh token; `nil` if there is none. Throws if that is not known now, as on a locked device.
  ///   - remove: removes it. Called again at the next launch if it throws; a token that is missing is no error.
  /// - Throws: ``SessionError/storage(_:)`` if the vault or the former storage cannot be read,
  ///   ``SessionError/requestFailed(_:retryAfter:)`` without a response, ``SessionError/unsupported(_:)`` if the backend is not
  ///   Handstamp's server, or that takes over no sessions.
  @discardableResult
  public func adopt(
    from read: @escaping @Sendable () async throws -> Secret?,
    removing remove: @escaping @Sendable () async throws -> Void
  ) async throws(SessionError) -> Bool {
    guard let server = backend as? ServerBackend else { throw .unsupported("sessions of a former system") }
    switch await restoreSession() {
    case .success(.some):
      // Taken over before, or the user has signed in.
      try? await remove()
      return true
    case .failure(let error): throw error
    case .success(nil), .notInitiated, .loading: break
    }
    let token: Secret?
    do { token = try await read() } catch {
      throw .storage(
        (error as? VaultError) ?? .unavailable("the former session cannot be read: \(type(of: error))"))
    }
    guard let token else { return false }
    do throws(SessionError) {
      try await signIn(by: SignInClaim(.moved), true) { () async throws(SessionError) in
        try await server.signIn(former: token)
      }
    } catch {
      if case .sessionEnded = error { try? await remove() }
      throw error
    }
    // The session is stored. If this fails, the next launch removes it.
    try? await remove()
    return true
  }
}

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
