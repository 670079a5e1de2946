#if AsyncHTTPClient || WebSocket
import Foundation
import HandstampCore
import NIOSSL

extension TLSConfiguration {
  /// A client's configuration, with the authorities and the certificate of the settings.
  ///
  /// - Throws: ``TransportError/notConnected(_:)`` if a file cannot be read, or the key is not that of the certificate.
  init(_ settings: NetworkSettings) throws(TransportError) {
    self = .makeClientConfiguration()
    if let file = settings.certificateAuthorities {
      trustRoots = .file(file)
      // The library's error at the first connection does not name the file.
      guard FileManager.default.isReadableFile(atPath: file) else {
        throw NetworkFailure.authoritiesUnreadable.error(file)
      }
    }
    guard let own = settings.clientCertificate else { return }
    // A context with these alone, to find out whether they belong together.
    var pair = TLSConfiguration.makeClientConfiguration()
    pair.trustRoots = .certificates([])
    do {
      pair.certificateChain = try NIOSSLCertificate.fromPEMFile(own.certificate).map { .certificate($0) }
      pair.privateKey = .privateKey(try own.privateKey())
    } catch {
      throw NetworkFailure.certificateUnreadable.error()
    }
    guard (try? NIOSSLContext(configuration: pair)) != nil else { throw NetworkFailure.certificateMismatch.error() }
    (certificateChain, privateKey) = (pair.certificateChain, pair.privateKey)
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
