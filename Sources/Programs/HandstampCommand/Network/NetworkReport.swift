#if Command
import Handstamp
import HandstampCommandLine
import HandstampTransports

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
#endif
