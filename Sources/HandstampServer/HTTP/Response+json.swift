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

  /// 202: the work continues after the response.
  static func accepted(_ status: String) -> Response {
    .json(JSONText([("status", status)]), status: .accepted)
  }

  /// An object with one list.
  static func json(_ name: StaticString, _ values: [JSONText]) -> Response {
    var json = JSONText()
    json.add(name, values)
    return .json(json)
  }

  static var nothing: Response { Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
}
#endif
