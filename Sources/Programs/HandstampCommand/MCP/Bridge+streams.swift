#if Command
import Foundation
import Handstamp
import HandstampCommandLine

/// Streams of events, which are resumed where they broke off.
extension Bridge {
  /// Passes on the events of a response. If it breaks off before all requests are answered, the rest comes by another
  /// connection, as far as the server has given the events IDs.
  func events(
    _ response: TransportStream, of message: ClientMessage, _ open: inout Set<RequestID>, in sent: RemoteSession,
    isAgain: Bool
  ) async throws(CommandError) {
    var position = StreamPosition()
    try await read(response.body, &position, &open, in: sent, isAgain: isAgain)
    while !open.isEmpty {
      try check()
      guard position.id != nil, let pause = position.pause(entropy: .random(in: .min ... .max)) else {
        throw CommandError(
          .network, "the response of \(server.host) broke off",
          hint: "the server may have carried out the request; find out before you repeat it", code: "connection_lost")
      }
      try? await Task.sleep(for: pause)
      try check()
      guard let next = try await resume(position, in: sent) else { continue }
      try await read(next.body, &position, &open, in: sent, isAgain: isAgain)
    }
  }

  /// Reads the messages that belong to no request, as long as the session lasts. After too many failures in a row, as when the machine
  /// has slept, it waits until a request succeeds, or for a minute.
  func readOwnStream() async {
    var (position, open) = (StreamPosition(backOff: backOff), Set<RequestID>())
    let sent = session
    while !Task.isCancelled {
      let count = successes
      do throws(CommandError) {
        if let stream = try await resume(position, in: sent) {
          position.connected()
          try await read(stream.body, &position, &open, in: sent, isAgain: false)
        }
      } catch {
        // The next request meets the same error, and has an answer that can say so.
        guard error.exit == .network, !Task.isCancelled else { return ownStreamEnded(error) }
      }
      if let pause = position.pause(entropy: .random(in: .min ... .max)) {
        try? await Task.sleep(for: pause)
      } else {
        await waitForSuccess(after: count)
        position.connected()
      }
    }
  }

  /// Opens a stream of events after a position. Returns `nil` if it may be tried again.
  ///
  /// - Throws: if it cannot be had: a server may offer none (405), or have forgotten the session.
  private func resume(
    _ position: StreamPosition, in sent: RemoteSession
  ) async throws(CommandError) -> TransportStream? {
    var token = try await token()
    for isLast in [false, true] {
      var request = TransportRequest(method: "GET", url: server.url, headers: sent.streamFields(after: position.id))
      if let token { request = request.authorized(by: token) }
      let stream: TransportStream
      do throws(TransportError) { stream = try await transport.open(request) } catch { return nil }
      let type = stream.headers.first(named: "Content-Type")?.lowercased() ?? ""
      switch stream.status {
      case 200 where type.hasPrefix("text/event-stream"): return stream
      case 401 where !isLast: token = try await self.token(insteadOf: token, ReceivedChallenge(stream.headers))
      case 408, 425, 429, 500...: return nil
      default:
        throw CommandError(
          .failure, "\(server.host) does not resume the response (status \(stream.status))",
          hint: "the server may have carried out the request; find out before you repeat it",
          code: "status_\(stream.status)")
      }
    }
    return nil
  }

  /// Passes on the messages of a stream until it ends or breaks.
  private func read(
    _ body: AsyncThrowingStream<[UInt8], any Error>, _ position: inout StreamPosition, _ open: inout Set<RequestID>,
    in sent: RemoteSession, isAgain: Bool
  ) async throws(CommandError) {
    var parser = EventStreamParser(limit: Bridge.longestMessage)
    do {
      for try await part in body {
        for item in parser.items(in: part) {
          guard let bytes = position.take(item), let facts = MessageFacts.all(in: bytes) else { continue }
          await pass(bytes, facts, &open, in: sent, isAgain: isAgain)
        }
        guard parser.droppedEvents == 0 else { throw TransportError.tooLarge }
      }
    } catch {
      // A stream that broke is resumed like one that has ended.
      guard error as? TransportError == .tooLarge else { return }
      throw CommandError(.network(.tooLarge), server: ServerAddress(listed: server.host))
    }
  }

  private func check() throws(CommandError) {
    if Task.isCancelled { throw CommandError(.cancelled, "cancelled", hint: "run the same command again") }
  }
}
#endif
