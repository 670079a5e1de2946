extension String {
  /// The text of `bytes`; `nil` if they are not UTF-8. The standard library's `init(validating:as:)` needs iOS 18.
  package init?(utf8Bytes bytes: some Collection<UInt8>) { self.init(utf8Bytes: Array(bytes)) }

  // Arrays, as in ``Base64URL``.
  package init?(utf8Bytes bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    // Invalid UTF-8 was replaced by U+FFFD, whose bytes differ.
    guard text.utf8.elementsEqual(bytes) else { return nil }
    self = text
  }
}
