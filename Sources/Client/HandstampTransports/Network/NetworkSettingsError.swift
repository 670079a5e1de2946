public import HandstampCore

/// Why settings of a network cannot be used. Contains neither the value nor its credentials.
public struct NetworkSettingsError: HandstampError, Hashable {
  @nonexhaustive
  public enum Reason: Sendable, Hashable {
    /// The text is not the URL of a proxy.
    case invalidProxy
    /// A proxy of a protocol that this library does not speak: over TLS (`https`), or SOCKS version 4.
    case unsupportedProxy
    /// A SOCKS proxy with a user name and a password, which this library does not send.
    case unsupportedCredentials
  }

  public var reason: Reason
  /// The environment variable with the value; `nil` if it is not from the environment.
  public var variable: String?

  public init(_ reason: Reason, in variable: String? = nil) {
    (self.reason, self.variable) = (reason, variable)
  }

  public var code: String {
    switch reason {
    case .invalidProxy: "invalid_proxy"
    case .unsupportedProxy: "unsupported_proxy"
    case .unsupportedCredentials: "unsupported_proxy_credentials"
    }
  }

  public var recovery: Recovery? { .fixConfiguration }

  public var description: String {
    let words =
      switch reason {
      case .invalidProxy: "not a valid URL of a proxy"
      case .unsupportedProxy: "a proxy of this kind is not supported"
      case .unsupportedCredentials: "a user name and a password for a SOCKS proxy are not supported"
      }
    return variable.map { "\($0): \(words)" } ?? words
  }
}
