#if Programs
/// One client that does something over and over, waiting for its own answers alone.
protocol Lane: Sendable {
  /// Once. Throws when it was not what it should have been.
  mutating func step() async throws
}

/// Many lanes beside each other.
struct Lanes<Kind: Lane>: Sendable {
  var lanes: [Kind]

  init(_ lanes: [Kind]) { self.lanes = lanes }

  /// What a stretch of work came to.
  struct Outcome: Sendable {
    var count = 0
    var time: Duration = .zero
    var processorTime: Duration = .zero

    /// Per second.
    var rate: Double { Double(count) / (time / .seconds(1)) }
    /// The processor's time for one, of the whole process: client and server.
    var cost: Double { processorTime.inMicroseconds / Double(max(1, count)) }
  }

  /// Lets the first `width` lanes work for `duration`. What they have begun by then they finish, and it counts.
  mutating func work(_ width: Int, for duration: Duration) async throws -> Outcome {
    let before = Machine.processorTime
    let start = ContinuousClock.now
    let end = start + duration
    // Lanes of a chain must carry on where they stopped.
    let tasks = lanes.prefix(width).map { lane in
      Task.detached { () -> (Kind, Int) in
        var lane = lane
        var count = 0
        repeat {
          try await lane.step()
          count += 1
        } while ContinuousClock.now < end
        return (lane, count)
      }
    }
    var outcome = Outcome()
    for (index, task) in tasks.enumerated() {
      let (lane, count) = try await task.value
      lanes[index] = lane
      outcome.count += count
    }
    outcome.time = ContinuousClock.now - start
    outcome.processorTime = Machine.processorTime - before
    return outcome
  }
}
#endif
