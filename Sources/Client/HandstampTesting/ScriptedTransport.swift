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
/// A request without a response gets 404.
public final class ScriptedTransport: Transport {
  private struct Content: Sendable {
    var responses: [String: Result<TransportResponse, TransportError>] = [:]
    var requests: [TransportRequest] = []
  }
  private let content = Locked(Content())

  /// - Parameter json: The bodies by request, method and path; each is a response with status 200.
  public init(_ json: [String: String] = [:]) { for (request, body) in json { answer(request, json: body) } }

  /// The requests so far, in order.
  public var requests: [TransportRequest] { content.withLock { $0.requests } }

  /// Answers a request, such as `GET /v1/me`, from now on.
  public func answer(_ request: String, with response: TransportResponse) {
    content.withLock { $0.responses[request] = .success(response) }
  }

  /// Answers a request with JSON from now on.
  public func answer(_ request: String, status: Int = 200, json: String) {
    let headers = [HeaderField("Content-Type", "application/json")]
    answer(request, with: TransportResponse(status: status, headers: headers, body: Array(json.utf8)))
  }

  /// Fails a request from now on.
  public func fail(_ request: String, with error: TransportError) {
    content.withLock { $0.responses[request] = .failure(error) }
  }

  @concurrent public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let path = URLComponents(string: request.url)?.path ?? ""
    let response = content.withLock { content in
      content.requests.append(request)
      return content.responses["\(request.method) \(path)"]
    }
    return try (response ?? .success(TransportResponse(status: 404))).get()
  }

  /// A stream has the response's body, and ends.
  @concurrent public func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    let response = try await send(request)
    let (body, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    continuation.yield(response.body)
    continuation.finish()
    return TransportStream(status: response.status, headers: response.headers, body: body)
  }
}
