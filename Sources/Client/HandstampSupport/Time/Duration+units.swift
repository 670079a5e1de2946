extension Duration {
  /// The duration in whole milliseconds, rounded toward zero; the nearest number for one that has too many.
  package var wholeMilliseconds: Int64 { whole(perSecond: 1000) }

  /// The same in nanoseconds.
  package var wholeNanoseconds: Int64 { whole(perSecond: 1_000_000_000) }

  /// The duration in seconds, rounded up.
  package var roundedUpSeconds: Int64 {
    let seconds = whole(perSecond: 1)
    return seconds < .max && .seconds(seconds) < self ? seconds + 1 : seconds
  }

  /// The duration as a floating-point number of seconds.
  package var inSeconds: Double { self / .seconds(1) }

  private func whole(perSecond units: Int64) -> Int64 {
    // `components` traps beyond 64 bits of seconds.
    guard abs(inSeconds) < 9e18 else { return self < .zero ? .min : .max }
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: units)
    let (sum, above) = product.addingReportingOverflow(attoseconds / (1_000_000_000_000_000_000 / units))
    return overflow || above ? (self < .zero ? .min : .max) : sum
  }
}
