#if Server
import HTTPTypes
import HandstampSupport
import Hummingbird
import NIOCore

extension JSONText {
  var buffer: ByteBuffer { ByteBuffer(bytes: finished) }
}

extension Response {
  /// A JSON response that must not be cached.
  static func json(_ json: JSONText, status: HTTPResponse.Status = .ok) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: json.buffer))
  }

  /// The options of a passkey, as JSON.
  static func options(_ json: [UInt8]) -> Response {
    Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: json)))
  }

  /// 202: the work continues after the response.
  static func accepted(_ status: String) -> Response {
    var json = JSONText()
    json.add("status", status)
    return .json(json, status: .accepted)
  }

  static var nothing: Response { Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
}
#endif
