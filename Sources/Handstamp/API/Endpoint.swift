public import Foundation

/// One call of an API: where it goes, what it sends, what it brings back.
///
/// In a module whose code is on the main actor by default, declare a `Response` as `nonisolated struct …: Decodable,
/// Sendable`; without the word its decoding is tied to the main actor and the endpoint does not compile.
public protocol Endpoint: Sendable {
  associatedtype Response: Decodable & Sendable
  /// `GET` unless said otherwise.
  var method: String { get }
  /// Appended to the client's base address: `/v1/me`.
  var path: String { get }
  var query: [URLQueryItem] { get }
  /// The JSON body, if there is one. It is kept, so that the request can be sent again after a 401.
  var body: Data? { get throws }
  /// Whether the request carries the access token. Yes unless said otherwise.
  var requiresAuth: Bool { get }
  /// Goes out as `Idempotency-Key`: the server carries the request out once, however often it comes. With it a request of
  /// any method may be asked again. It must stay the same for every attempt; none unless said otherwise.
  var idempotencyKey: String? { get }
  /// What happens when the call fails in passing. Nothing, which is the default, means the client's policy for GET, HEAD and
  /// OPTIONS, and ``FailurePolicy/once`` for all others.
  var failures: FailurePolicy? { get }
}

extension Endpoint {
  public var method: String { "GET" }
  public var query: [URLQueryItem] { [] }
  public var body: Data? { nil }
  public var requiresAuth: Bool { true }
  public var idempotencyKey: String? { nil }
  public var failures: FailurePolicy? { nil }
}

/// The response of an endpoint that answers with nothing.
public struct EmptyResponse: Decodable, Sendable, Hashable {
  public init() {}
}

/// Why a call of an API brought nothing back.
@nonexhaustive
public enum APIError: ErrorWithRecovery, Hashable {
  /// There is no token to send, or the API refused the one there is; the session's error says what to do.
  case unauthorized(SessionError)
  /// The API answered with a status other than 2xx; its problem document (RFC 9457), if it sent one.
  case status(Int, Problem?)
  /// No answer.
  case unreachable(TransportError)
  /// The answer is not what the endpoint declares; the text names the place, never the content.
  case unreadable(String)
  /// The endpoint cannot be sent: no address, or a body that cannot be encoded.
  case invalidRequest(String)

  public var recovery: Recovery {
    switch self {
    case .unauthorized(let error): error.recovery
    case .unreachable(.notConnected), .unreachable(.unreachable), .unreachable(.timedOut): .retry(after: nil)
    case .unreachable(.cancelled), .unreachable(.tooLarge), .unreachable(.invalidRequest): .none
    case .status(let status, _) where TransportResponse(status: status).failsInPassing: .retry(after: nil)
    case .status, .unreadable, .invalidRequest: .none
    }
  }
}

/// A problem document (RFC 9457), as far as an app can use it.
public struct Problem: Codable, Sendable, Hashable {
  public var title: String?
  public var detail: String?
  public var code: String?
  public var reason: String?

  public init(title: String? = nil, detail: String? = nil, code: String? = nil, reason: String? = nil) {
    self.title = title
    self.detail = detail
    self.code = code
    self.reason = reason
  }
}
