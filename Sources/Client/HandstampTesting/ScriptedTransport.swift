import Foundation
public import HandstampCore
import HandstampSupport

/// A server of an app's API that answers as the test says.
///
/// ```swift
/// let server = ScriptedTransport(["GET /v1/me": #"{"name":"Ada"}"#])
/// server.answer("POST /v1/posts", with: TransportResponse(status: 403))
/// server.fail("GET /v1/feed", with: .notConnected("no network"))
/// ```
/// A request without an answer gets 404.
public final class ScriptedTransport: Transport {
  private struct Content: Sendable {
    var answers: [String: Result<TransportResponse, TransportError>] = [:]
    var requests: [TransportRequest] = []
  }
  private let content = Locked(Content())

  /// - Parameter json: The bodies by request, method and path; each is a response with status 200.
  public init(_ json: [String: String] = [:]) { for (request, body) in json { answer(request, json: body) } }

  /// The requests so far, in order.
  public var requests: [TransportRequest] { content.withLock { $0.requests } }

  /// Answers a request, such as `GET /v1/me`, from now on.
  public func answer(_ request: String, with response: TransportResponse) {
    content.withLock { $0.answers[request] = .success(response) }
  }

  /// Answers a request with JSON from now on.
  public func answer(_ request: String, status: Int = 200, json: String) {
    let headers = [HeaderField("Content-Type", "application/json")]
    answer(request, with: TransportResponse(status: status, headers: headers, body: Array(json.utf8)))
  }

  /// Fails a request from now on.
  public func fail(_ request: String, with error: TransportError) {
    content.withLock { $0.answers[request] = .failure(error) }
  }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let path = URLComponents(string: request.url)?.path ?? ""
    let answer = content.withLock { content in
      content.requests.append(request)
      return content.answers["\(request.method) \(path)"]
    }
    return try (answer ?? .success(TransportResponse(status: 404))).get()
  }

  /// A stream has the answer's body, and ends.
  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let answer = try await send(request)
    let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    continuation.yield(answer.body)
    continuation.finish()
    return TransportStream(status: answer.status, headers: answer.headers, body: body)
  }
}
