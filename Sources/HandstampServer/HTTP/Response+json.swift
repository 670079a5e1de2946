#if Server
package import HTTPTypes
package import HandstampSupport
package import Hummingbird
import NIOCore

extension JSONText {
  var buffer: ByteBuffer { ByteBuffer(bytes: finished) }
}

extension Response {
  /// A JSON response that must not be cached.
  package static func json(_ json: JSONText, status: HTTPResponse.Status = .ok) -> Response {
    .json(json.finished, status: status)
  }

  /// The same, of JSON as text.
  package static func json(_ bytes: [UInt8], status: HTTPResponse.Status) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  /// An error of an API (RFC 9457).
  package static func problem(
    _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil
  ) -> Response {
    ProblemError(status, code, title, detail: detail).response
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
