import Foundation
import HandstampCore

/// Builds requests, and decodes responses.
extension APIClient {
  func request(for endpoint: some Endpoint) throws(APIError) -> TransportRequest {
    try request(endpoint.method, endpoint.path, endpoint.query, headers: endpoint.headers, body: endpoint.body)
  }

  func request(
    _ method: String, _ path: APIPath, _ query: [URLQueryItem], headers own: [HeaderField] = [],
    body: (any Encodable)? = nil
  ) throws(APIError) -> TransportRequest {
    let url = try address(of: path, query: query)
    var headers = [HeaderField("Accept", "application/json")]
    for field in options.headers + own {
      headers.removeAll { $0.name.lowercased() == field.name.lowercased() }
      headers.append(field)
    }
    guard let body else { return TransportRequest(method: method, url: url, headers: headers) }
    if headers.first(named: "Content-Type") == nil { headers.append(HeaderField("Content-Type", "application/json")) }
    let data: Data
    do { data = try options.encoder.encode(body) } catch { throw .invalidRequest(APIClient.describe(error)) }
    return TransportRequest(method: method, url: url, headers: headers, body: Array(data))
  }

  /// Returns the URL of `path` below the base URL.
  func address(of path: APIPath, query: [URLQueryItem]) throws(APIError) -> String {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else {
      throw .invalidRequest("not a valid base URL")
    }
    if let problem = path.problem { throw .invalidRequest(problem) }
    let base =
      parts.percentEncodedPath.hasSuffix("/") ? parts.percentEncodedPath.dropLast() : parts.percentEncodedPath[...]
    parts.percentEncodedPath = base + (path.text.hasPrefix("/") ? "" : "/") + path.text
    if !query.isEmpty {
      parts.queryItems = (parts.queryItems ?? []) + query
      // Servers that decode forms read a bare plus sign as a space.
      parts.percentEncodedQuery = parts.percentEncodedQuery?.replacing("+", with: "%2B")
    }
    guard let url = parts.string else { throw .invalidRequest("not a valid path") }
    return url
  }

  func decoded<Response: Decodable>(_ response: TransportResponse) throws(APIError) -> Response {
    guard (200..<300).contains(response.status) else {
      throw .status(response.status, try? JSONDecoder().decode(Problem.self, from: Data(response.body)))
    }
    let decoder = options.decoder
    do {
      if let type = Response.self as? any WholeResponse.Type,
        let whole = try type.init(response, by: decoder) as? Response
      {
        return whole
      }
      return try decoder.decode(Response.self, from: Data(response.body))
    } catch {
      throw .unreadable(APIClient.describe(error))
    }
  }

  /// Returns the location of a coding error, without the value there.
  static func describe(_ error: any Error) -> String {
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
