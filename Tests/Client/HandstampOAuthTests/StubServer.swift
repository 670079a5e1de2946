import Foundation
import HandstampCore
import HandstampSupport

@testable import HandstampOAuth

/// A server whose responses are set by the test. It records the requests.
final class StubServer: Transport {
  static let issuer = "https://id.example.org"

  typealias Answering = @Sendable (_ request: TransportRequest, _ form: [String: String]) -> TransportResponse

  private struct Content: Sendable {
    var answers: [String: [Answering]] = [:]
    var requests: [TransportRequest] = []
    /// Whether the repeating response was already used: a new one replaces it.
    var given: Set<String> = []
  }
  private let content = Locked(Content())

  init(metadata: String = StubServer.metadata()) {
    on("/.well-known/oauth-authorization-server", json: metadata)
  }

  static func metadata(issuer: String = StubServer.issuer, more: String = "") -> String {
    """
    {"issuer":"\(issuer)","token_endpoint":"https://id.example.org/token",
    "authorization_endpoint":"https://id.example.org/authorize?tenant=1",
    "device_authorization_endpoint":"https://id.example.org/device",
    "revocation_endpoint":"https://id.example.org/revoke"\(more)}
    """
  }

  static let tokens = #"{"access_token":"a1","token_type":"Bearer","expires_in":600,"refresh_token":"r1"}"#

  /// The next response at that path; the last of several repeats.
  func on(_ path: String, _ answering: @escaping Answering) {
    content.withLock { content in
      if content.given.remove(path) != nil { content.answers[path] = [] }
      content.answers[path, default: []].append(answering)
    }
  }

  func on(_ path: String, status: Int = 200, headers: [HeaderField] = [], json: String) {
    on(path) { _, _ in TransportResponse(status: status, headers: headers, body: Array(json.utf8)) }
  }

  /// The forms sent to that path.
  func requests(to path: String) -> [TransportRequest] {
    content.withLock { content in content.requests.filter { StubServer.path($0.url) == path } }
  }

  func forms(to path: String) -> [[String: String]] { requests(to: path).map(StubServer.form) }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let path = StubServer.path(request.url)
    let answering: Answering? = content.withLock { content in
      content.requests.append(request)
      guard let all = content.answers[path], let first = all.first else { return nil }
      if all.count > 1 { content.answers[path]?.removeFirst() } else { content.given.insert(path) }
      return first
    }
    guard let answering else { return TransportResponse(status: 404) }
    let answer = answering(request, StubServer.form(request))
    if answer.status == 0 { throw .timedOut }
    if answer.body.count > request.maximumResponseSize { throw .tooLarge }
    return answer
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("not here")
  }

  static func path(_ url: String) -> String { URLComponents(string: url)?.path ?? "" }

  static func form(_ request: TransportRequest) -> [String: String] {
    fields("?" + String(decoding: request.body, as: UTF8.self))
  }

  /// The query fields of a URL.
  static func fields(_ url: String) -> [String: String] {
    let items = URLComponents(string: url)?.queryItems ?? []
    return Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
  }

  /// A token with that payload.
  static func unsigned(_ payload: String) -> String {
    Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8)) + "." + Base64URL.encode(Array(payload.utf8)) + ".c2ln"
  }
}

/// A user at a browser, who receives the page's address and is redirected back.
struct Person: RedirectReceiver {
  let answer: @Sendable (_ page: [String: String]) throws(RedirectError) -> String

  /// Consents, with that code.
  static func agreeing(code: String = "c1", more: String = "") -> Person {
    Person { page throws(RedirectError) in
      "\(page["redirect_uri"] ?? "")?code=\(code)&state=\(page["state"] ?? "")\(more)"
    }
  }

  @concurrent func receive(from url: String, callbackScheme: String) async throws(RedirectError) -> Secret {
    Secret(try answer(StubServer.fields(url)))
  }
}

/// The error of a sign-in.
func failure(_ work: () async throws(SessionError) -> TokenResponse) async -> SessionError? {
  do throws(SessionError) {
    _ = try await work()
    return nil
  } catch { return error }
}
