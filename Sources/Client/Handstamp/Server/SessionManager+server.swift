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
  /// server has moved, say so: `formerly: [.server("https://old.example.org")]`. A program with several servers gives each a name.
  /// On Linux the host's name is sent to the server as the device name.
  ///
  /// - Parameters:
  ///   - url: the server's URL: `https`. Over `http`, passwords and tokens can be read in transit: only for tests.
  ///   - name: the program's name, such as `org.example.forum`: where the session and the device's ID are stored. Default: the
  ///     bundle identifier, otherwise the name of the executable.
  ///   - vault: stores the session; `nil` (the default) for the vault of the table. A program that is not signed with a keychain
  ///     entitlement passes `.sealedFile(name)`, an encrypted file.
  ///   - formerly: where an earlier version of the program kept the session, and other URLs of the server. Default: none.
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
    server url: URL, name: String = ServerBackend.programName, vault: (any Vault)? = nil, formerly: [FormerPlace] = [],
    transport: any Transport = URLSessionTransport(), policy: SessionPolicy = SessionPolicy(),
    audit: (any AuditLog)? = nil, presence: PresenceLock? = nil, cleanups: [CleanupStep] = [], logger: Logger? = nil,
    apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content = { (_: APIClient) in }
  ) {
    self.init(
      backend: ServerBackend(url, program: name, transport: transport), vault: vault ?? .standard(name),
      formerly: formerly, baseURL: url, transport: transport, policy: policy, audit: audit, presence: presence,
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
