#if Server
import Crypto
import Foundation
public import HandstampCore
import HandstampJOSE

/// The keys that sign access tokens (ES256, P-256), newest first. The first key signs new tokens; the others verify tokens
/// signed before a rotation and can be removed once the last such token has expired.
public struct SigningKeys: Sendable {
  private let current: JWSPrivateKey
  private let former: [JWSPrivateKey]

  var keys: [JWSPrivateKey] { [current] + former }

  /// Creates a set with one new key.
  public init() { self.init(.es256()) }

  private init(_ current: JWSPrivateKey, former: [JWSPrivateKey] = []) {
    self.current = current
    self.former = former
  }

  /// The ID of the key that signs new tokens: its thumbprint (RFC 7638), so that a key has the same ID everywhere.
  public var currentID: String { current.id }

  /// The IDs of all keys, newest first.
  public var ids: [String] { keys.map(\.id) }

  /// Returns these keys with a new one in front.
  public func rotated() -> SigningKeys {
    SigningKeys(.es256(), former: keys)
  }

  /// Returns only the newest key.
  public func withoutFormer() -> SigningKeys { SigningKeys(current) }

  /// Parses ``pem``: PKCS #8 blocks, newest first.
  ///
  /// - Throws: ``SigningKeysFault`` if there is no key, or anything else in the text.
  public init(pem: Secret) throws(SigningKeysFault) {
    let end = "-----END PRIVATE KEY-----"
    let keys: [JWSPrivateKey]? = pem.withExposed { text in
      var keys: [JWSPrivateKey] = []
      var rest = text[...]
      while let range = rest.range(of: end) {
        let block = rest[..<range.upperBound].trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key = JWSPrivateKey(pem: block), key.algorithm == .es256 else { return nil }
        keys.append(key)
        rest = rest[range.upperBound...]
      }
      return rest.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty ? keys : nil
    }
    guard let keys, let current = keys.first else { throw SigningKeysFault() }
    self.init(current, former: Array(keys.dropFirst()))
  }

  /// All keys as PKCS #8 in PEM, newest first, for a file with mode 0600.
  public var pem: Secret {
    Secret(keys.map { $0.pem + "\n" }.joined())
  }

  /// Returns a derived key for another purpose, the same on every server with these signing keys.
  func derived(_ purpose: String) -> [UInt8] {
    HKDF<SHA256>.deriveKey(inputKeyMaterial: current.secret, info: Array(purpose.utf8), outputByteCount: 32)
      .withUnsafeBytes { Array($0) }
  }

  /// The public keys, as served at `/.well-known/jwks.json` (RFC 7517).
  var publicSet: [UInt8] { JWKSet(keys.map { JWK($0.publicKey) }).json }
}

extension JWSPrivateKey {
  /// The ID of the key in headers and key sets.
  var id: String { publicKey.thumbprint }
}

extension SigningKeys: CustomStringConvertible, CustomReflectable {
  /// Only the IDs.
  public var description: String { "signing keys \(ids)" }
  public var customMirror: Mirror { Mirror(self, children: ["ids": ids]) }
}

/// The key file has no usable key. The server must then neither start nor replace the file with a new key.
public struct SigningKeysFault: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String { "the signing key file has no usable P-256 key" }
}
#endif
