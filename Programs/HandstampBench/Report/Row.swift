#if Programs
/// One measured figure.
struct Row {
  enum Target {
    case atMost(Double)
    case atLeast(Double)
  }

  var group: String
  var name: String
  var value: Double
  var unit: String
  /// `nil` for a figure that is only measured for comparison.
  var target: Target?
  /// How the figure was measured, or what it consists of.
  var note: String

  /// Whether the target is met; `nil` without a target.
  var isMet: Bool? {
    switch target {
    case .atMost(let limit): value <= limit
    case .atLeast(let limit): value >= limit
    case nil: nil
    }
  }

  var verdict: String {
    switch isMet {
    case true?: "met"
    case false?: "MISSED"
    case nil: ""
    }
  }

  var targetText: String {
    switch target {
    case .atMost(let limit): "≤ \(limit.figure) \(unit)"
    case .atLeast(let limit): "≥ \(limit.figure) \(unit)"
    case nil: ""
    }
  }
}

extension Double {
  /// The number with three significant digits below 1,000, and as a whole number with separators above.
  var figure: String {
    guard isFinite else { return "–" }
    if magnitude >= 999.5 {
      var digits = String(Int64(magnitude.rounded()))
      var groups: [String] = []
      while digits.count > 3 {
        groups.insert(String(digits.suffix(3)), at: 0)
        digits.removeLast(3)
      }
      return (self < 0 ? "−" : "") + ([digits] + groups).joined(separator: ",")
    }
    let factor: Double = magnitude >= 99.95 ? 1 : magnitude >= 9.995 ? 10 : 100
    let rounded = (self * factor).rounded() / factor
    return rounded == rounded.rounded() ? String(Int64(rounded)) : String(rounded)
  }
}
#endif
