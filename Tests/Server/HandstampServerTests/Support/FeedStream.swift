#if Programs
import AsyncHTTPClient
import Foundation
import HandstampCore
import NIOCore
import NIOHTTP1

/// A verifier's view of the revocation feed, read with no code of the verifier.
final class FeedStream {
  private var chunks: AsyncThrowingStream<String, any Error>.Iterator
  private let reading: Task<Void, Never>
  private var held = ""

  init(_ test: TestServer, client: String = "api", after last: String? = nil) async throws {
    var request = HTTPClientRequest(url: test.client.base + "/v1/revocations")
    for (name, value) in TestServer.basic(client, TestServer.secret) { request.headers.add(name: name, value: value) }
    if let last { request.headers.add(name: "Last-Event-ID", value: last) }
    let response = try await HTTPClient.shared.execute(request, timeout: .seconds(240))
    guard response.status == .ok, response.headers.first(name: "Content-Type") == "text/event-stream" else {
      throw WireStream.Refused(status: Int(response.status.code))
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: String.self)
    chunks = stream.makeAsyncIterator()
    reading = Task {
      do {
        for try await chunk in response.body { continuation.yield(String(buffer: chunk)) }
        continuation.finish()
      } catch { continuation.finish(throwing: error) }
    }
  }

  deinit { reading.cancel() }

  func close() { reading.cancel() }

  /// The next event; `nil` at the end.
  func next() async throws -> WireEvent? {
    while true {
      if let end = held.range(of: "\n\n") {
        var event = WireEvent()
        for line in held[..<end.lowerBound].split(separator: "\n") {
          let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
          switch parts.first {
          case "id": event.id = parts.last
          case "event": event.name = parts.last
          case "data": event.data = parts.last
          default: break
          }
        }
        held = String(held[end.upperBound...])
        return event
      }
      guard let chunk = try await chunks.next(isolation: #isolation) else { return nil }
      held += chunk
    }
  }

  /// The sessions that arrive until the next confirmation, and the last ID.
  func complete() async throws -> (sessions: [String: Int], id: String?)? {
    var sessions: [String: Int] = [:]
    var id: String?
    while let event = try await next() {
      id = event.id ?? id
      if event.name == "verification" { return (sessions, id) }
      for (session, until) in event.json[object: "sessions"].fields { sessions[session] = until as? Int }
    }
    return nil
  }
}
#endif
