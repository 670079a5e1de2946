#if Command
import HandstampSupport
import HandstampCommandLine

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
