#if Command
import Foundation
import HandstampSupport

/// The ID of a JSON-RPC request, which its response repeats.
enum RequestID: Sendable, Hashable, Decodable {
  case text(String)
  case number(Int64)
  /// JSON-RPC advises against it, and does not forbid it.
  case fraction(Double)

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if let number = try? value.decode(Int64.self) {
      self = .number(number)
    } else if let text = try? value.decode(String.self) {
      self = .text(text)
    } else {
      self = .fraction(try value.decode(Double.self))
    }
  }

  /// The ID as JSON.
  var json: String {
    switch self {
    case .text(let text): JSONString.quoted(text)
    case .number(let number): "\(number)"
    case .fraction(let number): "\(number)"
    }
  }
}

/// The part of a JSON-RPC message that decides where it goes. The message itself is passed on as it came.
struct MessageFacts: Sendable, Hashable, Decodable {
  enum Kind: Sendable, Hashable {
    case request(RequestID)
    case notification
    /// The ID is `nil` if the other side could not read that of the request.
    case response(RequestID?)
  }

  var kind: Kind
  /// `nil` for a response.
  var method: String?
  /// The protocol's version: that of a request in its `_meta`, or the one that the response to `initialize` has chosen.
  var version: String?
  /// The tool, the prompt or the resource that a request names.
  var name: String?
  /// The request that a notification cancels.
  var cancels: RequestID?
  /// The error of a response.
  var refusal: Refusal?

  struct Refusal: Sendable, Hashable, Decodable {
    var code: Int64
    var message: String
  }

  /// Reads one message, or all of a batch; `nil` for anything but JSON-RPC.
  static func all(in bytes: [UInt8]) -> [MessageFacts]? {
    let isBatch = bytes.first { $0 != 32 && $0 != 9 && $0 != 10 && $0 != 13 } == UInt8(ascii: "[")
    let decoder = JSONDecoder()
    guard isBatch else { return (try? decoder.decode(MessageFacts.self, from: Data(bytes))).map { [$0] } }
    guard let all = try? decoder.decode([MessageFacts].self, from: Data(bytes)), !all.isEmpty else { return nil }
    return all
  }

  private enum Member: String, CodingKey {
    case id, method, params, result, error
  }

  private struct Parameters: Decodable {
    struct Meta: Decodable {
      var version: String?
      private enum CodingKeys: String, CodingKey { case version = "io.modelcontextprotocol/protocolVersion" }
    }
    var name: String?
    var uri: String?
    var requestId: RequestID?
    var _meta: Meta?
  }

  private struct Result: Decodable { var protocolVersion: String? }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    let id = try members.decodeIfPresent(RequestID.self, forKey: .id)
    method = try members.decodeIfPresent(String.self, forKey: .method)
    guard method != nil else {
      guard members.contains(.result) || members.contains(.error) else {
        throw DecodingError.dataCorrupted(
          .init(codingPath: [], debugDescription: "neither a request nor a response"))
      }
      kind = .response(id)
      refusal = try? members.decodeIfPresent(Refusal.self, forKey: .error)
      version = (try? members.decodeIfPresent(Result.self, forKey: .result))?.protocolVersion
      return
    }
    kind = id.map { .request($0) } ?? .notification
    // Parameters by position name none of these.
    let parameters = try? members.decodeIfPresent(Parameters.self, forKey: .params)
    version = parameters?._meta?.version
    name = parameters?.name ?? parameters?.uri
    if method == "notifications/cancelled" { cancels = parameters?.requestId }
  }
}
#endif
