#if Server
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
  /// The whole body of a request of kind `type`, or the problem that it is: another kind, or more than `limit` bytes.
  func wholeBody(of type: String, upTo limit: Int) async throws -> ByteBuffer {
    guard let declared = headers[.contentType], declared.isMediaType(type) else {
      throw Problem.unsupportedMediaType(type)
    }
    return try await wholeBody(upTo: limit)
  }

  /// The whole body, at most `limit` bytes.
  func wholeBody(upTo limit: Int) async throws -> ByteBuffer {
    if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw Problem.tooLarge(limit) }
    do {
      return try await body.collect(upTo: limit)
    } catch is NIOTooManyBytesError {
      throw Problem.tooLarge(limit)
    }
  }

  /// The same; nothing for a request without a body.
  func optionalJSON<Value: StrictlyDecodable>(as type: Value.Type, upTo limit: Int) async throws -> Value? {
    if headers[.contentType] == nil {
      guard try await wholeBody(upTo: limit).readableBytes == 0 else {
        throw Problem.unsupportedMediaType("application/json")
      }
      return nil
    }
    return try await json(as: type, upTo: limit)
  }

  /// The body as a value that knows its own fields. The problem never repeats what was sent.
  func json<Value: StrictlyDecodable>(as type: Value.Type, upTo limit: Int) async throws -> Value {
    let buffer = try await wholeBody(of: "application/json", upTo: limit)
    // The decoder would take UTF-16 and UTF-32 as well, which have zero bytes; JSON on the net is UTF-8 (RFC 8259 section 8.1).
    let data = Data(buffer.readableBytesView)
    guard String(data: data, encoding: .utf8) != nil, !data.contains(0) else {
      throw Problem.invalidRequest("The body is not UTF-8.")
    }
    do {
      return try JSONDecoder().decode(Value.self, from: data)
    } catch let problem as Problem {
      throw problem
    } catch DecodingError.keyNotFound(let key, let context) {
      // Names of ours alone are told: this key is one of the type's.
      throw Problem.invalidRequest(
        "Missing: \((context.codingPath + [key]).map(\.stringValue).joined(separator: ".")).")
    } catch DecodingError.typeMismatch(_, let context) where !context.codingPath.isEmpty {
      throw Problem.invalidRequest("Of another type: \(context.codingPath.map(\.stringValue).joined(separator: ".")).")
    } catch {
      throw Problem.invalidRequest("The body is not the JSON object that is expected.")
    }
  }
}

extension String {
  /// Whether a `Content-Type` names `type`, letter case and parameters aside.
  fileprivate func isMediaType(_ type: String) -> Bool {
    if self == type { return true }
    let essence = split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false).first ?? ""
    return essence.trimmingCharacters(in: .whitespaces).lowercased() == type
  }
}

/// A body of the JSON API: a field that it does not know is an error, not a surprise.
protocol StrictlyDecodable: Decodable {
  associatedtype Fields: CodingKey & CaseIterable
}

extension StrictlyDecodable {
  /// Refuses `decoder`'s object when it has a field outside ``Fields``.
  static func refuseUnknownFields(_ decoder: any Decoder) throws {
    let known = Set(Fields.allCases.map(\.stringValue))
    let all = try decoder.container(keyedBy: AnyField.self).allKeys
    if all.contains(where: { !known.contains($0.stringValue) }) {
      throw Problem(
        .badRequest, "unknown_field", "The request has a field that is not known",
        detail: "Known here: \(known.sorted().joined(separator: ", ")).")
    }
  }
}

private struct AnyField: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
#endif
