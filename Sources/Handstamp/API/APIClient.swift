public import Foundation

/// Calls an API with the session's credential: attaches the token, refreshes it once if the API rejects it, and stops when the
/// session ends.
public struct APIClient: Sendable {
  /// How calls are encoded, decoded and retried.
  public struct Options: Sendable {
    /// The encoder for the bodies of ``APIClient/send(_:_:body:as:)``.
    public var encoder: JSONEncoder
    /// The decoder for responses.
    public var decoder: JSONDecoder
    /// Header fields of every call; an endpoint's own fields take precedence.
    public var headers: [HeaderField]
    /// The retry policy of GET, HEAD and OPTIONS, unless the endpoint has its own. Default ``APIRetryPolicy/standard``.
    public var retryPolicy: APIRetryPolicy

    public init(
      encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder(), headers: [HeaderField] = [],
      retryPolicy: APIRetryPolicy = .standard
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
  let transport: any Transport
  let options: Options
  let memory = FailureMemory()

  /// Creates a client for the API at `baseURL`.
  ///
  /// - Parameter baseURL: every endpoint's path is appended to it; the credential is sent only to its origin.
  public init(
    baseURL: URL, controller: SessionController, transport: any Transport = URLSessionTransport(),
    options: Options = Options()
  ) {
    self.baseURL = baseURL
    self.controller = controller
    self.transport = transport
    self.options = options
  }

  /// Sends a GET request and decodes the response.
  ///
  /// ```swift
  /// let me: Me = try await session.api.get("/v1/me")
  /// ```
  ///
  /// - Parameters:
  ///   - path: appended to ``baseURL``, and percent-encoded. It has no query, and no segment `..`; check an ID that comes from
  ///     elsewhere for a slash.
  ///   - query: the URL's query; it is percent-encoded.
  /// - Throws: ``APIError``, as ``send(_:)`` does.
  public func get<Response: Decodable & Sendable>(
    _ path: String, query: [URLQueryItem] = [], as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(respond(to: request("GET", path, query: query)))
  }

  /// Sends a JSON body and decodes the response; use ``EmptyResponse`` to ignore it.
  ///
  /// - Throws: ``APIError``, as ``send(_:)`` does; ``APIError/invalidRequest(_:)`` if the body cannot be encoded.
  public func send<Response: Decodable & Sendable>(
    _ method: String, _ path: String, body: some Encodable, as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    let data: Data
    do { data = try options.encoder.encode(body) } catch { throw .invalidRequest(describe(error)) }
    return try await decoded(respond(to: request(method, path, body: data)))
  }

  /// Sends `endpoint` and decodes the response.
  ///
  /// After a 401 the token is replaced, with a newer one if there already is one, and the request is repeated once at most. A
  /// sign-out in the meantime ends the call with ``APIError/session(_:)``.
  ///
  /// - Throws: ``APIError``; ``APIError/status(_:_:)`` for a status other than 2xx.
  public func send<E: Endpoint>(_ endpoint: E) async throws(APIError) -> E.Response {
    try await decoded(
      respond(
        to: request(for: endpoint), requiresAuth: endpoint.requiresAuth, retryPolicy: endpoint.retryPolicy))
  }

  /// Sends a request unchanged, with the credential if `requiresAuth`, and returns the response, whatever its status.
  ///
  /// - Parameter retryPolicy: `nil` (the default) uses the client's policy for GET, HEAD and OPTIONS, and
  ///   ``APIRetryPolicy/once`` otherwise.
  /// - Throws: ``APIError/invalidRequest(_:)`` if the URL is not of the origin of ``baseURL``.
  public func respond(
    to request: TransportRequest, requiresAuth: Bool = true, retryPolicy: APIRetryPolicy? = nil
  ) async throws(APIError) -> TransportResponse {
    // The request, and its repetition after a 401, belong to the current session and never to a later one.
    try await respond(
      to: request, requiresAuth: requiresAuth, retryPolicy: retryPolicy, in: controller.requests.generation)
  }

  func request(for endpoint: some Endpoint) throws(APIError) -> TransportRequest {
    let body: Data?
    do { body = try endpoint.body } catch { throw .invalidRequest(describe(error)) }
    var request = try request(
      endpoint.method, endpoint.path, query: endpoint.query, headers: endpoint.headers, body: body)
    if let key = endpoint.idempotencyKey { request.headers.append(HeaderField("Idempotency-Key", key)) }
    return request
  }

  private func request(
    _ method: String, _ path: String, query: [URLQueryItem] = [], headers own: [HeaderField] = [], body: Data? = nil
  ) throws(APIError) -> TransportRequest {
    let url = try address(of: path, query: query)
    var headers = [HeaderField("Accept", "application/json")]
    for field in options.headers + own {
      headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
      headers.append(field)
    }
    if body != nil, headers.first(named: "Content-Type") == nil {
      headers.append(HeaderField("Content-Type", "application/json"))
    }
    return TransportRequest(method: method, url: url, headers: headers, body: body.map { Array($0) } ?? [])
  }

  private func decoded<Response: Decodable>(_ response: TransportResponse) throws(APIError) -> Response {
    guard (200..<300).contains(response.status) else {
      throw .status(response.status, try? JSONDecoder().decode(Problem.self, from: Data(response.body)))
    }
    if let empty = EmptyResponse() as? Response { return empty }
    do { return try options.decoder.decode(Response.self, from: Data(response.body)) } catch {
      throw .unreadable(describe(error))
    }
  }

  /// Returns the URL of `path` below the base URL.
  func address(of path: String, query: [URLQueryItem]) throws(APIError) -> String {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else {
      throw .invalidRequest("not a valid base URL")
    }
    guard !path.contains("?") else { throw .invalidRequest("a path with a question mark: use query") }
    guard !path.split(separator: "/").contains("..") else { throw .invalidRequest("a path with a segment ..") }
    let base = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
    parts.path = base + (path.hasPrefix("/") ? "" : "/") + path
    if !query.isEmpty {
      parts.queryItems = (parts.queryItems ?? []) + query
      // Servers that decode forms read a bare plus sign as a space.
      parts.percentEncodedQuery = parts.percentEncodedQuery?.replacing("+", with: "%2B")
    }
    guard let url = parts.string else { throw .invalidRequest("not a valid path") }
    return url
  }

  /// Returns the location of a coding error, without the value there.
  private func describe(_ error: any Error) -> String {
    func path(_ context: DecodingError.Context) -> String {
      context.codingPath.map(\.stringValue).joined(separator: ".")
    }
    switch error {
    case DecodingError.keyNotFound(let key, let context): return "missing: \(path(context)).\(key.stringValue)"
    case DecodingError.typeMismatch(_, let context): return "wrong type: \(path(context))"
    case DecodingError.valueNotFound(_, let context): return "null: \(path(context))"
    case DecodingError.dataCorrupted(let context): return "not valid: \(path(context))"
    default: return "not encodable: \(type(of: error))"
    }
  }
}
