#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
  /// Returns the whole body of a request.
  ///
  /// - Throws: ``Problem`` if the content type is not `type`, or the body has more than `limit` bytes.
  func wholeBody(of type: String, upTo limit: Int) async throws -> ByteBuffer {
    guard let declared = headers[.contentType], declared.isMediaType(type) else {
      throw Problem.unsupportedMediaType(type)
    }
    return try await wholeBody(upTo: limit)
  }

  /// Returns the whole body, at most `limit` bytes.
  func wholeBody(upTo limit: Int) async throws -> ByteBuffer {
    if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw Problem.tooLarge(limit) }
    do {
      return try await body.collect(upTo: limit)
    } catch is NIOTooManyBytesError {
      throw Problem.tooLarge(limit)
    }
  }

  /// Decodes the body like ``json(as:upTo:)``. Returns `nil` for a request without a body.
  func optionalJSON<Value: JSONBody>(as type: Value.Type, upTo limit: Int) async throws -> Value? {
    if headers[.contentType] == nil {
      guard try await wholeBody(upTo: limit).readableBytes == 0 else {
        throw Problem.unsupportedMediaType("application/json")
      }
      return nil
    }
    return try await json(as: type, upTo: limit)
  }

  /// Decodes the body as a value.
  ///
  /// - Throws: ``Problem``, which never repeats data from the request.
  func json<Value: JSONBody>(as type: Value.Type, upTo limit: Int) async throws -> Value {
    let buffer = try await wholeBody(of: "application/json", upTo: limit)
    // The decoder also accepts UTF-16 and UTF-32, which have zero bytes; exchanged JSON is UTF-8 (RFC 8259 section 8.1).
    let data = Data(buffer.readableBytesView)
    guard String(data: data, encoding: .utf8) != nil, !data.contains(0) else {
      throw Problem.invalidRequest("The body is not UTF-8.")
    }
    do {
      return try JSONDecoder().decode(Value.self, from: data)
    } catch let problem as Problem {
      throw problem
    } catch DecodingError.keyNotFound(let key, let context) {
      // Only the server's own names are reported: this key is one of the type's.
      throw Problem.invalidRequest(
        "Missing: \((context.codingPath + [key]).map(\.stringValue).joined(separator: ".")).")
    } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
      throw Problem.invalidRequest("Wrong type: \(context.codingPath.map(\.stringValue).joined(separator: ".")).")
    } catch {
      throw Problem.invalidRequest("The body is not the expected JSON object.")
    }
  }
}

extension String {
  /// Returns whether a `Content-Type` is `type`, ignoring case and parameters.
  func isMediaType(_ type: String) -> Bool {
    if self == type { return true }
    let essence = split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
    return essence.trimmingCharacters(in: .whitespaces).lowercased() == type
  }
}

/// A body of the JSON API. Unknown fields are ignored: a newer client must be able to speak to this server.
protocol JSONBody: Decodable {
  associatedtype Fields: CodingKey
}

extension JSONBody {
  /// Returns the fields of `decoder`'s object.
  static func fields(of decoder: any Decoder) throws -> KeyedDecodingContainer<Fields> {
    try decoder.container(keyedBy: Fields.self)
  }
}
#endif
