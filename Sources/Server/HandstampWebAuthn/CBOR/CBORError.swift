#if JOSE
/// The reason why bytes are not CBOR as ``CBORValue`` reads it. Sections are those of RFC 8949.
package enum CBORError: Error, Sendable, Hashable {
  /// The bytes end within an item, or a length is greater than what is left.
  case truncated
  /// There are bytes after the item.
  case trailingBytes
  /// A number or a length has a shorter form (section 4.2.1).
  case notShortest
  /// An item of indefinite length (section 3.2).
  case indefiniteLength
  /// A tag, a floating-point number, `undefined`, a simple value, or a reserved head (sections 3 and 3.3).
  case unsupported
  /// An integer that does not fit 64 bits with a sign.
  case integerOutOfRange
  /// A text that is not UTF-8 (section 3.1).
  case notUTF8
  /// A map with a key that is neither an integer nor a text.
  case unsupportedKey
  /// A map that has the same key twice (section 5.6).
  case repeatedKey
  /// More than ``CBORReader/deepest`` arrays and maps within one another.
  case tooDeep
}
#endif
