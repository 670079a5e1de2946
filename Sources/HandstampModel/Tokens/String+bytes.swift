extension String {
  /// The text of `bytes`; nothing where they are not UTF-8. The standard library's `init(validating:as:)` needs iOS 18.
  package init?(utf8Bytes bytes: some Collection<UInt8>) {
    let text = String(decoding: bytes, as: UTF8.self)
    // What is not UTF-8 came out as U+FFFD, which is other bytes.
    guard text.utf8.elementsEqual(bytes) else { return nil }
    self = text
  }
}
