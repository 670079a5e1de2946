#if Server
import Crypto
import Foundation
public import HandstampCore
import HandstampSupport

/// The keys that sign access tokens (ES256, P-256), newest first. The first key signs new tokens; the others verify tokens
/// signed before a rotation and can be removed once the last such token has expired.
public struct SigningKeys: Sendable {
  struct Key: Sendable {
    /// The key's thumbprint (RFC 7638), so that a key has the same ID everywhere.
    let id: String
    let key: P256.Signing.PrivateKey

    init(_ key: P256.Signing.PrivateKey) {
      self.key = key
      let (x, y) = Key.coordinates(of: key)
      let canonical = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(x)\",\"y\":\"\(y)\"}"
      id = Base64URL.encode(SHA256.hash(data: Array(canonical.utf8)))
    }

    /// Returns both coordinates of the public point, as encoded in a JWK (RFC 7518 section 6.2.1).
    static func coordinates(of key: P256.Signing.PrivateKey) -> (x: String, y: String) {
      let point = Array(key.publicKey.rawRepresentation)
      return (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
    }
  }

  private let current: Key
  private let former: [Key]

  var keys: [Key] { [current] + former }

  /// Creates a set with one new key.
  public init() { self.init(Key(P256.Signing.PrivateKey())) }

  private init(_ current: Key, former: [Key] = []) {
    self.current = current
    self.former = former
  }

  /// The ID of the key that signs new tokens.
  public var currentID: String { current.id }

  /// The IDs of all keys, newest first.
  public var ids: [String] { keys.map(\.id) }

  /// Returns these keys with a new one in front.
  public func rotated() -> SigningKeys {
    SigningKeys(Key(P256.Signing.PrivateKey()), former: keys)
  }

  /// Returns only the newest key.
  public func withoutFormer() -> SigningKeys { SigningKeys(current) }

  /// Parses ``pem``: PKCS #8 blocks, newest first.
  ///
  /// - Throws: ``SigningKeysFault`` if there is no key, or anything else in the text.
  public init(pem: Secret) throws(SigningKeysFault) {
    let end = "-----END PRIVATE KEY-----"
    let keys: [Key]? = pem.withExposed { text in
      var keys: [Key] = []
      var rest = text[...]
      while let range = rest.range(of: end) {
        let block = rest[..<range.upperBound].trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key = try? P256.Signing.PrivateKey(pemRepresentation: block) else { return nil }
        keys.append(Key(key))
        rest = rest[range.upperBound...]
      }
      return rest.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty ? keys : nil
    }
    guard let keys, let current = keys.first else { throw SigningKeysFault() }
    self.init(current, former: Array(keys.dropFirst()))
  }

  /// All keys as PKCS #8 in PEM, newest first, for a file with mode 0600.
  public var pem: Secret {
    Secret(keys.map { $0.key.pemRepresentation + "\n" }.joined())
  }

  /// Returns a derived key for another purpose, the same on every server with these signing keys.
  func derived(_ purpose: String) -> [UInt8] {
    HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: current.key.rawRepresentation), info: Array(purpose.utf8),
      outputByteCount: 32
    ).withUnsafeBytes { Array($0) }
  }

  /// The public keys, as served at `/.well-known/jwks.json` (RFC 7517).
  var publicSet: [UInt8] {
    var set = JSONText()
    set.add(
      "keys",
      keys.map { key in
        let (x, y) = Key.coordinates(of: key.key)
        var json = JSONText()
        json.add("kty", "EC")
        json.add("crv", "P-256")
        json.add("use", "sig")
        json.add("alg", "ES256")
        json.add("kid", key.id)
        json.add("x", x)
        json.add("y", y)
        return json
      })
    return set.finished
  }
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
