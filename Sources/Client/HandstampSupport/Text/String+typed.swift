extension String {
  /// The characters of `alphabet` in a code that a person typed or pasted: digits of every script by their value, letters in either case
  /// and width. All else is ignored, such as blanks, dashes and full stops (RFC 8628 section 6.1).
  ///
  /// - Parameter alphabet: digits and capital letters of ASCII.
  package func typed(in alphabet: String) -> String {
    let letters = unicodeScalars.prefix(1024).compactMap { scalar -> Unicode.Scalar? in
      let digit = scalar.properties.numericType == .decimal ? scalar.properties.numericValue : nil
      let narrow = (0xFF01...0xFF5E).contains(scalar.value) ? scalar.value - 0xFEE0 : scalar.value
      let capital = (0x61...0x7A).contains(narrow) ? narrow - 0x20 : narrow
      return Unicode.Scalar(digit.map { 0x30 + UInt32($0) } ?? capital)
    }
    return String(String.UnicodeScalarView(letters.filter(alphabet.unicodeScalars.contains)))
  }

  /// The text that a person has pasted for a code: the parameter `name` of a link, if it is one of `issuer`, else `nil`; any other text
  /// as it is.
  package func pasted(_ name: String, at issuer: String) -> String? {
    guard contains("://") else { return self }
    guard let link = link.flatMap({ WebURL($0) }), let home = WebURL(issuer), link.origin == home.origin,
      home.path == "/" || (link.path + "/").hasPrefix(home.path + "/"),
      let field = link.query?.split(separator: "&").first(where: { $0.hasPrefix(name + "=") })
    else { return nil }
    return PercentEncoding.decode(field.utf8.dropFirst(name.utf8.count + 1)).flatMap { String(utf8Bytes: $0) }
  }

  /// The same for a link that was made of `template`, whatever stands at its `{action}`: what stands at `{token}`, and what follows.
  package func pasted(by template: String) -> String? {
    guard let link, let place = template.firstRange(of: "{token}") else { return nil }
    var rest = link[...]
    let parts = template[..<place.lowerBound].split(separator: "{action}", omittingEmptySubsequences: false)
    for (number, part) in parts.enumerated() {
      if number > 0 { rest = rest.drop { $0.isLetter } }
      guard rest.hasPrefix(part) else { return nil }
      rest = rest.dropFirst(part.count)
    }
    return String(rest)
  }

  private var link: String? {
    split { $0.isWhitespace || "<>\"".contains($0) }.first { $0.contains("://") }.map { String($0).trimmed }
  }

  /// The text without white space and zero-width characters around it. Foundation's function loads tables first, which each command would
  /// wait for.
  package var trimmed: String {
    let isText = { (scalar: Unicode.Scalar) in
      !scalar.properties.isWhitespace && scalar.properties.generalCategory != .format
    }
    guard let first = unicodeScalars.firstIndex(where: isText), let last = unicodeScalars.lastIndex(where: isText)
    else { return "" }
    return String(unicodeScalars[first...last])
  }
}

extension Unicode.Scalar {
  /// Whether nothing of it is seen: blanks, fillers, and what has no form of its own (UAX #44, `Default_Ignorable_Code_Point`).
  package var isUnseen: Bool {
    properties.isWhitespace || properties.isDefaultIgnorableCodePoint || self == "\u{2800}"
  }
}

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

/// The classes of ASCII characters. Bytes of other characters are in none.
extension UInt8 {
  /// `0` to `9`.
  @inlinable package var isDigit: Bool { 0x30 <= self && self <= 0x39 }
  /// `a` to `z`.
  @inlinable package var isLowercaseLetter: Bool { 0x61 <= self && self <= 0x7A }
  /// `a` to `z` and `A` to `Z`.
  @inlinable package var isLetter: Bool { (self | 0x20).isLowercaseLetter }
  @inlinable package var isAlphanumeric: Bool { isLetter || isDigit }
  /// Letters, digits, and `-._~`, which URLs never escape (RFC 3986 section 2.3).
  @inlinable package var isUnreserved: Bool {
    isAlphanumeric || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
  }
}
