#if Server
import HandstampHTTP
import HandstampSupport
import HTTPTypes
import Hummingbird

extension Response {
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

  static func json(_ name: StaticString, _ values: [String]) -> Response {
    var json = JSONText()
    json.add(name, values)
    return .json(json)
  }

  static var nothing: Response { Response(status: .noContent, headers: [.cacheControl: "no-store"]) }
}
#endif
