#if Server
/// The languages that a browser's user prefers (RFC 9110 section 12.5.4).
package enum LanguageChoice {
  /// Returns the first of `offered` that the user accepts most; the first one of all if the user accepts none.
  ///
  /// - Parameters:
  ///   - field: the value of `Accept-Language`, such as `de-CH, de;q=0.9, en;q=0.5`.
  ///   - offered: codes such as `de`; not empty.
  package static func best(_ field: String?, of offered: [String]) -> String {
    match(field, of: offered) ?? offered.first ?? "en"
  }

  /// The same, but `nil` if the user accepts none.
  static func match(_ field: String?, of offered: [String]) -> String? {
    let ranges = (field ?? "").prefix(512).split(separator: ",").prefix(32).map { Range($0, of: offered) }
    var best: (code: String?, quality: Double) = (nil, 0)
    for code in offered {
      // The most specific range decides, as for `de` in `*;q=0.1, de;q=0`.
      let matching = ranges.filter { $0.matches(code) }.max { $0.isAny && !$1.isAny }
      if let matching, matching.quality > best.quality { best = (code, matching.quality) }
    }
    return best.code
  }

  private struct Range {
    let isAny: Bool
    /// The one that is offered; `nil` for none.
    private(set) var code: String?
    let quality: Double

    /// Looks a tag up as it is, and then each time without its last part (RFC 4647 section 3.4), in any case of its letters.
    init(_ text: Substring, of offered: [String]) {
      let parts = text.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
      var tag = Substring(parts.first ?? "")
      isAny = tag == "*"
      while code == nil, !tag.isEmpty {
        code = offered.first { $0.lowercased() == tag }
        tag = tag[..<(tag.lastIndex(of: "-") ?? tag.startIndex)]
      }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      quality = weight.map { Double($0) ?? 0 } ?? 1
    }

    func matches(_ code: String) -> Bool { isAny || self.code == code }
  }
}
#endif
