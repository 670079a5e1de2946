extension String {
  /// The text without what could lead a terminal, a page or a log astray: control characters, line separators, and the marks
  /// that turn the direction of writing. Cut after `limit` bytes, between characters.
  package func displayable(limit: Int) -> String {
    // What was cleaned before, as everything that comes from a store, need not be taken apart.
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
