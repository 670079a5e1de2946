#if Programs
import Handstamp
import HandstampTesting

/// Measures many observers of one session that is signed in and out repeatedly.
struct Observers {
  private let count = 1_000
  /// Half of them sign-ins, half sign-outs.
  private let states = 40
  private let rounds = 5

  @concurrent func measure(into report: inout Report) async throws {
    var with: [Double] = []
    var without: [Double] = []
    var streams: [Double] = []
    for _ in 0..<rounds {
      streams.append(try await watchStreams().inMilliseconds)
      with.append(try await watch(count).inMilliseconds)
      without.append(try await watch(0).inMilliseconds)
    }
    let told = Double(count * states)
    report.add(
      "client", "one change told to one observer", (with.median - without.median) / told * 1e6, "ns",
      target: .atMost(1.5 * streams.median / told * 1e6),
      note: "among \(count.formatted): the time with observers less the time without, divided by observers and states")
    report.add(
      "client", "one element of one AsyncStream", streams.median / told * 1e6, "ns",
      note: "\(count.formatted) streams with a task each, \(states) elements")
    report.add(
      "client", "\(count.formatted) observers × \(states) states", with.median, "ms",
      note: "includes sign-ins and sign-outs, \(without.median.figure) ms without observers; median of \(rounds)")
  }

  /// The same number of elements, each yielded to an `AsyncStream` of its observer.
  private func watchStreams() async throws -> Duration {
    let gate = Gate()
    let all = states
    let streams = (0..<count).map { _ in AsyncStream.makeStream(of: Int.self) }
    let observers = streams.map { stream in
      Task.detached { () -> Int in
        await gate.wait()
        var seen = 0
        for await _ in stream.stream {
          seen += 1
          if seen == all { break }
        }
        return seen
      }
    }
    await gate.arrivals(count)
    return try await Timing.once {
      gate.open()
      for number in 1...states {
        for stream in streams { stream.continuation.yield(number) }
        await Task.yield()
      }
      for observer in observers {
        guard await observer.value == all else { throw BenchError("a stream lost an element") }
      }
    }
  }

  private func watch(_ count: Int) async throws -> Duration {
    let controller = try await Sessions.controller(life: .seconds(3600), backend: Sessions.silent)
    let all = states + 1
    let gate = Gate()
    let observers = (0..<count).map { _ in
      Task.detached { () -> Int in
        var seen = 0
        for await _ in controller.states {
          seen += 1
          if seen == 1 { await gate.wait() }
          if seen == all { break }
        }
        return seen
      }
    }
    await gate.arrivals(count)
    return try await Timing.once {
      gate.open()
      for number in 1...(states / 2) {
        await controller.signOut()
        let grant = Sessions.grant(number, session: SessionID("s\(number)"))
        try await controller.signIn(with: grant, by: .init(.password))
      }
      for observer in observers {
        guard await observer.value == all else { throw BenchError("an observer missed a state") }
      }
    }
  }
}
#endif
