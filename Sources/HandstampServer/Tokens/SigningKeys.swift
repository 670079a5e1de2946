#if Server
import Crypto
import Foundation
public import HandstampCore

/// The keys that access tokens are signed with (ES256, P-256), newest first. New tokens are signed with the first; the
/// others verify what was signed before a change of keys, and may go when the last such token is over.
public struct SigningKeys: Sendable {
  struct Key: Sendable {
    /// The key's thumbprint (RFC 7638): the same key has the same id everywhere.
    let id: String
    let key: P256.Signing.PrivateKey

    init(_ key: P256.Signing.PrivateKey) {
      self.key = key
      let (x, y) = Key.coordinates(of: key)
      let canonical = "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\(x)\",\"y\":\"\(y)\"}"
      id = Base64URL.encode(SHA256.hash(data: Array(canonical.utf8)))
    }

    /// Both coordinates of the public point, as a JWK writes them (RFC 7518 section 6.2.1).
    static func coordinates(of key: P256.Signing.PrivateKey) -> (x: String, y: String) {
      let point = Array(key.publicKey.rawRepresentation)
      return (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
    }
  }

  let keys: [Key]

  /// One new key.
  public init() {
    keys = [Key(P256.Signing.PrivateKey())]
  }

  private init(keys: [Key]) { self.keys = keys }

  /// The id of the key that new tokens are signed with.
  public var currentID: String { keys.first?.id ?? "" }

  /// The ids of all keys, newest first.
  public var ids: [String] { keys.map(\.id) }

  /// A new key in front of these.
  public func rotated() -> SigningKeys {
    SigningKeys(keys: [Key(P256.Signing.PrivateKey())] + keys)
  }

  /// Without any key but the newest.
  public func withoutFormer() -> SigningKeys { SigningKeys(keys: Array(keys.prefix(1))) }

  /// Reads what ``pem`` wrote: PKCS #8 blocks, newest first. Fails for anything else, and for none.
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
    guard let keys, !keys.isEmpty else { throw SigningKeysFault() }
    self.keys = keys
  }

  /// All keys as PKCS #8 in PEM, newest first. For a file of mode 0600.
  public var pem: Secret {
    Secret(keys.map { $0.key.pemRepresentation + "\n" }.joined())
  }

  /// A key of its own for something else, the same on every server with these signing keys.
  func derived(_ purpose: String) -> [UInt8] {
    guard let key = keys.first else { return [] }
    return HKDF<SHA256>.deriveKey(
      inputKeyMaterial: SymmetricKey(data: key.key.rawRepresentation), info: Array(purpose.utf8), outputByteCount: 32
    ).withUnsafeBytes { Array($0) }
  }

  /// The public halves, as `/.well-known/jwks.json` serves them (RFC 7517).
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
  /// The ids alone.
  public var description: String { "signing keys \(ids)" }
  public var customMirror: Mirror { Mirror(self, children: ["ids": ids]) }
}

/// A key file that holds no usable key. The server must not start then, and must not make a new one in its place.
public struct SigningKeysFault: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String { "the signing key file holds no usable P-256 key" }
}
#endif
