#if Programs
import HandstampCore
import HandstampSupport
import HandstampTesting

/// Answers requests as a test says, and counts them.
final class ScriptedTransport: Transport {
  typealias Answer = @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

  private let answer: Locked<Answer>
  private let all = Locked<[TransportRequest]>([])
  private let feeds = Watched<[Feed]>([])

  init(_ answer: @escaping Answer = { _ throws(TransportError) in throw .notConnected("no server") }) {
    self.answer = Locked(answer)
  }

  typealias Feed = AsyncThrowingStream<[UInt8], any Error>.Continuation

  /// Returns the feed with that number, from 0, once the verifier has opened it.
  func feed(_ number: Int) async -> Feed {
    let feeds = await feeds.wait { $0.count > number }
    // A test whose time is over gets one that leads nowhere.
    return feeds.count > number ? feeds[number] : AsyncThrowingStream.makeStream().continuation
  }

  var newestFeed: Feed? { feeds.value.last }
  var requests: [TransportRequest] { all.withLock { $0 } }
  func answering(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    all.withLock { $0.append(request) }
    return try await answer.withLock { $0 }(request)
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    all.withLock { $0.append(request) }
    let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    feeds.change { $0.append(continuation) }
    return TransportStream(status: 200, headers: [HeaderField("Content-Type", "text/event-stream")], body: body)
  }
}

/// Waits until `condition` holds; the suite's time limit ends a wait in vain.
func until(_ condition: () async -> Bool) async {
  await othersFirst(until: condition)
}
#endif
