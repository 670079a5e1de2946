import HandstampSupport

extension String {
  /// A code as the user typed or pasted it, without white space and zero-width characters around it. `nil` if it has no letter and no
  /// digit, such as one of blanks or hyphens: the server would find nothing in it, so such a code is not sent.
  var typedCode: String? {
    let hasContent = unicodeScalars.contains { scalar in
      !scalar.isUnseen && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
    }
    return hasContent ? trimmed : nil
  }
}
