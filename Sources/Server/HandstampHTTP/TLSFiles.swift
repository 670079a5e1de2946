#if HTTP
import HandstampSupport
import Logging

#if AsyncHTTPClient
import NIOSSL
#endif

/// The files of the server's certificate, in PEM, as certbot writes them (`fullchain.pem`, `privkey.pem`).
///
/// Needs the trait `AsyncHTTPClient`: without it, the server does not start with them (``ListenError/missingTrait``). They are
/// read again when they change, also when a symbolic link to them does: new connections get the new certificate, open ones
/// continue. If the new files cannot be used, the previous ones stay in use.
public struct TLSFiles: Sendable, Hashable {
  /// The path of the certificate, followed by those of the authorities in between.
  public var certificate: String
  /// The path of the private key.
  public var key: String
  /// How often the files are looked at. Default 5 s, at least 10 ms. A watch would miss one or the other way of replacing them: certbot
  /// moves a link, other programs rewrite the file.
  public var interval: Duration

  public init(certificate: String, key: String, interval: Duration = .seconds(5)) {
    self.certificate = certificate
    self.key = key
    self.interval = max(.milliseconds(10), interval)
  }

  /// Reads the files, and checks that they belong together.
  public func check() throws(ListenError) { _ = try context() }

  /// Reads the files.
  func context() throws(ListenError) -> SecureContext {
    #if AsyncHTTPClient
    let chain: [NIOSSLCertificate]
    do { chain = try NIOSSLCertificate.fromPEMBytes(try TLSFiles.bytes(of: certificate)) } catch {
      throw error as? ListenError ?? .certificate(certificate)
    }
    guard !chain.isEmpty else { throw .certificate(certificate) }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(bytes: try TLSFiles.bytes(of: self.key), format: .pem) } catch {
      throw error as? ListenError ?? .key(self.key)
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

  /// Whether a file is a list of certificates in PEM; without the trait `AsyncHTTPClient`, whether it looks like one.
  package static func areCertificates(_ path: String) -> Bool {
    guard let content = try? bytes(of: path) else { return false }
    #if AsyncHTTPClient
    return (try? NIOSSLCertificate.fromPEMBytes(content))?.isEmpty == false
    #else
    return String(decoding: content, as: UTF8.self).contains("-----BEGIN CERTIFICATE-----")
    #endif
  }

  private static func bytes(of path: String) throws(ListenError) -> [UInt8] {
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

/// The certificate in use, which follows its files.
package final class TLSIdentity: Sendable {
  private struct Content: Sendable {
    var context: SecureContext
    /// The files that were last read, whether they could be used or not.
    var stamp: [TLSFiles.FileStamp]
    /// Whether they could not be used.
    var isRefused = false
  }

  let files: TLSFiles
  private let content: Locked<Content>
  private let count: ListenerCount.Add
  private let logger: Logger

  init(_ files: TLSFiles, count: @escaping ListenerCount.Add, logger: Logger) throws(ListenError) {
    self.files = files
    self.count = count
    self.logger = logger
    // The stamp first: a change in between is then seen as one.
    let stamp = files.stamp
    content = Locked(Content(context: try files.context(), stamp: stamp))
  }

  /// The certificate of new connections.
  var context: SecureContext { content.withLock { $0.context } }

  /// Reads the files again at every change, until the task is cancelled.
  func follow() async {
    while (try? await Task.sleep(for: files.interval)) != nil { reload() }
  }

  /// Reads the files if they have changed.
  ///
  /// - Parameter isAsked: reads them in any case, as an operator has asked for: files that cannot be used are logged again.
  package func reload(isAsked: Bool = false) {
    let (stamp, previous) = (files.stamp, content.withLock { $0 })
    guard stamp != previous.stamp || isAsked else { return }
    do throws(ListenError) {
      let context = try files.context()
      content.withLock { $0 = Content(context: context, stamp: stamp) }
      // Files that a server may read since have the same stamp.
      guard stamp != previous.stamp || previous.isRefused else { return }
      count(.certificatesLoaded, 1)
      logger.notice("New certificate in use", metadata: ["handstamp.file": "\(files.certificate)"])
    } catch {
      // Half of a change, perhaps: the next look sees the rest.
      content.withLock { ($0.stamp, $0.isRefused) = (stamp, true) }
      count(.certificatesRefused, 1)
      logger.error(
        "New certificate not usable; the former one stays in use", metadata: ["handstamp.cause": "\(error)"])
    }
  }
}
#endif
