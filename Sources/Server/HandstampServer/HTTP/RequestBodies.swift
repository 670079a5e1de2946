#if Server
import Foundation
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import NIOCore

extension Request {
  /// Returns the whole body of a request.
  ///
  /// - Parameter type: the content type that the request must have; `nil` accepts any.
  /// - Throws: ``ProblemError`` if the content type is not `type`, or the body has more than `limit` bytes.
  func wholeBody(of type: String? = nil, upTo limit: Int) async throws -> ByteBuffer {
    if let type, headers[.contentType]?.isMediaType(type) != true { throw ProblemError.unsupportedMediaType(type) }
    if let length = headers[.contentLength].flatMap({ Int($0) }), length > limit { throw ProblemError.tooLarge(limit) }
    do {
      return try await body.collect(upTo: limit)
    } catch is NIOTooManyBytesError {
      throw ProblemError.tooLarge(limit)
    }
  }

  /// Reads the body like ``json(upTo:)``. Returns `nil` for a request without a body.
  func optionalJSON(upTo limit: Int) async throws -> JSONFields? {
    if headers[.contentType] == nil {
      guard try await wholeBody(upTo: limit).readableBytes == 0 else {
        throw ProblemError.unsupportedMediaType("application/json")
      }
      return nil
    }
    let buffer = try await wholeBody(of: "application/json", upTo: limit)
    return buffer.readableBytes == 0 ? nil : try JSONFields(buffer)
  }

  /// Reads the body: a JSON object.
  ///
  /// - Throws: ``ProblemError``, which never repeats data from the request.
  func json(upTo limit: Int) async throws -> JSONFields {
    try JSONFields(try await wholeBody(of: "application/json", upTo: limit))
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

/// The fields of a body of the JSON API. Unknown ones are ignored: a newer client must be able to speak to this server. Of the request,
/// the errors name fields that are the server's own alone.
struct JSONFields {
  private let members: [String: JSONValue]
  /// The name of the object in the body, with a dot.
  private let path: String

  init(_ members: [String: JSONValue], path: String = "") {
    self.members = members
    self.path = path
  }

  init(_ body: ByteBuffer) throws(ProblemError) {
    guard case .object(let members)? = JSONValue(Array(body.readableBytesView)) else {
      throw .invalidRequest("The body is not the expected JSON object.")
    }
    self.init(members)
  }

  func contains(_ name: String) -> Bool { members[name] != nil }
  func isNull(_ name: String) -> Bool { members[name] == .null }

  func text(_ name: String) throws(ProblemError) -> String {
    guard case .string(let text) = try value(name) else { throw wrongType(name) }
    return text
  }

  /// `nil` if the field is missing; `null` is refused, as the OpenAPI document says.
  func optionalText(_ name: String) throws(ProblemError) -> String? { contains(name) ? try text(name) : nil }

  func integer(_ name: String) throws(ProblemError) -> Int64 {
    guard let number = try value(name).integer else { throw wrongType(name) }
    return number
  }

  /// A list of strings; empty if the field is missing.
  func texts(_ name: String) throws(ProblemError) -> [String] {
    guard contains(name) else { return [] }
    guard case .array(let values) = try value(name) else { throw wrongType(name) }
    let texts = values.compactMap(\.string)
    guard texts.count == values.count else { throw wrongType(name) }
    return texts
  }

  func secret(_ name: String) throws(ProblemError) -> Secret { Secret(try text(name)) }
  func optionalSecret(_ name: String) throws(ProblemError) -> Secret? { contains(name) ? try secret(name) : nil }

  func flag(_ name: String) throws(ProblemError) -> Bool {
    guard case .bool(let flag) = try value(name) else { throw wrongType(name) }
    return flag
  }

  /// `false` if the field is missing.
  func optionalFlag(_ name: String) throws(ProblemError) -> Bool { contains(name) ? try flag(name) : false }

  func object(_ name: String) throws(ProblemError) -> JSONFields {
    guard case .object(let members) = try value(name) else { throw wrongType(name) }
    return JSONFields(members, path: "\(path)\(name).")
  }

  private func value(_ name: String) throws(ProblemError) -> JSONValue {
    guard let value = members[name] else { throw .invalidRequest("Missing: \(path)\(name).") }
    return value
  }

  private func wrongType(_ name: String) -> ProblemError { .invalidRequest("Wrong type: \(path)\(name).") }
}

extension RequestContext {
  /// A parameter in the path, percent-decoded (RFC 3986 section 2.1).
  func decoded(_ name: String) throws(ProblemError) -> String {
    guard let text = parameters.get(name)?.removingPercentEncoding, !text.isEmpty else { throw .notFound }
    return text
  }
}
#endif
