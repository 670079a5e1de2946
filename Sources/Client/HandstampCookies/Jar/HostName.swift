import Foundation
import HandstampSupport

/// The names of hosts.
enum HostName {
  /// Returns the one spelling of a host: international names in ASCII (UTS 46), IPv6 addresses in short (RFC 5952) without brackets, and
  /// letters in lower case.
  static func canonical(_ host: String) -> String {
    let isBracketed = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
    let text = isBracketed ? String(host.dropFirst().dropLast()) : host
    if let address = AddressBytes.parse(text).flatMap(AddressBytes.text(ofIPv6:)) { return address }
    guard text.utf8.contains(where: { $0 > 127 }) else { return text.lowercased() }
    var parts = URLComponents()
    parts.scheme = "https"
    parts.host = text
    return (parts.encodedHost ?? text).lowercased()
  }
}
