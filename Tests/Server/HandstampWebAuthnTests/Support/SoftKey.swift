#if JOSE
import Crypto
import CryptoExtras
import Foundation

@testable import HandstampWebAuthn

/// The private key of a passkey.
enum SoftKey: Sendable {
  case es256(P256.Signing.PrivateKey)
  case rs256(_RSA.Signing.PrivateKey)

  /// RSA keys take long to make.
  private static let sharedRSA = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

  init(_ algorithm: COSEAlgorithm) throws {
    switch algorithm {
    case .es256: self = .es256(P256.Signing.PrivateKey())
    case .rs256: self = .rs256(try SoftKey.sharedRSA.get())
    }
  }

  /// The parameters of the public key, to be changed.
  var parameters: [(Int64, [UInt8])] {
    get throws {
      switch self {
      case .es256(let key):
        let point = Array(key.publicKey.rawRepresentation)
        return [
          (1, CBORBytes.integer(2)), (3, CBORBytes.integer(-7)), (-1, CBORBytes.integer(1)),
          (-2, CBORBytes.bytes(Array(point.prefix(32)))), (-3, CBORBytes.bytes(Array(point.suffix(32)))),
        ]
      case .rs256(let key):
        let numbers = try key.publicKey.getKeyPrimitives()
        return [
          (1, CBORBytes.integer(3)), (3, CBORBytes.integer(-257)), (-1, CBORBytes.bytes(Array(numbers.modulus))),
          (-2, CBORBytes.bytes(Array(numbers.publicExponent))),
        ]
      }
    }
  }

  var cose: [UInt8] { get throws { CBORBytes.key(try parameters) } }

  func signature(of message: [UInt8]) throws -> [UInt8] {
    switch self {
    case .es256(let key): Array(try key.signature(for: message).derRepresentation)
    case .rs256(let key): Array(try key.signature(for: message, padding: .insecurePKCS1v1_5).rawRepresentation)
    }
  }
}
#endif
