#if Command
import Foundation
import HandstampCommandLine
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

/// A message of the program that talks to the bridge, as it came, or a batch.
struct ClientMessage: Sendable, Hashable {
  let bytes: [UInt8]
  let parts: [MessageFacts]

  /// Returns `nil` for anything but JSON-RPC.
  init?(_ bytes: [UInt8]) {
    guard let parts = MessageFacts.all(in: bytes) else { return nil }
    (self.bytes, self.parts) = (bytes, parts)
  }

  /// The requests that wait for a response.
  var awaited: [RequestID] {
    parts.compactMap { if case .request(let id) = $0.kind { id } else { nil } }
  }

  /// The only part; `nil` for a batch.
  var single: MessageFacts? { parts.count == 1 ? parts[0] : nil }

  /// Whether it begins a session.
  var opens: Bool { single?.method == "initialize" && !awaited.isEmpty }

  /// Whether it says that the session has begun.
  var isOpened: Bool { single?.method == "notifications/initialized" }

  /// Whether a repeat does no harm if the response to the first attempt is lost: it only reads.
  var isRepeatable: Bool {
    parts.allSatisfy { part in
      guard let method = part.method else { return false }
      return ClientMessage.reading.contains(method)
    }
  }

  private static let reading: Set = [
    "initialize", "server/discover", "ping", "tools/list", "prompts/list", "prompts/get", "resources/list",
    "resources/templates/list", "resources/read", "completion/complete",
  ]

  /// Whether a version of the protocol has neither sessions nor notifications of clients: since 2026-07-28, each
  /// request stands for itself, and is cancelled by closing its response. Versions are dates.
  static func standsAlone(_ version: String?) -> Bool { version.map { $0 >= "2026-07-28" } ?? false }
}

/// Errors of the bridge itself, as JSON-RPC responses.
enum BridgeReply {
  /// JSON-RPC 2.0 section 5.1.
  static let parseError: Int64 = -32_700
  static let invalidRequest: Int64 = -32_600
  /// The code of all other errors of the bridge, in the range that is left to implementations and that the protocol
  /// uses no part of.
  static let bridgeError: Int64 = -32_090

  /// The response to a request that could not be carried out. The message has the hint as well, because many programs
  /// show only that.
  ///
  /// - Parameter id: `nil` if the request's is not known.
  static func refusal(_ error: CommandError, of id: RequestID?) -> [UInt8] {
    var data = JSONText()
    data.add("code", error.code)
    data.add("hint", error.hint)
    return response(to: id, code: bridgeError, "handstamp: \(error.message); \(error.hint)", data)
  }

  static func response(to id: RequestID?, code: Int64, _ message: String, _ data: JSONText? = nil) -> [UInt8] {
    var error = JSONText()
    error.add("code", code)
    error.add("message", message)
    if let data { error.add("data", data) }
    return Array("{\"jsonrpc\":\"2.0\",\"id\":\(id?.json ?? "null"),\"error\":".utf8) + error.finished + [
      UInt8(ascii: "}")
    ]
  }
}
#endif
