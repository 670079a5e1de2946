#if HTTP
import HandstampSupport

/// A reason why a server does not listen.
public enum ListenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Passwords and tokens would cross a network unencrypted.
  case cleartext(ListeningAddress)
  /// The system refused the address.
  case address(ListeningAddress, cause: String)
  /// The descriptor is not a listening socket.
  case notListening(ListeningAddress)
  /// The file of a certificate, or of its key, cannot be read.
  case unreadable(String, cause: String)
  /// The file has no certificate in PEM.
  case certificate(String)
  /// The file has no private key in PEM.
  case key(String)
  /// The key is not the certificate's.
  case mismatch(certificate: String, key: String)
  /// The package was built without the trait `AsyncHTTPClient`, which brings TLS.
  case missingTrait

  public var description: String {
    switch self {
    case .cleartext(let address): "listening on \(address) would send passwords and tokens unencrypted"
    case .address(let address, let cause): "cannot listen on \(address): \(cause)"
    case .notListening(let address): "the \(address) is not a listening socket"
    case .unreadable(let path, let cause): "cannot read \(path): \(cause)"
    case .certificate(let path): "\(path) has no certificate in PEM"
    case .key(let path): "\(path) has no private key in PEM"
    case .mismatch(let certificate, let key): "the key in \(key) does not belong to the certificate in \(certificate)"
    case .missingTrait: BuildPart.https.refusal
    }
  }

  /// The advice for the operator.
  public var hint: String {
    switch self {
    case .cleartext:
      "give a certificate and its key, or name the addresses of the proxy in front that terminates TLS"
    case .address: "choose another address or port; port 0 picks a free one"
    case .notListening: "pass sockets on which listen() was called, as systemd does for a unit with ListenStream="
    case .unreadable: "name a file that the server's user may read"
    case .certificate: "name the chain, such as fullchain.pem, which begins with -----BEGIN CERTIFICATE-----"
    case .key: "name the key without a passphrase, such as privkey.pem"
    case .mismatch: "name a certificate and a key that were issued together"
    case .missingTrait: "add the package's trait AsyncHTTPClient, or let a proxy in front terminate TLS"
    }
  }
}
#endif
