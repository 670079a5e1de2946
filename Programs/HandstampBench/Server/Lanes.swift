#if Programs
/// A client that repeats one operation, waiting only for its own responses.
protocol Lane: Sendable {
  /// Performs the operation once. Throws ``BenchError`` if the result is not the expected one.
  mutating func step() async throws
}

/// Lanes that run concurrently.
struct Lanes<Kind: Lane>: Sendable {
  var lanes: [Kind]

  init(_ lanes: [Kind]) { self.lanes = lanes }

  /// The result of a stretch of work.
  struct Outcome: Sendable {
    var count = 0
    var time: Duration = .zero
    var processorTime: Duration = .zero

    /// Operations per second.
    var rate: Double { Double(count) / (time / .seconds(1)) }
    /// The process's CPU time per operation in µs, for client and server.
    var cost: Double { processorTime.inMicroseconds / Double(max(1, count)) }
  }

  /// Runs the first `width` lanes for `duration`. Operations started by then are finished and counted.
  mutating func work(_ width: Int, for duration: Duration) async throws -> Outcome {
    let before = Machine.processorTime
    let start = ContinuousClock.now
    let end = start + duration
    // A lane's next stretch continues from its last state, such as the current refresh token.
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
