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
    let ranges = (field ?? "").prefix(512).split(separator: ",").prefix(32).map(Range.init)
    var best: (code: String?, quality: Double) = (nil, 0)
    for code in offered {
      // The most specific range decides, as for `de` in `*;q=0.1, de;q=0`.
      let matching = ranges.filter { $0.matches(code) }.max { $0.primary.count < $1.primary.count }
      if let matching, matching.quality > best.quality { best = (code, matching.quality) }
    }
    return best.code
  }

  private struct Range {
    /// The language without a region; `*` is any.
    let primary: Substring
    let quality: Double

    init(_ text: Substring) {
      let parts = text.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
      primary = (parts.first ?? "").split(separator: "-").first ?? ""
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
      quality = weight.map { Double($0) ?? 0 } ?? 1
    }

    func matches(_ code: String) -> Bool { primary == "*" || primary == code }
  }
}
#endif
