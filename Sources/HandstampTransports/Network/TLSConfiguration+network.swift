#if AsyncHTTPClient || WebSocket
import HandstampCore
import NIOSSL

extension TLSConfiguration {
  /// A client's configuration, with the authorities and the certificate of the settings.
  ///
  /// - Throws: ``TransportError/notConnected(_:)`` if the certificate or its key cannot be read.
  init(_ settings: NetworkSettings) throws(TransportError) {
    self = .makeClientConfiguration()
    if let file = settings.certificateAuthorities { trustRoots = .file(file) }
    guard let own = settings.clientCertificate else { return }
    do {
      certificateChain = try NIOSSLCertificate.fromPEMFile(own.certificate).map { .certificate($0) }
      privateKey = .privateKey(try own.privateKey())
    } catch {
      throw NetworkFailure.certificateUnreadable.error()
    }
  }
}

extension ClientCertificate {
  fileprivate func privateKey() throws -> NIOSSLPrivateKey {
    // Without a callback, the library would ask for a passphrase at the terminal.
    try NIOSSLPrivateKey(file: key, format: .pem) { (use: NIOSSLPassphraseSetter<[UInt8]>) in
      use((passphrase ?? Secret("")).withExposedBytes { Array($0) })
    }
  }
}
#endif
