public import Foundation
import HandstampSupport

/// Calls an API with the session's credential: attaches the token, refreshes it once if the API rejects it, and stops when the
/// session ends.
///
/// ```swift
/// let post: Post = try await session.api.post("/v1/posts", body: NewPost(title: "Hi"))
/// try await session.api.delete("/v1/posts/\(post.id)")
/// ```
///
/// After a 401 the token is replaced, with a newer one if there already is one, and the request is repeated once at most. One that
/// demands a proof of the user is no word on the token, see ``Options/stepUp``. A
/// sign-out in the meantime ends the call with ``APIError/session(_:)``, and its response is dropped. Redirects are not followed.
public struct APIClient: Sendable {
  /// How calls are encoded, decoded and retried.
  public struct Options: Sendable {
    /// The encoder for bodies.
    public var encoder: JSONEncoder
    /// The decoder for responses.
    public var decoder: JSONDecoder
    /// Header fields of every call; an endpoint's own fields take precedence.
    public var headers: [HeaderField]
    /// How GET, HEAD and OPTIONS are retried after transient failures, unless the endpoint has its own policy: by default three
    /// attempts within about a second. `RetryPolicy(attempts: 1)` retries nothing.
    ///
    /// Transient failures are a failed connection, a time-out, and the statuses 408, 425, 429, 502, 503 and 504. Every other
    /// response is final, including 500, whose effects are unknown. If `Retry-After` exceeds ``RetryPolicy/cap``, by default
    /// 2 s, the caller gets the failure at once.
    public var retryPolicy: RetryPolicy
    /// Asks the user for the proof that an API demands before it carries out a request: 401 `insufficient_user_authentication` (RFC
    /// 9470). The request is then repeated once with the returned token, such as that of
    /// ``SessionManager/reauthenticate(_:)``; `nil` gives the caller the API's refusal. The session stays as it is.
    ///
    /// Called for each request that is refused, so that several at once ask several times. `nil`, the default, asks for nothing.
    ///
    /// - Parameters:
    ///   - acrValues: the strengths of which the API accepts each, such as `phr` for a passkey; empty for any.
    ///   - maxAge: how recent the proof has to be; `nil` for any.
    public var stepUp:
      (@Sendable (_ acrValues: [String], _ maxAge: Duration?) async throws(SessionError) -> AccessToken?)?

    public init(
      encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder(), headers: [HeaderField] = [],
      retryPolicy: RetryPolicy = RetryPolicy(attempts: 3, cap: .seconds(2))
    ) {
      self.encoder = encoder
      self.decoder = decoder
      self.headers = headers
      self.retryPolicy = retryPolicy
    }
  }

  /// The API's URL; the credential is sent only to its origin.
  public let baseURL: URL
  /// The controller of the session.
  public let controller: SessionController
  /// The origin of ``baseURL``; `nil` if the URL has none.
  let origin: Origin?
  let transport: any Transport
  let options: Options

  /// Creates a client for the API at `baseURL`.
  ///
  /// - Parameter baseURL: every path is appended to it; the credential is sent only to its origin.
  public init(
    baseURL: URL, controller: SessionController, transport: any Transport = URLSessionTransport(),
    options: Options = Options()
  ) {
    self.baseURL = baseURL
    origin = Origin(baseURL.absoluteString)
    self.controller = controller
    self.transport = transport
    self.options = options
  }

  /// Sends `endpoint` and decodes the response.
  ///
  /// - Throws: ``APIError``; ``APIError/status(_:_:)`` for a status other than 2xx.
  @discardableResult
  public func send<E: Endpoint>(_ endpoint: E) async throws(APIError) -> E.Response {
    try await decoded(
      response(
        to: request(for: endpoint), requiresAuth: endpoint.requiresAuth, retryPolicy: endpoint.retryPolicy))
  }
}
