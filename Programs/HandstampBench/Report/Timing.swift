#if Programs
/// Time measurement.
enum Timing {
  private static let clock = ContinuousClock()

  /// Returns the time of one call in nanoseconds: the median of `batches` batches of `count` calls each, made by `body`. The
  /// first batch is a warm-up that does not count.
  static func nanoseconds(
    batches: Int, of count: Int, _ body: (Int) async throws -> Void
  ) async rethrows -> Double {
    try await body(count)
    var times: [Double] = []
    for _ in 0..<batches {
      let start = clock.now
      try await body(count)
      times.append((clock.now - start) / .nanoseconds(1) / Double(count))
    }
    return times.median
  }

  /// Returns how long `body` takes.
  static func once(_ body: () async throws -> Void) async rethrows -> Duration {
    let start = clock.now
    try await body()
    return clock.now - start
  }
}

extension [Double] {
  /// The median; for an even count, the upper of the middle two. Zero if there are no values.
  var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}

extension Duration {
  var inMilliseconds: Double { self / .milliseconds(1) }
  var inMicroseconds: Double { self / .microseconds(1) }
}
#endif
