#if Server
import HandstampHTTP

extension ResponseFields {
  init(_ configuration: ServerConfiguration) {
    self.init()
    if configuration.issuer.hasPrefix("https:") { transportSecurity = configuration.transportSecurity?.field }
  }
}

/// The server's policy for browsers about HTTPS (RFC 6797). Only servers whose issuer is an `https` URL send it.
public struct TransportSecurity: Sendable, Hashable {
  /// How long browsers use only HTTPS at this host. Default two years.
  public var maxAge: Duration
  /// Whether the same holds for all hosts below this one. Default `false`: the server cannot know whether they have TLS.
  public var includesSubdomains: Bool

  public init(maxAge: Duration = .seconds(63_072_000), includesSubdomains: Bool = false) {
    self.maxAge = max(.zero, maxAge)
    self.includesSubdomains = includesSubdomains
  }

  var field: String { "max-age=\(maxAge.components.seconds)" + (includesSubdomains ? "; includeSubDomains" : "") }
}
#endif
