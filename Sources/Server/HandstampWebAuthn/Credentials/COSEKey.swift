#if JOSE
import Crypto
import HandstampSupport
import _CryptoExtras

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The public key of a passkey: a `COSE_Key` (RFC 9052 section 7) for ES256 or RS256. Equal keys have equal bytes.
package struct COSEKey: Sendable {
  /// The reason why bytes are not a key that this program uses.
  package enum FormatError: Error, Sendable, Hashable {
    /// The bytes are not CBOR.
    case malformed(CBORError)
    /// The bytes are CBOR, but no map, or a parameter is missing or of another type.
    case incomplete
    /// `alg` is not in ``COSEAlgorithm``.
    case unsupportedAlgorithm(Int64)
    /// `kty` is not the one of `alg` (RFC 9053 section 2.1, RFC 8812 section 2).
    case wrongKeyType
    /// `crv` is not P-256 (WebAuthn Level 2 section 5.8.5).
    case unsupportedCurve
    /// A parameter that the key's type does not need, such as a private one (WebAuthn Level 2 section 6.5.1.1).
    case unexpectedParameter
    /// The coordinates are not 32 bytes each, or no point of the curve.
    case invalidPoint
    /// The modulus is even, has leading zeros (RFC 8230 section 4), or its size is not one of ``COSEKey/modulusSizes``.
    case invalidModulus
    /// The exponent is even, has leading zeros, or is not between 2^16 and 2^32 (FIPS 186-5 section 5.1 has the lower limit).
    case invalidExponent
  }

  private enum Key: Sendable {
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  /// The accepted sizes of RSA keys, in bits: NIST's lower limit, and a limit to the work of a check.
  package static let modulusSizes = 2048...8192

  /// The key as it was received, to be stored.
  package let bytes: [UInt8]
  package let algorithm: COSEAlgorithm
  private let key: Key

  /// Reads a key, new or stored.
  package init(_ bytes: [UInt8]) throws(FormatError) {
    let parameters: CBORValue
    do { parameters = try CBORValue(bytes[...]) } catch { throw .malformed(error) }
    // The labels are those of RFC 9052 section 7.1: 1 is `kty`, and 3 is `alg`.
    guard let type = parameters[1]?.integer, let number = parameters[3]?.integer else { throw .incomplete }
    guard let algorithm = COSEAlgorithm(rawValue: number) else { throw .unsupportedAlgorithm(number) }
    switch algorithm {
    case .es256:
      guard type == 2 else { throw .wrongKeyType }
      key = .p256(try COSEKey.p256(parameters))
    case .rs256:
      guard type == 3 else { throw .wrongKeyType }
      key = .rsa(try COSEKey.rsa(parameters))
    }
    self.bytes = bytes
    self.algorithm = algorithm
  }

  /// Reads `crv` (-1), `x` (-2) and `y` (-3) (RFC 9053 section 7.1.1). A compressed point, whose `y` is a boolean, is not one
  /// of a passkey (WebAuthn Level 2 section 5.8.5).
  private static func p256(_ parameters: CBORValue) throws(FormatError) -> P256.Signing.PublicKey {
    guard let curve = parameters[-1]?.integer, let x = parameters[-2]?.bytes, let y = parameters[-3]?.bytes else {
      throw .incomplete
    }
    guard curve == 1 else { throw .unsupportedCurve }
    guard parameters.map?.count == 5 else { throw .unexpectedParameter }
    guard x.count == 32, y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: Array(x + y)) else {
      throw .invalidPoint
    }
    return key
  }

  /// Reads `n` (-1) and `e` (-2) (RFC 8230 section 4).
  private static func rsa(_ parameters: CBORValue) throws(FormatError) -> _RSA.Signing.PublicKey {
    guard let modulus = parameters[-1]?.bytes, let exponent = parameters[-2]?.bytes else { throw .incomplete }
    guard parameters.map?.count == 4 else { throw .unexpectedParameter }
    // Three bytes are at least 2^16.
    guard (3...4).contains(exponent.count), isOdd(exponent) else { throw .invalidExponent }
    guard let first = modulus.first, isOdd(modulus),
      modulusSizes.contains(modulus.count * 8 - first.leadingZeroBitCount),
      let key = try? _RSA.Signing.PublicKey(n: Data(modulus), e: Data(exponent))
    else { throw .invalidModulus }
    return key
  }

  /// Returns whether a big-endian number is odd and has no leading zeros.
  private static func isOdd(_ number: ArraySlice<UInt8>) -> Bool {
    guard let first = number.first, let last = number.last else { return false }
    return first != 0 && last & 1 == 1
  }

  /// Returns whether this key's private part signed `message` with ``algorithm``.
  ///
  /// - Parameter signature: for ES256 in DER, for RS256 as long as the modulus (WebAuthn Level 2 section 6.5.6).
  func isSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch key {
    case .p256(let key):
      guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
      return key.isValidSignature(signature, for: message)
    case .rsa(let key):
      return key.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: signature), for: message, padding: .insecurePKCS1v1_5)
    }
  }
}

extension COSEKey: Hashable {
  package static func == (one: COSEKey, other: COSEKey) -> Bool { one.bytes == other.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
#endif
