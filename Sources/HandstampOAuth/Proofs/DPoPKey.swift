public import Crypto
import HandstampCore

/// The key that tokens are bound to (RFC 9449): P-256. Who copies a token without it has nothing.
///
/// A key in a file protects from leaked logs and proxies; one that cannot be copied, in the Secure Enclave or a TPM, also from
/// whoever can read the file.
public struct DPoPKey: Sendable {
  /// The public point, x and y, 32 bytes each.
  public let publicKey: [UInt8]
  private let signing: @Sendable ([UInt8]) throws -> [UInt8]

  /// A key that is kept elsewhere, such as in hardware.
  ///
  /// - Parameters:
  ///   - publicKey: x and y, 32 bytes each; nothing comes of any other size.
  ///   - sign: ECDSA over the message's SHA-256: r and s, 32 bytes each. A failure makes requests fail, and ends no session.
  public init?(publicKey: [UInt8], sign: @escaping @Sendable (_ message: [UInt8]) throws -> [UInt8]) {
    guard publicKey.count == 64 else { return nil }
    self.publicKey = publicKey
    signing = sign
  }

  /// A key in memory. Keep its ``Crypto/P256/Signing/PrivateKey`` where tokens are kept.
  public init(_ key: P256.Signing.PrivateKey) {
    publicKey = Array(key.publicKey.rawRepresentation)
    signing = { Array(try key.signature(for: $0).rawRepresentation) }
  }

  /// The key's thumbprint (RFC 7638), as `cnf.jkt` of a bound token names it.
  public var thumbprint: String {
    Base64URL.encode(Array(SHA256.hash(data: Array(jwk.utf8))))
  }

  /// The public half; its members stand as a thumbprint has them, in the order of their names.
  var jwk: String {
    let (x, y) = (Base64URL.encode(publicKey.prefix(32)), Base64URL.encode(publicKey.suffix(32)))
    return #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
  }

  func sign(_ message: [UInt8]) throws(SessionError) -> [UInt8] {
    guard let signature = try? signing(message), signature.count == 64 else {
      throw .storage(.unavailable("the key of the proof cannot sign"))
    }
    return signature
  }
}

extension DPoPKey: CustomStringConvertible, CustomReflectable {
  /// The thumbprint alone.
  public var description: String { "DPoP key \(thumbprint)" }
  public var customMirror: Mirror { Mirror(self, children: ["thumbprint": thumbprint]) }
}
