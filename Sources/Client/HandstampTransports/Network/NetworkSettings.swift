import HandstampCore
import HandstampSupport

/// The settings that a connection needs on a network with proxies or authorities of its own. Nothing connects directly in place of a proxy
/// that is not valid or cannot be reached.
///
/// ```swift
/// var network = try NetworkSettings.environment()
/// network.clientCertificate = ClientCertificate(certificate: "client.pem", key: "client.key")
/// let transport = AsyncHTTPTransport(network: network)
/// ```
public struct NetworkSettings: Sendable, Hashable {
  /// The proxies. Default: none.
  public var proxies: ProxyRules
  /// The path of a file in PEM with the authorities to trust instead of the system's; `nil` trusts the system's.
  public var certificateAuthorities: String?
  /// The certificate for servers that require one; `nil` for none.
  public var clientCertificate: ClientCertificate?

  public init(
    proxies: ProxyRules = .none, certificateAuthorities: String? = nil, clientCertificate: ClientCertificate? = nil
  ) {
    (self.proxies, self.certificateAuthorities, self.clientCertificate) =
      (proxies, certificateAuthorities, clientCertificate)
  }

  /// Reads the environment of the process: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY` and `SSL_CERT_FILE`.
  ///
  /// A proxy's variable may be written in lower case, which takes precedence, as in curl. `ALL_PROXY` is for URLs whose own variable is
  /// not set; an empty variable is not set. `HTTP_PROXY` in upper case is ignored if `REQUEST_METHOD` is set: a web server would
  /// pass a client's header field `Proxy` there (CVE-2016-5385).
  ///
  /// - Parameter proxies: In place of the environment's; `nil` reads those.
  /// - Throws: ``NetworkSettingsError`` with the variable. A direct connection in place of an invalid proxy would be a surprise.
  public static func environment(proxies: ProxyRules? = nil) throws(NetworkSettingsError) -> NetworkSettings {
    if let proxies {
      return NetworkSettings(proxies: proxies, certificateAuthorities: ProcessEnvironment["SSL_CERT_FILE"])
    }
    return try NetworkSettings { ProcessEnvironment[$0] }
  }

  /// Returns `settings`, or those of the environment for `nil`.
  static func given(_ settings: NetworkSettings?) -> Result<NetworkSettings, TransportError> {
    if let settings { return .success(settings) }
    do throws(NetworkSettingsError) { return .success(try environment()) } catch {
      return .failure(NetworkFailure.invalidSettings.error("\(error)"))
    }
  }

  /// - Parameter value: returns the value of a variable; `nil` if it is not set, or empty.
  package init(variables value: (String) -> String?) throws(NetworkSettingsError) {
    func proxy(_ names: String...) throws(NetworkSettingsError) -> ProxyServer? {
      for name in names {
        guard let text = value(name), !text.isEmpty else { continue }
        do throws(NetworkSettingsError) { return try ProxyServer(parsing: text) } catch {
          throw NetworkSettingsError(error.reason, in: name)
        }
      }
      return nil
    }
    let isGateway = value("REQUEST_METHOD") != nil
    let http =
      isGateway
      ? try proxy("http_proxy", "all_proxy", "ALL_PROXY")
      : try proxy("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
    self.init(
      proxies: ProxyRules(
        http: http, https: try proxy("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
        exceptions: ProxyExceptions(value("no_proxy") ?? value("NO_PROXY") ?? "")),
      certificateAuthorities: value("SSL_CERT_FILE"))
  }
}
