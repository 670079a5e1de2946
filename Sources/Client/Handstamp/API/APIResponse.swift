import Foundation
import HandstampCore

/// A decoded response with its status and header fields, for an API that names the next page in a header.
///
/// ```swift
/// let page = try await session.api.get("/v1/posts", as: APIResponse<[Post]>.self)
/// let next = page.header("Link")
/// ```
public struct APIResponse<Value: Decodable & Sendable>: Decodable, Sendable {
  /// The decoded body.
  public let value: Value
  /// The HTTP status code.
  public let status: Int
  /// The header fields, in order.
  public let headers: [HeaderField]

  /// Returns the value of the first header field with that name, ignoring case.
  public func header(_ name: String) -> String? { headers.first(named: name) }

  /// Throws: a body has no header fields, so that only ``APIClient`` can make one, of a whole response.
  public init(from decoder: any Decoder) throws {
    throw DecodingError.dataCorrupted(
      .init(codingPath: decoder.codingPath, debugDescription: "an APIResponse is made of a whole response"))
  }
}

/// A response that is ignored.
public struct EmptyResponse: Decodable, Sendable, Hashable {
  public init() {}
}

/// A type that is made of a whole response, and not of the JSON in its body.
protocol WholeResponse {
  init(_ response: TransportResponse, by decoder: JSONDecoder) throws
}

extension APIResponse: WholeResponse {
  init(_ response: TransportResponse, by decoder: JSONDecoder) throws {
    if let empty = EmptyResponse() as? Value {
      value = empty
    } else {
      value = try decoder.decode(Value.self, from: Data(response.body))
    }
    status = response.status
    headers = response.headers
  }
}

extension EmptyResponse: WholeResponse {
  init(_ response: TransportResponse, by decoder: JSONDecoder) {}
}
