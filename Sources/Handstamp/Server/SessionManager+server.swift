public import Foundation
import HandstampCore
import HandstampVaults
public import Logging

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Sessions at Handstamp's own server.
extension SessionManager where Server == ServerBackend {
  /// Creates a session at the server `url` and begins to restore it from the platform's vault.
  ///
  /// ```swift
  /// let session = SessionManager(server: url) { api in try await api.get("/v1/me", as: Me.self) }
  /// try await session.signIn(email: "ada@example.org", password: "correct horse")
  /// ```
  ///
  /// | platform | vault |
  /// |---|---|
  /// | Apple | the keychain, service `name` |
  /// | Linux | `$XDG_STATE_HOME/<name>/vault` |
  ///
  /// The vault is found by `name`, not by `url`: use one name per server. On Linux the host's name is sent to the server as the
  /// device name.
  ///
  /// - Parameters:
  ///   - name: the program's name, such as `org.example.forum`. Default: the bundle identifier, otherwise the name of the
  ///     executable.
  ///   - load: loads the app's content after sign-in. It runs independently of the session: a slow or failing load neither
  ///     delays nor ends the session. An error that is not one of the package's becomes
  ///     ``SessionError/invalidResponse(_:)`` with its type's name.
  public convenience init(
    server url: URL, name: String = ServerBackend.programName, transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), presence: PresenceLock? = nil, cleanups: [CleanupStep] = [],
    logger: Logger? = nil, apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    let device = ServerBackend.Device(id: .installation(of: name), name: ServerBackend.deviceName)
    let backend = ServerBackend(baseURL: url, device: device, transport: transport)
    #if canImport(Darwin)
    let vault: any Vault = .keychain(name)
    #else
    let vault: any Vault = .platform(name)
    #endif
    self.init(
      backend: backend, vault: vault, baseURL: url, transport: transport, policy: policy, presence: presence,
      cleanups: cleanups, logger: logger, apiOptions: apiOptions, load: load)
  }
}

extension SessionManager where Server == ServerBackend, Content == Void {
  /// The same for an app without content of its own.
  public convenience init(
    server url: URL, name: String = ServerBackend.programName, transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), presence: PresenceLock? = nil, cleanups: [CleanupStep] = [],
    logger: Logger? = nil, apiOptions: APIClient.Options = APIClient.Options()
  ) {
    self.init(
      server: url, name: name, transport: transport, policy: policy, presence: presence, cleanups: cleanups,
      logger: logger,
      apiOptions: apiOptions
    ) { _ in }
  }
}

extension ServerBackend {
  /// The bundle identifier, otherwise the name of the executable.
  public static var programName: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

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
