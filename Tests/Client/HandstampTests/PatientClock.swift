/// Sleeps ten minutes longer than it is asked to, so that no limit passes while a busy machine runs other tests.
struct PatientClock: Clock {
  private let clock = ContinuousClock()

  var now: ContinuousClock.Instant { clock.now }
  var minimumResolution: Duration { clock.minimumResolution }

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline.advanced(by: .seconds(600)), tolerance: tolerance)
  }
}
