#if Server
import HandstampSupport

#if TLS
import NIOSSL
#endif

/// The files of the server's certificate, in PEM, as certbot writes them (`fullchain.pem`, `privkey.pem`).
///
/// Needs the trait `TLS`: without it, the server does not start with them (``TLSError/missingTrait``). They are read again when
/// they change, also when a symbolic link to them does: new connections get the new certificate, open ones continue. If the new
/// files cannot be used, the former ones stay in use.
public struct TLSFiles: Sendable, Hashable {
  /// The path of the certificate, followed by those of the authorities in between.
  public var certificate: String
  /// The path of the private key.
  public var key: String
  /// How often the files are looked at. Default 5 s, at least 10 ms.
  public var interval: Duration

  public init(certificate: String, key: String, interval: Duration = .seconds(5)) {
    self.certificate = certificate
    self.key = key
    self.interval = max(.milliseconds(10), interval)
  }

  /// Reads the files, and checks that they belong together.
  public func check() throws(TLSError) { _ = try context() }

  /// Reads the files.
  func context() throws(TLSError) -> SecureContext {
    #if TLS
    let chain: [NIOSSLCertificate]
    do { chain = try NIOSSLCertificate.fromPEMBytes(try TLSFiles.bytes(of: certificate)) } catch {
      throw TLSError.from(error, certificate, else: .certificate(certificate))
    }
    guard !chain.isEmpty else { throw .certificate(certificate) }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(bytes: try TLSFiles.bytes(of: self.key), format: .pem) } catch {
      throw TLSError.from(error, self.key, else: .key(self.key))
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2", "http/1.1"]
    do { return try NIOSSLContext(configuration: configuration) } catch {
      throw .mismatch(certificate: certificate, key: self.key)
    }
    #else
    throw .missingTrait
    #endif
  }

  private static func bytes(of path: String) throws(TLSError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw .unreadable(path, cause: String(cString: strerror(errno))) }
    defer { close(file) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 * 1024)
    while true {
      let count = read(file, &buffer, buffer.count)
      guard count >= 0 else { throw .unreadable(path, cause: String(cString: strerror(errno))) }
      guard count > 0, content.count <= largest else { return content }
      content += buffer.prefix(count)
    }
  }

  /// No chain is larger.
  private static let largest = 1 << 20

  /// Which files there are, to see whether they have changed.
  var stamp: [FileStamp] { [FileStamp(certificate), FileStamp(key)] }

  /// A version of a file.
  struct FileStamp: Sendable, Hashable {
    private var bytes: [UInt8] = []

    /// - Parameter path: symbolic links are followed.
    init(_ path: String) {
      var status = stat()
      guard fstatat(AT_FDCWD, path, &status, 0) == 0 else { return }
      #if canImport(Darwin)
      let time = status.st_mtimespec
      #else
      let time = status.st_mtim
      #endif
      bytes =
        withUnsafeBytes(of: status.st_dev) { Array($0) } + withUnsafeBytes(of: status.st_ino) { Array($0) }
        + withUnsafeBytes(of: status.st_size) { Array($0) } + withUnsafeBytes(of: time) { Array($0) }
    }
  }
}

/// A reason why a certificate and its key cannot be used.
public enum TLSError: Error, Sendable, Hashable, CustomStringConvertible {
  case unreadable(String, cause: String)
  /// The file has no certificate in PEM.
  case certificate(String)
  /// The file has no private key in PEM.
  case key(String)
  /// The key is not the certificate's.
  case mismatch(certificate: String, key: String)
  /// The package was built without the trait `TLS`.
  case missingTrait

  static func from(_ error: any Error, _ path: String, else fault: TLSError) -> TLSError { error as? TLSError ?? fault }

  public var description: String {
    switch self {
    case .unreadable(let path, let cause): "cannot read \(path): \(cause)"
    case .certificate(let path): "\(path) has no certificate in PEM"
    case .key(let path): "\(path) has no private key in PEM"
    case .mismatch(let certificate, let key): "the key in \(key) does not belong to the certificate in \(certificate)"
    case .missingTrait: "this program was built without TLS"
    }
  }

  /// The advice for the operator.
  public var hint: String {
    switch self {
    case .unreadable: "name a file that the server's user may read"
    case .certificate: "name the chain, such as fullchain.pem, which begins with -----BEGIN CERTIFICATE-----"
    case .key: "name the key without a passphrase, such as privkey.pem"
    case .mismatch: "name a certificate and a key that were issued together"
    case .missingTrait: "build it with the package's trait TLS, or let a proxy in front terminate TLS"
    }
  }
}
#endif
