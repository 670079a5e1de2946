public import Foundation

/// Calls an API on behalf of the session: attaches the token, refreshes it once when the API refuses it, and stops with the
/// session.
public struct APIClient: Sendable {
  public let baseURL: URL
  public let controller: SessionController
  /// What happens to calls that fail in passing, unless their endpoint says otherwise; for reading methods alone.
  public let failures: FailurePolicy
  let transport: any Transport
  let memory = FailureMemory()

  /// - Parameters:
  ///   - baseURL: where every endpoint's path is appended; tokens go to its origin alone.
  ///   - failures: what happens to calls by GET, HEAD and OPTIONS that fail in passing; an endpoint may say otherwise.
  public init(
    baseURL: URL, controller: SessionController, transport: any Transport, failures: FailurePolicy = .standard
  ) {
    self.baseURL = baseURL
    self.controller = controller
    self.transport = transport
    self.failures = failures
  }

  /// Sends `endpoint` and decodes the answer.
  ///
  /// On a 401 the token is replaced, or a newer one taken that is there already, and the request is sent once more, never
  /// twice. A sign-out meanwhile ends the call with ``APIError/unauthorized(_:)``.
  public func send<E: Endpoint>(_ endpoint: E) async throws(APIError) -> E.Response {
    let request = try request(for: endpoint)
    let response = try await respond(
      to: request, requiresAuth: endpoint.requiresAuth, failures: endpoint.failures)
    guard (200..<300).contains(response.status) else {
      throw .status(response.status, try? JSONDecoder().decode(Problem.self, from: Data(response.body)))
    }
    if let empty = EmptyResponse() as? E.Response { return empty }
    do { return try JSONDecoder().decode(E.Response.self, from: Data(response.body)) } catch {
      throw .unreadable(describe(error))
    }
  }

  /// Sends a request as it is, with the token if `requiresAuth`, and hands back whatever came.
  ///
  /// - Parameter failures: what happens when it fails in passing; by default the client's policy for GET, HEAD and OPTIONS,
  ///   and ``FailurePolicy/once`` for all others.
  /// - Throws: ``APIError/invalidRequest(_:)`` when the address is not of the account's own origin.
  public func respond(
    to request: TransportRequest, requiresAuth: Bool = true, failures: FailurePolicy? = nil
  ) async throws(APIError) -> TransportResponse {
    // Whatever is sent, also after a 401, is sent for the session of now and never for one that follows it.
    try await respond(
      to: request, requiresAuth: requiresAuth, failures: failures, in: controller.requests.generation)
  }

  func request(for endpoint: some Endpoint) throws(APIError) -> TransportRequest {
    let url = try address(of: endpoint.path, query: endpoint.query)
    var headers = [HeaderField("Accept", "application/json")]
    let body: Data?
    do { body = try endpoint.body } catch { throw .invalidRequest(describe(error)) }
    if body != nil { headers.append(HeaderField("Content-Type", "application/json")) }
    if let key = endpoint.idempotencyKey { headers.append(HeaderField("Idempotency-Key", key)) }
    return TransportRequest(
      method: endpoint.method, url: url, headers: headers, body: body.map { Array($0) } ?? [])
  }

  /// Where `path` is, below the base address.
  func address(of path: String, query: [URLQueryItem]) throws(APIError) -> String {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else {
      throw .invalidRequest("the base address is none")
    }
    let base = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
    parts.path = base + (path.hasPrefix("/") ? "" : "/") + path
    if !query.isEmpty { parts.queryItems = (parts.queryItems ?? []) + query }
    guard let url = parts.string else { throw .invalidRequest("the path makes no address") }
    return url
  }

  /// Where a coding error happened, without what stood there.
  private func describe(_ error: any Error) -> String {
    func path(_ context: DecodingError.Context) -> String {
      context.codingPath.map(\.stringValue).joined(separator: ".")
    }
    switch error {
    case DecodingError.keyNotFound(let key, let context): return "missing: \(path(context)).\(key.stringValue)"
    case DecodingError.typeMismatch(_, let context): return "of another type: \(path(context))"
    case DecodingError.valueNotFound(_, let context): return "null: \(path(context))"
    case DecodingError.dataCorrupted(let context): return "not readable: \(path(context))"
    default: return "not encodable: \(type(of: error))"
    }
  }
}

/// Scheme, host and port: what a token must not leave (RFC 6454 section 4).
package struct Origin: Hashable, Sendable {
  let scheme: String
  let host: String
  let port: Int

  package init?(_ url: String) {
    guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(),
      let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil
    else { return nil }
    guard let port = parts.port ?? ["http": 80, "https": 443][scheme] else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port
  }
}
