#if JOSE
import HandstampSupport

/// A signed object in compact serialization (RFC 7515 section 7.1), not yet verified. Its payload is given out only for a key
/// that signed it.
package struct CompactJWS: Sendable {
  /// Maximum length, in bytes; longer input is refused unread.
  package static let longest = 8192

  private let encodedHeader: ArraySlice<UInt8>
  private let payload: ArraySlice<UInt8>
  /// Header and payload with the dot between them.
  private let signed: ArraySlice<UInt8>
  private let signature: [UInt8]

  /// Splits `text` into its three parts. `nil` for any other text, and for a second spelling of a signature.
  package init?(_ text: [UInt8]) {
    guard text.count <= CompactJWS.longest else { return nil }
    let dot = UInt8(ascii: ".")
    guard let first = text.firstIndex(of: dot), let last = text.lastIndex(of: dot), first < last,
      !text[(first + 1)..<last].contains(dot), let signature = Base64URL.decode(Array(text[(last + 1)...]))
    else { return nil }
    encodedHeader = text[..<first]
    payload = text[(first + 1)..<last]
    signed = text[..<last]
    self.signature = signature
  }

  /// The header, to look up its key. Nothing is verified yet. `nil` for one that is not allowed, and one with a key of its own.
  package var header: JWSHeader? { JWSHeader(encodedHeader) }

  /// The issuer that the payload names, to look up its keys, if the header is allowed. Nothing is verified yet.
  package var issuer: String? { claimed("iss") }
  /// The subject that the payload names, to look up its keys, if the header is allowed. Nothing is verified yet.
  package var subject: String? { claimed("sub") }

  private func claimed(_ name: String) -> String? {
    guard header != nil, let bytes = Base64URL.decode(Array(payload)) else { return nil }
    return JSONValue(bytes)?[name]?.string
  }

  /// Returns the payload, if the algorithm of the header is that of `key`, and `key` signed the object.
  ///
  /// - Parameter header: this object's ``header``, so that it is parsed only once.
  package func payload(under header: JWSHeader, signedBy key: JWSPublicKey) -> [UInt8]? {
    header.algorithm == key.algorithm ? verified(by: key) : nil
  }

  /// Returns the payload, if the encoded header is `known`, byte for byte, and `key` signed the object. For a header that this
  /// program has written for that key itself; it is not parsed.
  package func payload(under known: [UInt8], signedBy key: JWSPublicKey) -> [UInt8]? {
    encodedHeader.elementsEqual(known) ? verified(by: key) : nil
  }

  /// Returns whether the encoded header is `known`, byte for byte.
  package func hasHeader(_ known: [UInt8]) -> Bool { encodedHeader.elementsEqual(known) }

  /// Returns the payload, if the object is of that type and was signed by the key in its header: it proves possession of that key
  /// and nothing else (RFC 9449 section 4.2).
  ///
  /// - Parameter algorithms: the accepted ones.
  package func payload(
    provingPossessionAs type: String, with algorithms: Set<JWSAlgorithm>
  ) -> (key: JWSPublicKey, payload: [UInt8])? {
    guard let header = JWSHeader(encodedHeader, hasKey: true), header.type == type,
      algorithms.contains(header.algorithm),
      let key = header.key, let payload = verified(by: key)
    else { return nil }
    return (key, payload)
  }

  private func verified(by key: JWSPublicKey) -> [UInt8]? {
    key.isSignature(signature, of: signed) ? Base64URL.decode(Array(payload)) : nil
  }

  /// Returns the encoded header of tokens that are signed with `key`: its algorithm, its thumbprint as `kid`, and the type.
  package static func header(for key: JWSPublicKey, type: String) -> [UInt8] {
    let json = JSONText([("alg", key.algorithm.rawValue), ("kid", key.thumbprint), ("typ", type)])
    var header: [UInt8] = []
    Base64URL.append(json.finished, to: &header)
    return header
  }

  /// Returns the object in compact serialization; `nil` if the key cannot sign.
  ///
  /// - Parameter header: from ``header(for:type:)`` of the same key.
  package static func signed(_ payload: [UInt8], under header: [UInt8], by key: JWSPrivateKey) -> [UInt8]? {
    var text = header
    text.reserveCapacity(header.count + payload.count * 4 / 3 + (key.algorithm == .es256 ? 96 : 1400))
    text.append(UInt8(ascii: "."))
    Base64URL.append(payload, to: &text)
    guard let signature = key.signature(of: text) else { return nil }
    text.append(UInt8(ascii: "."))
    Base64URL.append(signature, to: &text)
    return text
  }
}
#endif
