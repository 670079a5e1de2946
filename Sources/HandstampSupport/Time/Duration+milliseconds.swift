extension Duration {
  /// The duration in whole milliseconds, rounded toward zero; the nearest number for one that has too many.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return seconds > 0 ? .max : .min }
    let (sum, above) = product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
    return above ? (product > 0 ? .max : .min) : sum
  }
}
