public import Crypto
import Foundation
public import HandstampCore
import HandstampSupport

/// The key that tokens are bound to (RFC 9449): P-256. Stolen tokens are useless without it.
///
/// A key in a file protects against leaked logs and proxies. A key that cannot be copied, in the Secure Enclave or a TPM, also
/// protects against readers of the file.
public struct DPoPKey: Sendable {
  /// The public point, x and y, 32 bytes each.
  public let publicKey: [UInt8]
  private let signing: @Sendable ([UInt8]) throws -> [UInt8]

  /// Creates a new key in memory. Tokens bound to it are useless after the program exits.
  public init() { self.init(P256.Signing.PrivateKey()) }

  /// Loads the key in the file at `path`, or creates it on first use. Only the owner may have access to the file (mode 0600);
  /// its folder must exist.
  ///
  /// - Throws: ``SessionError/storage(_:)`` if the file cannot be read or written, is not a key, or is
  ///   accessible to other users.
  public init(file path: String) throws(SessionError) {
    do throws(VaultError) {
      let stored: Secret
      if let known = try KeyStorage.read(path) {
        stored = known
      } else {
        let drawn = P256.Signing.PrivateKey().rawRepresentation
        stored = try KeyStorage.create(path, Secret(bytes: Array(drawn)))
      }
      guard let key = stored.withExposedBytes({ try? P256.Signing.PrivateKey(rawRepresentation: $0) }) else {
        throw .wrongKey("\(path) is not a DPoP key")
      }
      self.init(key)
    } catch { throw .storage(error) }
  }

  /// Creates a key that is stored elsewhere, such as in hardware; `nil` if `publicKey` has the wrong size.
  ///
  /// - Parameters:
  ///   - publicKey: x and y, 32 bytes each.
  ///   - sign: returns the ECDSA signature of the message's SHA-256: r and s, 32 bytes each. If it throws, requests fail, but
  ///     no session ends.
  public init?(publicKey: [UInt8], sign: @escaping @Sendable (_ message: [UInt8]) throws -> [UInt8]) {
    guard publicKey.count == 64 else { return nil }
    self.publicKey = publicKey
    signing = sign
  }

  /// Creates a key from a key of swift-crypto or CryptoKit.
  public init(_ key: P256.Signing.PrivateKey) {
    publicKey = Array(key.publicKey.rawRepresentation)
    signing = { Array(try key.signature(for: $0).rawRepresentation) }
  }

  /// The key's thumbprint (RFC 7638), as in `cnf.jkt` of a bound token.
  public var thumbprint: String {
    Base64URL.encode(Array(SHA256.hash(data: Array(jwk.utf8))))
  }

  /// The public key as a JWK; its members are in the order that the thumbprint requires.
  var jwk: String {
    let (x, y) = (Base64URL.encode(publicKey.prefix(32)), Base64URL.encode(publicKey.suffix(32)))
    return JSONText([("crv", "P-256"), ("kty", "EC"), ("x", x), ("y", y)]).text
  }

  func sign(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
    guard let signature = try? signing(message), signature.count == 64 else {
      throw .storage(.unavailable("the DPoP key cannot sign"))
    }
    return signature
  }
}

extension DPoPKey: CustomStringConvertible, CustomReflectable {
  /// The thumbprint only.
  public var description: String { "DPoP key \(thumbprint)" }
  public var customMirror: Mirror { Mirror(self, children: ["thumbprint": thumbprint]) }
}

/// The file of a key: 32 bytes, accessible to its owner only.
enum KeyStorage {
  /// The key at `path`; `nil` if there is no such file.
  static func read(_ path: String) throws(VaultError) -> Secret? {
    let files = FileManager.default
    guard files.fileExists(atPath: path) else { return nil }
    let mode = (try? files.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    guard let mode, mode.intValue & 0o077 == 0 else {
      throw .permissions("other users can use \(path): its mode should be 0600")
    }
    guard let data = files.contents(atPath: path) else { throw .permissions("\(path) cannot be read") }
    return Secret(bytes: data)
  }

  /// Stores `key` at `path`, durably and atomically. Another process may be faster: returns the key that is stored then.
  static func create(_ path: String, _ key: Secret) throws(VaultError) -> Secret {
    let bytes = key.withExposedBytes { Array($0) }
    do throws(SystemError) { _ = try AtomicFile.create(path, with: bytes) } catch {
      switch error.code {
      case ENOSPC, EDQUOT: throw .full("disk full (writing \(path))")
      case EACCES, EPERM, EROFS: throw .permissions("no permission to write \(path)")
      default: throw .unavailable("\(path) cannot be written (error \(error.code))")
      }
    }
    guard let stored = try read(path) else { throw .unavailable("\(path) cannot be created") }
    return stored
  }
}
