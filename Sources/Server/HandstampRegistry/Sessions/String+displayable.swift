extension String {
  /// Returns the text without characters that are unsafe in terminals, pages or logs: control characters, line separators, and
  /// marks that change the writing direction. Truncated to `limit` bytes, between characters.
  func displayable(limit: Int) -> String {
    // Fast path for text that is already clean, such as everything from a store.
    if utf8.count <= limit, unicodeScalars.allSatisfy(String.isDisplayable) { return self }
    var text = ""
    for character in self {
      let kept = String(String.UnicodeScalarView(character.unicodeScalars.filter(String.isDisplayable)))
      guard text.utf8.count + kept.utf8.count <= limit else { break }
      text += kept
    }
    return text
  }

  private static func isDisplayable(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F..<0xA0, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0x061C: false
    default: true
    }
  }
}
