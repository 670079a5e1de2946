#if JOSE
package import Crypto
import HandstampSupport
import _CryptoExtras

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A public key: a point of P-256 or an RSA modulus, usable with one algorithm only.
package struct JWSPublicKey: Sendable {
  private enum Key: Sendable {
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  /// The accepted sizes of RSA keys, in bits: the least that RFC 7518 section 3.3 allows, and a limit to the work of a check.
  package static let modulusSizes = 2048...8192

  private let key: Key
  package let algorithm: JWSAlgorithm
  /// The members of the key's JWK that its thumbprint covers, in lexicographic order (RFC 7638 section 3.2).
  let members: [(name: StaticString, value: String)]
  /// The thumbprint (RFC 7638): SHA-256 in base64url, 43 characters.
  package let thumbprint: String

  package init(_ key: P256.Signing.PublicKey) {
    let point = Array(key.rawRepresentation)
    self.init(
      .p256(key), .es256,
      [
        ("crv", "P-256"), ("kty", "EC"), ("x", Base64URL.encode(Array(point.prefix(32)))),
        ("y", Base64URL.encode(Array(point.suffix(32)))),
      ])
  }

  /// Reads a key as SubjectPublicKeyInfo in PEM (RFC 7468 section 13). `nil` for any other key or text.
  package init?(pem: String) {
    if let key = try? P256.Signing.PublicKey(pemRepresentation: pem) {
      self.init(key)
    } else if let key = try? _RSA.Signing.PublicKey(pemRepresentation: pem) {
      self.init(key)
    } else {
      return nil
    }
  }

  /// Returns the key with these coordinates, 32 bytes each; `nil` for a point that is not on the curve.
  init?(x: [UInt8], y: [UInt8]) {
    guard x.count == 32, y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: x + y) else {
      return nil
    }
    self.init(key)
  }

  /// Returns the RSA key with this modulus and exponent, big-endian; `nil` for sizes outside ``modulusSizes``, leading zeros, or
  /// numbers that no RSA key has.
  init?(modulus: [UInt8], exponent: [UInt8]) {
    guard let first = modulus.first, first != 0, (1...5).contains(exponent.count), exponent[0] != 0,
      JWSPublicKey.modulusSizes.contains(modulus.count * 8 - first.leadingZeroBitCount),
      let key = try? _RSA.Signing.PublicKey(n: Data(modulus), e: Data(exponent))
    else { return nil }
    self.init(key, modulus: modulus, exponent: exponent)
  }

  /// Returns `nil` for a key outside ``modulusSizes``.
  init?(_ key: _RSA.Signing.PublicKey) {
    guard JWSPublicKey.modulusSizes.contains(key.keySizeInBits), let numbers = try? key.getKeyPrimitives() else {
      return nil
    }
    self.init(key, modulus: Array(numbers.modulus), exponent: Array(numbers.publicExponent))
  }

  private init(_ key: _RSA.Signing.PublicKey, modulus: [UInt8], exponent: [UInt8]) {
    self.init(
      .rsa(key), .rs256, [("e", Base64URL.encode(exponent)), ("kty", "RSA"), ("n", Base64URL.encode(modulus))])
  }

  private init(_ key: Key, _ algorithm: JWSAlgorithm, _ members: [(name: StaticString, value: String)]) {
    self.key = key
    self.algorithm = algorithm
    self.members = members
    thumbprint = Base64URL.encode(Array(SHA256.hash(data: JSONText(members).finished)))
  }

  /// Returns whether this key's private part signed `message` with ``algorithm``.
  func isSignature(_ signature: [UInt8], of message: some DataProtocol) -> Bool {
    switch key {
    case .p256(let key):
      // r and s, 32 bytes each (RFC 7518 section 3.4).
      guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
      return key.isValidSignature(signature, for: message)
    case .rsa(let key):
      return key.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: signature), for: message, padding: .insecurePKCS1v1_5)
    }
  }
}

extension JWSPublicKey: Hashable {
  package static func == (one: JWSPublicKey, other: JWSPublicKey) -> Bool { one.thumbprint == other.thumbprint }
  package func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }
}
#endif
