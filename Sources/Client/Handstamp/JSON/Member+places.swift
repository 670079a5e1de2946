import Foundation
import HandstampCore

extension Member {
  /// The object that a response consists of; `nil` for anything else, such as a page.
  init?(object response: TransportResponse) {
    guard let value = try? JSONDecoder().decode(Member.self, from: response.json), case .object = value else {
      return nil
    }
    self = value
  }

  /// The value at a path of member names, such as `data.access_token`.
  subscript(path: String) -> Member? {
    var found: Member? = self
    for name in path.split(separator: ".") {
      guard case .object(let members)? = found else { return nil }
      found = members[String(name)]
    }
    return found
  }

  /// A time: RFC 3339, or seconds since 1970, or milliseconds if it would be of another age otherwise.
  private var date: Date? {
    if let number { return Date(timeIntervalSince1970: number < 1e11 ? number : number / 1000) }
    guard case .text(let text) = self else { return nil }
    return (try? Date(text, strategy: .iso8601))
      ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
  }

  /// The lifetime of a token, of which the server names the seconds, or the end by its own clock; `nil` if it does not say. With
  /// zero, servers mean that they do not.
  func lifetime(seconds: String?, until: String?, served: Date?) -> Duration? {
    var left = seconds.flatMap { self[$0]?.number }
    if left == nil, let served, let end = until.flatMap({ self[$0]?.date }) { left = end.timeIntervalSince(served) }
    return left.flatMap { $0 > 0 ? .seconds(min($0, 1e9)) : nil }
  }
}

extension TransportResponse {
  /// The body as JSON. Bytes that are no UTF-8 cost the text that they are in, and not the others.
  var json: Data { Data(String(decoding: body, as: UTF8.self).utf8) }
}
