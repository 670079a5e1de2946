import Crypto
package import HandstampCore
import HandstampSupport

extension TokenMint {
  /// Encrypts bytes for this server alone, with AES-GCM and a random nonce, as `<kid>.<base64url>`. Each purpose has a key of its own.
  ///
  /// - Parameter context: what the text belongs to; only the same opens it.
  /// - Returns: `nil` if the system has no such cipher.
  package func seal(_ bytes: [UInt8], for purpose: Purpose, boundTo context: String) -> String? {
    guard let key = sealingKey(keys.current, for: purpose),
      let box = try? AES.GCM.seal(bytes, using: key, authenticating: Array(context.utf8)), let whole = box.combined
    else { return nil }
    return "\(keys.current).\(Base64URL.encode(Array(whole)))"
  }

  /// Returns what ``seal(_:for:boundTo:)`` was given; `nil` for any other text, purpose or context.
  package func open(_ text: String, for purpose: Purpose, boundTo context: String) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let key = sealingKey(KeyID(String(parts[0])), for: purpose),
      let whole = Base64URL.decode(parts[1]), let box = try? AES.GCM.SealedBox(combined: whole),
      let bytes = try? AES.GCM.open(box, using: key, authenticating: Array(context.utf8))
    else { return nil }
    return Array(bytes)
  }

  /// Seals a secret that is stored, see ``seal(_:for:boundTo:)-([UInt8],_,_)``.
  package func seal(_ secret: Secret, for purpose: Purpose, boundTo context: String) throws(RegistryError) -> String {
    let text = secret.withExposedBytes { seal(Array($0), for: purpose, boundTo: context) }
    guard let text else { throw .unavailable("a secret cannot be sealed") }
    return text
  }

  /// Returns the secret that ``seal(_:for:boundTo:)-(Secret,_,_)`` was given; `nil` for any other text, purpose or context.
  ///
  /// - Throws: ``RegistryError/unknownKey(_:)`` if this server does not have the key, and it was not retired.
  package func secret(_ text: String, for purpose: Purpose, boundTo context: String) throws(RegistryError) -> Secret? {
    if let bytes = open(text, for: purpose, boundTo: context) { return Secret(bytes: bytes) }
    guard let id = TokenMint.key(ofSealed: text), keys.keys[id] == nil, !keys.retired.contains(id) else { return nil }
    throw .unknownKey(id)
  }

  /// The key that a text was sealed with, as it says; `nil` for a text that is not sealed.
  static func key(ofSealed text: String) -> KeyID? {
    let id = KeyID(String(text.prefix { $0 != "." }))
    return text.contains(".") && id.isValid ? id : nil
  }
}
