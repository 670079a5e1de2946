public import Foundation

/// Calls by method and path. Each throws ``APIError``: ``APIError/status(_:_:)`` for a status other than 2xx, and
/// ``APIError/invalidRequest(_:)`` for a path that names none, or a body that cannot be encoded.
extension APIClient {
  /// Sends a GET request and decodes the response.
  ///
  /// ```swift
  /// let me: Me = try await session.api.get("/v1/me")
  /// ```
  ///
  /// - Parameters:
  ///   - path: appended to ``baseURL``; interpolated values are escaped, see ``APIPath``.
  ///   - query: the URL's query; it is percent-encoded.
  ///   - type: the type of the response; ``APIResponse`` for one with its header fields.
  public func get<Response: Decodable & Sendable>(
    _ path: APIPath, query: [URLQueryItem] = [], as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(response(to: request("GET", path, query), requiresAuth: true))
  }

  /// Sends a POST request and decodes the response. A `body` is encoded as JSON by the client's encoder; without one, the request has
  /// none.
  public func post<Response: Decodable & Sendable>(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil, as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(response(to: request("POST", path, query, body: body), requiresAuth: true))
  }

  /// Sends a POST request whose response has no content that matters.
  public func post(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil
  ) async throws(APIError) {
    let _: EmptyResponse = try await post(path, query: query, body: body)
  }

  /// Sends a PUT request and decodes the response, as ``post(_:query:body:as:)`` does.
  public func put<Response: Decodable & Sendable>(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil, as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(response(to: request("PUT", path, query, body: body), requiresAuth: true))
  }

  /// Sends a PUT request whose response has no content that matters.
  public func put(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil
  ) async throws(APIError) {
    let _: EmptyResponse = try await put(path, query: query, body: body)
  }

  /// Sends a PATCH request and decodes the response, as ``post(_:query:body:as:)`` does.
  public func patch<Response: Decodable & Sendable>(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil, as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(response(to: request("PATCH", path, query, body: body), requiresAuth: true))
  }

  /// Sends a PATCH request whose response has no content that matters.
  public func patch(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil
  ) async throws(APIError) {
    let _: EmptyResponse = try await patch(path, query: query, body: body)
  }

  /// Sends a DELETE request and decodes the response, as ``post(_:query:body:as:)`` does.
  public func delete<Response: Decodable & Sendable>(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil, as type: Response.Type = Response.self
  ) async throws(APIError) -> Response {
    try await decoded(response(to: request("DELETE", path, query, body: body), requiresAuth: true))
  }

  /// Sends a DELETE request whose response has no content that matters.
  public func delete(
    _ path: APIPath, query: [URLQueryItem] = [], body: (any Encodable)? = nil
  ) async throws(APIError) {
    let _: EmptyResponse = try await delete(path, query: query, body: body)
  }
}
