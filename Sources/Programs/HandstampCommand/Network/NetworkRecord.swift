#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport
import HandstampTransports

/// The network of an account, as far as it is not that of the environment. Nothing in it is secret; the proxy's user name and password
/// are sealed beside the vault.
struct NetworkRecord: Sendable, Hashable, Codable {
  /// The proxy's URL without credentials, or `none`; `nil` for that of the environment.
  var proxy: String?
  /// Whether the proxy has credentials; `nil` means no.
  var hasCredentials: Bool?
  /// The absolute path of the client certificate; `nil` for none.
  var certificate: String?
  /// The absolute path of its key.
  var key: String?
  /// The absolute path of a file with the key's passphrase; `nil` if it has none.
  var passphraseFile: String?

  static let direct = "none"

  /// Whether it says nothing that the environment does not.
  var isEmpty: Bool { self == NetworkRecord() }

  /// The proxies, without credentials.
  ///
  /// - Throws: ``NetworkSettingsError`` if those of the environment are not valid, or the record was changed by hand.
  func proxies() throws(NetworkSettingsError) -> ProxyRules {
    switch proxy {
    case NetworkRecord.direct?: return .none
    case let proxy?: return .all(through: try ProxyServer(parsing: proxy))
    case nil: return try NetworkSettings.environment().proxies
    }
  }

  /// - Parameter credentials: those of the proxy.
  /// - Throws: a refusal if the passphrase of the key cannot be read, or the proxy is not valid.
  func settings(credentials: Secret?) throws(CommandError) -> NetworkSettings {
    var settings: NetworkSettings
    do throws(NetworkSettingsError) {
      var proxies = try proxies()
      if proxy != nil, proxy != NetworkRecord.direct {
        proxies.http?.credentials = credentials
        proxies.https?.credentials = credentials
      }
      settings = try .environment(proxies: proxies)
    } catch {
      throw CommandError(error)
    }
    if let certificate {
      let passphrase = try passphraseFile.map { path throws(CommandError) in
        try SecretFile.firstLine(of: path, for: "--client-key-passphrase-file", code: .configuration)
      }
      settings.clientCertificate = ClientCertificate(
        certificate: certificate, key: key ?? certificate, passphrase: passphrase)
    }
    return settings
  }
}

extension Home {
  private func networkPath(of account: AccountID) -> String { file(in: "networks", for: account.rawValue) }

  /// The file with the user name and the password of the account's proxy.
  func credentialsFile(of account: AccountID) -> SealedFile {
    SealedFile(beside: vault(of: account), account: account, purpose: "proxy", limit: 64 << 10)
  }

  /// Returns the account's own network; `nil` for that of the environment.
  ///
  /// - Throws: A refusal if the file cannot be read: another way to the server would be a surprise.
  func network(of account: AccountID) throws(CommandError) -> NetworkRecord? {
    let path = networkPath(of: account)
    do throws(DescribedError) { return try PlainFile.json(at: path) } catch {
      throw CommandError(
        .failure, "cannot read \(path), which says how an account reaches its server",
        hint: "run: handstamp doctor --set-aside", concernsHome: true)
    }
  }

  /// Saves the account's network; `nil` removes it. The credentials are saved before the record, which is useless without them,
  /// and removed after it.
  func save(_ record: NetworkRecord?, _ credentials: Secret?, of account: AccountID) async throws(CommandError) {
    guard let record, !record.isEmpty else { return try forgetNetwork(of: account) }
    if let credentials { try await credentialsFile(of: account).keep(credentials) }
    try write(record, to: networkPath(of: account), isPretty: true)
    if credentials == nil { try credentialsFile(of: account).forget() }
  }

  /// Removes the account's network and its secrets.
  func forgetNetwork(of account: AccountID) throws(CommandError) {
    guard unlink(networkPath(of: account)) == 0 || errno == ENOENT || errno == ENOTDIR else { throw unwritable() }
    try credentialsFile(of: account).forget()
  }

  /// Returns the transport of the account's requests.
  func transport(of account: AccountID) throws(CommandError) -> any Transport {
    guard let record = try network(of: account) else { return CommandTransport.shared }
    return AccountTransport(record, home: self, account: account)
  }
}

/// How requests reach a server, for `status` and `doctor`. Contains no credentials.
struct NetworkReport: Encodable, Sendable, Hashable {
  /// The proxy's URL without credentials; `nil` for a direct connection.
  var proxy: String?
  /// Whether the account has a proxy of its own, or none by its own setting; otherwise the environment decides.
  var isOwn: Bool
  /// The path of the client certificate; `nil` for none.
  var clientCertificate: String?

  /// - Parameter account: `nil` for a server of no account.
  init(to server: ServerAddress, of account: AccountID?, in home: Home) throws(CommandError) {
    let record = try account.map { id throws(CommandError) in try home.network(of: id) } ?? nil
    isOwn = record?.proxy != nil
    clientCertificate = record?.certificate
    do throws(NetworkSettingsError) {
      proxy = try (record ?? NetworkRecord()).proxies().server(for: server.text)?.description
    } catch {
      throw CommandError(error)
    }
  }

  static let direct = NetworkReport()

  /// A direct connection that no setting asks for.
  private init() { isOwn = false }

  /// Whether there is nothing to say: a direct connection that no setting asks for.
  var isPlain: Bool { proxy == nil && !isOwn && clientCertificate == nil }

  /// Such as `through http://proxy:3128, from the environment`.
  var words: String {
    let source = isOwn ? "as set for the account" : "from the environment"
    let route =
      switch (proxy, isOwn) {
      case (let proxy?, _): ["through \(plain(proxy)), \(source)"]
      case (nil, true): ["directly, \(source)"]
      case (nil, false): [String]()
      }
    return (route + [clientCertificate.map { "with the certificate \(plain($0))" }].compactMap { $0 }).joined(
      separator: "; ")
  }
}

/// The transport of an account with a network of its own. The proxy's password is read with the first request, so that commands that
/// send none do not prompt for a passphrase.
final class AccountTransport: Transport {
  private let record: NetworkRecord
  private let home: Home
  private let account: AccountID
  private let made = Locked<(any Transport)?>(nil)

  init(_ record: NetworkRecord, home: Home, account: AccountID) {
    (self.record, self.home, self.account) = (record, home, account)
  }

  /// - Throws: ``TransportError/notConnected(_:)`` if a secret of the network cannot be read.
  private func transport() async throws(TransportError) -> any Transport {
    if let known = made.withLock({ $0 }) { return known }
    let settings = try await settings()
    return made.withLock { made in
      let transport = made ?? CommandTransport.make(network: settings)
      made = transport
      return transport
    }
  }

  private func settings() async throws(TransportError) -> NetworkSettings {
    var credentials: Secret?
    if record.hasCredentials == true {
      do throws(VaultError) { credentials = try await home.credentialsFile(of: account).secret() } catch {
        throw NetworkFailure.credentialsUnreadable.error(CommandError(error).message)
      }
      guard credentials != nil else { throw NetworkFailure.credentialsUnreadable.error("they are missing") }
    }
    do throws(CommandError) { return try record.settings(credentials: credentials) } catch {
      throw NetworkFailure.invalidSettings.error(error.message)
    }
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    try await transport().send(request)
  }

  @concurrent func upload(
    _ request: TransportRequest, fromFile path: String
  ) async throws(TransportError) -> TransportResponse {
    try await transport().upload(request, fromFile: path)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await transport().open(request)
  }
}
#endif
