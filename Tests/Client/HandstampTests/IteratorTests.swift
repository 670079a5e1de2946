import Testing

@testable import Handstamp

@MainActor @Suite(.timeLimit(.minutes(10))) struct `An iterator on a system before iOS 18` {
  @Test func `delivers every element in order, and the end`() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    var iterator = stream.makeAsyncIterator()
    for number in 0..<100 { continuation.yield(number) }
    for number in 0..<50 { #expect(await iterator.nextElsewhere() == number) }
    for number in 50..<100 { #expect(await iterator.nextHere() == number) }
    continuation.finish()
    #expect(await iterator.nextElsewhere() == nil)
    #expect(await iterator.nextHere() == nil)
  }

  @Test func `rethrows its stream's error`() async throws {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Int.self)
    var iterator = stream.makeAsyncIterator()
    continuation.yield(1)
    continuation.finish(throwing: SessionError.tokenRejected)
    #expect(try await iterator.nextElsewhere() == 1)
    do {
      _ = try await iterator.nextElsewhere()
      Issue.record("it ended without an error")
    } catch { #expect(error as? SessionError == .tokenRejected) }
    #expect(try await iterator.nextHere() == nil)
  }

  @Test func `stops waiting when its task is cancelled`() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let waiting = Task {
      var iterator = stream.makeAsyncIterator()
      return await iterator.nextElsewhere()
    }
    waiting.cancel()
    #expect(await waiting.value == nil)
    continuation.finish()
  }
}
