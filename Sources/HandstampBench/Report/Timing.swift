#if Programs
/// How times are taken.
enum Timing {
  private static let clock = ContinuousClock()

  /// The nanoseconds of one call: the median of `batches` batches of `count` calls each, which `body` makes. One more batch
  /// goes before, uncounted.
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

  /// How long `body` takes.
  static func once(_ body: () async throws -> Void) async rethrows -> Duration {
    let start = clock.now
    try await body()
    return clock.now - start
  }
}

extension [Double] {
  /// The middle one; of an even number, the upper of the two. Zero of none.
  var median: Double { isEmpty ? 0 : sorted()[count / 2] }
}

extension Duration {
  var inMilliseconds: Double { self / .milliseconds(1) }
  var inMicroseconds: Double { self / .microseconds(1) }
}
#endif
