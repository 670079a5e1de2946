public import Foundation
import HandstampCore

/// One API call: its path, its body and its response.
///
/// ```swift
/// struct RenamePost: Endpoint {
///   var method: String { "PATCH" }
///   var path: APIPath { "/v1/posts/\(id)" }
///   var body: (any Encodable)? { ["title": title] }
///   let id: String, title: String
/// }
/// ```
///
/// In a module whose code is on the main actor by default, declare a `Response` as `nonisolated struct …: Decodable,
/// Sendable`: otherwise its decoding is isolated to the main actor and the endpoint does not compile.
public protocol Endpoint: Sendable {
  /// The type of the response; ``EmptyResponse`` unless the endpoint names another.
  associatedtype Response: Decodable & Sendable = EmptyResponse
  /// The HTTP method. Default `GET`.
  var method: String { get }
  /// The path, appended to the client's base URL; interpolated values are escaped.
  var path: APIPath { get }
  var query: [URLQueryItem] { get }
  /// Header fields; they take precedence over the client's. With an `Idempotency-Key`, a request with any method may be retried: the
  /// server carries it out once, however often it arrives.
  var headers: [HeaderField] { get }
  /// The body, encoded as JSON by the client's encoder, or `nil` (the default).
  var body: (any Encodable)? { get }
  /// Whether the request carries the credential. Default `true`.
  var requiresAuth: Bool { get }
  /// How the call is retried after transient failures, if it may be sent twice. `nil` (the default) uses the client's policy for GET,
  /// HEAD and OPTIONS, and one attempt otherwise.
  var retryPolicy: RetryPolicy? { get }
}

extension Endpoint {
  public var method: String { "GET" }
  public var query: [URLQueryItem] { [] }
  public var headers: [HeaderField] { [] }
  public var body: (any Encodable)? { nil }
  public var requiresAuth: Bool { true }
  public var retryPolicy: RetryPolicy? { nil }
}

/// Why an API call failed.
@nonexhaustive
public enum APIError: HandstampError, Hashable {
  /// The session has no token to send, or the API rejected it. The cause decides: an unreachable authorization server is here,
  /// too, and does not mean that the user is signed out.
  case session(SessionError)
  /// The API answered with a status other than 2xx; its problem document (RFC 9457), if it sent one.
  case status(Int, Problem?)
  /// There was no response.
  case network(TransportError)
  /// The response cannot be decoded; the text gives the coding path, never the content.
  case unreadable(String)
  /// The request cannot be built: its URL is not valid, or its body cannot be encoded.
  case invalidRequest(String)

  public var code: String {
    switch self {
    case .session(let error): error.code
    case .status(let status, let problem): problem?.code ?? "status_\(status)"
    case .network(let error): error.code
    case .unreadable: "unreadable_response"
    case .invalidRequest: "invalid_url_request"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .session(let error): error.recovery
    case .network(let error): error.recovery
    case .status(let status, _) where TransportResponse(status: status).isTransientFailure: .retry(after: nil)
    case .status, .unreadable, .invalidRequest: nil
    }
  }
}

extension APIError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .session(let error): error.description
    case .status(let status, let problem):
      (problem?.detail ?? problem?.title).map { "the API answered \(status): \($0)" } ?? "the API answered \(status)"
    case .network(let error): error.description
    case .unreadable(let place): "the response cannot be decoded: \(place)"
    case .invalidRequest(let text): "the request cannot be sent: \(text)"
    }
  }
}

/// A problem document (RFC 9457), with the members that an app can use.
public struct Problem: Codable, Sendable, Hashable {
  /// The problem type's summary.
  public var title: String?
  /// The explanation of this occurrence.
  public var detail: String?
  /// The server's error code, in `snake_case`.
  public var code: String?
  /// Why the session ended, if the code is `session_ended`: a raw value of ``EndReason``.
  public var reason: String?
  /// The provider where it ended, if the reason is ``EndReason/endedAtProvider(_:)``.
  package var provider: String?

  public init(title: String? = nil, detail: String? = nil, code: String? = nil, reason: String? = nil) {
    self.title = title
    self.detail = detail
    self.code = code
    self.reason = reason
  }

  /// A member of another type, as other APIs may have, counts as missing.
  public init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      title: values.word(.title), detail: values.word(.detail), code: values.word(.code), reason: values.word(.reason))
    provider = values.word(.provider)
  }
}
