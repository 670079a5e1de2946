import Foundation
import HandstampSupport

/// The names of hosts.
enum HostName {
  /// Returns the one spelling of a host: international names in ASCII (UTS 46), IPv6 addresses in short (RFC 5952) without brackets, and
  /// letters in lower case.
  static func canonical(_ host: String) -> String {
    let bare = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
    let text = bare ? String(host.dropFirst().dropLast()) : host
    if text.utf8.contains(UInt8(ascii: ":")) { return address(text) ?? text.lowercased() }
    guard text.utf8.contains(where: { $0 > 127 }) else { return text.lowercased() }
    var parts = URLComponents()
    parts.scheme = "https"
    parts.host = text
    return (parts.encodedHost ?? text).lowercased()
  }

  private static func address(_ text: String) -> String? {
    var bytes = [UInt8](repeating: 0, count: 16)
    guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
    var spelt = [CChar](repeating: 0, count: 64)
    guard inet_ntop(AF_INET6, bytes, &spelt, socklen_t(spelt.count)) != nil else { return nil }
    return String(decoding: spelt.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
