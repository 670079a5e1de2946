#if JOSE
package import HandstampSupport

/// A public key for signatures as a JSON Web Key (RFC 7517).
package struct JWK: Sendable, Hashable {
  package let key: JWSPublicKey
  /// `kid`; in the keys of this package, the thumbprint.
  package let id: String?

  package init(_ key: JWSPublicKey) {
    self.key = key
    id = key.thumbprint
  }

  /// Reads a key. `nil` for another kind of key, one that is not for verifying signatures with its own algorithm, and one that
  /// contains its private part, which its owner has given away.
  package init?(_ json: JSONValue) {
    guard JWK.privateMembers.allSatisfy({ json[$0] == nil }) else { return nil }
    guard let key = JWK.key(json), JWK.allows(json, key.algorithm) else { return nil }
    let id = json["kid"]
    guard id == nil || id?.string != nil else { return nil }
    self.key = key
    self.id = id?.string
  }

  /// RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1.
  private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

  private static func key(_ json: JSONValue) -> JWSPublicKey? {
    switch json["kty"]?.string {
    case "EC":
      guard json["crv"]?.string == "P-256", let x = bytes(json["x"]), let y = bytes(json["y"]) else { return nil }
      return JWSPublicKey(x: x, y: y)
    case "RSA":
      guard let n = bytes(json["n"]), let e = bytes(json["e"]) else { return nil }
      return JWSPublicKey(modulus: n, exponent: e)
    default: return nil
    }
  }

  private static func bytes(_ member: JSONValue?) -> [UInt8]? { member?.string.flatMap { Base64URL.decode($0) } }

  /// Whether the key may verify signatures with that algorithm (sections 4.2 to 4.4); what is left out allows it.
  private static func allows(_ json: JSONValue, _ algorithm: JWSAlgorithm) -> Bool {
    if let use = json["use"], use.string != "sig" { return false }
    if let operations = json["key_ops"], operations.array?.contains(.string("verify")) != true { return false }
    return json["alg"].map { $0.string == algorithm.rawValue } ?? true
  }

  /// The key as JSON, with its algorithm and that it is for signatures.
  package var json: [UInt8] {
    var json = JSONText(key.members)
    json.add("use", "sig")
    json.add("alg", key.algorithm.rawValue)
    json.add("kid", ifPresent: id)
    return json.finished
  }
}

/// A JWK Set (RFC 7517 section 5).
package struct JWKSet: Sendable, Hashable {
  /// Maximum number of keys that are read; further ones are ignored.
  package static let mostKeys = 32
  /// Maximum size of a set, in bytes.
  package static let longest = 64 * 1024

  package let keys: [JWK]

  package init(_ keys: [JWK]) { self.keys = keys }

  /// Reads a set, without the keys that are not usable (section 5). `nil` for a text that is no set.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count <= JWKSet.longest, let members = JSONValue(bytes)?["keys"]?.array else { return nil }
    keys = Array(members.lazy.compactMap(JWK.init).prefix(JWKSet.mostKeys))
  }

  /// The lifetime of a set in a cache that asked for none.
  package static let usualLife = Duration.seconds(3600)

  /// Returns the cache lifetime from the `Cache-Control` of a response (RFC 9111 section 5.2.2): zero if it must not be kept, and
  /// ``usualLife`` if it does not say. The caller sets limits to it.
  package static func life(cacheControl field: String?) -> Duration {
    guard let field else { return usualLife }
    var life = usualLife
    for directive in field.lowercased().split(separator: ",") {
      let directive = directive.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
      if directive == "no-store" || directive == "no-cache" { return .zero }
      if directive.hasPrefix("max-age=") {
        // Very large numbers are capped.
        life = Int64(directive.dropFirst(8)).map { .seconds(min(max($0, 0), 1 << 32)) } ?? .zero
      }
    }
    return life
  }

  package var json: [UInt8] {
    Array(#"{"keys":["#.utf8) + keys.map(\.json).joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
  }
}
#endif
