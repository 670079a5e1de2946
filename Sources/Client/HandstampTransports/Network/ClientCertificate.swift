public import HandstampCore

/// A client's certificate and key, for servers that require one (mutual TLS, RFC 8446 section 4.3.2).
///
/// The files are read when the first connection is made, and not again: a transport continues with the certificate that it began with.
public struct ClientCertificate: Sendable, Hashable {
  /// The path of a file in PEM with the certificate, followed by those of intermediate authorities.
  public var certificate: String
  /// The path of a file in PEM with the private key; it may be the same file.
  public var key: String
  /// The passphrase of the key; `nil` if it has none.
  public var passphrase: Secret?

  public init(certificate: String, key: String, passphrase: Secret? = nil) {
    (self.certificate, self.key, self.passphrase) = (certificate, key, passphrase)
  }
}
