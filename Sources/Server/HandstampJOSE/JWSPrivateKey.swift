#if JOSE
package import Crypto
import _CryptoExtras

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A private key, usable with one algorithm only. It is never printed.
package struct JWSPrivateKey: Sendable {
  private enum Key: Sendable {
    case p256(P256.Signing.PrivateKey)
    case rsa(_RSA.Signing.PrivateKey)
  }

  private let key: Key
  package let publicKey: JWSPublicKey

  package var algorithm: JWSAlgorithm { publicKey.algorithm }

  package init(_ key: P256.Signing.PrivateKey) {
    self.key = .p256(key)
    publicKey = JWSPublicKey(key.publicKey)
  }

  private init?(_ key: _RSA.Signing.PrivateKey) {
    guard let publicKey = JWSPublicKey(key.publicKey) else { return nil }
    self.key = .rsa(key)
    self.publicKey = publicKey
  }

  /// Generates a key of P-256.
  package static func es256() -> JWSPrivateKey { JWSPrivateKey(P256.Signing.PrivateKey()) }

  /// Generates an RSA key, which takes some tenths of a second; `nil` if it cannot be generated.
  package static func rs256(bits: Int) -> JWSPrivateKey? {
    (try? _RSA.Signing.PrivateKey(keySize: _RSA.Signing.KeySize(bitCount: bits))).flatMap { JWSPrivateKey($0) }
  }

  /// Reads a key as PKCS #8 in PEM (RFC 7468 section 10). `nil` for any other key or text.
  package init?(pem: String) {
    guard pem.hasPrefix("-----BEGIN PRIVATE KEY-----") else { return nil }
    if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
      self.init(key)
    } else if let key = try? _RSA.Signing.PrivateKey(pemRepresentation: pem) {
      self.init(key)
    } else {
      return nil
    }
  }

  /// The key as PKCS #8 in PEM.
  package var pem: String {
    switch key {
    case .p256(let key): key.pemRepresentation
    case .rsa(let key): key.pkcs8PEMRepresentation
    }
  }

  /// The secret of the key, to derive others from: the private number of a P-256 key, the whole RSA key.
  package var secret: SymmetricKey {
    switch key {
    case .p256(let key): SymmetricKey(data: key.rawRepresentation)
    case .rsa(let key): SymmetricKey(data: key.derRepresentation)
    }
  }

  /// Returns the signature of `message`, 64 bytes, or as long as the modulus; `nil` if the key cannot sign.
  package func signature(of message: [UInt8]) -> [UInt8]? {
    switch key {
    case .p256(let key): (try? key.signature(for: message)).map { Array($0.rawRepresentation) }
    case .rsa(let key):
      (try? key.signature(for: message, padding: .insecurePKCS1v1_5)).map { Array($0.rawRepresentation) }
    }
  }
}

extension JWSPrivateKey: CustomStringConvertible, CustomReflectable {
  /// The thumbprint only.
  package var description: String { "\(algorithm.rawValue) key \(publicKey.thumbprint)" }
  package var customMirror: Mirror { Mirror(self, children: ["thumbprint": publicKey.thumbprint]) }
}
#endif
