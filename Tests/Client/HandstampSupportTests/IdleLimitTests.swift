import Dispatch
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A limit of idle time` {
  private struct IdleError: Error, Equatable {}

  @Test func `ends work that makes no progress`() async {
    await #expect(throws: IdleError()) {
      try await withIdleLimit(.milliseconds(20), throwing: IdleError()) { _ throws(IdleError) in
        let (never, end) = AsyncStream.makeStream(of: Int.self)
        for await _ in never {}
        end.finish()
      }
    }
  }

  @Test func `lets work go on that makes progress`() async throws {
    let isDone = try await withIdleLimit(.seconds(1), throwing: IdleError()) { progress throws(IdleError) in
      let end = ContinuousClock.now + .seconds(3)
      let (ends, ending) = AsyncStream.makeStream(of: Void.self)
      // A queue of its own reports the progress, because a task may wait for its turn for longer than the limit.
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "progress"))
      timer.schedule(deadline: .now(), repeating: .milliseconds(10))
      timer.setEventHandler {
        progress()
        if ContinuousClock.now >= end { ending.finish() }
      }
      timer.resume()
      for await _ in ends {}
      timer.cancel()
      return ContinuousClock.now >= end
    }
    #expect(isDone)
  }

  @Test func `returns the result, or the error, of the work`() async throws {
    let value = try await withIdleLimit(.seconds(600), throwing: IdleError()) { _ throws(IdleError) in 7 }
    #expect(value == 7)
    await #expect(throws: IdleError()) {
      try await withIdleLimit(.seconds(600), throwing: IdleError()) { _ throws(IdleError) -> Int in throw IdleError() }
    }
  }
}
