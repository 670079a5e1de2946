#if Server
/// A reason why a server does not listen.
public enum ListenError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Passwords and tokens would cross a network unencrypted.
  case cleartext(ListeningAddress)
  /// The system refused the address.
  case address(ListeningAddress, cause: String)
  /// The descriptor is not a listening socket.
  case notListening(ListeningAddress)
  /// The certificate or its key cannot be used.
  case tls(TLSError)

  public var description: String {
    switch self {
    case .cleartext(let address): "listening on \(address) would send passwords and tokens unencrypted"
    case .address(let address, let cause): "cannot listen on \(address): \(cause)"
    case .notListening(let address): "the \(address) is not a listening socket"
    case .tls(let fault): fault.description
    }
  }

  /// The advice for the operator.
  public var hint: String {
    switch self {
    case .cleartext:
      "give a certificate and its key, or name the addresses of the proxy in front that terminates TLS"
    case .address: "choose another address or port; port 0 picks a free one"
    case .notListening: "pass sockets on which listen() was called, as systemd does for a unit with ListenStream="
    case .tls(let fault): fault.hint
    }
  }
}
#endif
