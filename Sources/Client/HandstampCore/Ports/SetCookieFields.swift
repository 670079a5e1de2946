import HandstampSupport

/// Takes apart what `URLSession` joins: fields with the same name, with a comma and a space between them.
///
/// Of all fields only `Set-Cookie` must not be joined (RFC 9110 section 5.3): values and dates contain commas as well. A transport that
/// has the fields one by one passes them on as they are; nothing else takes a line apart, because the owner of a cookie's value
/// could otherwise plant another cookie.
package enum SetCookieFields {
  /// Returns the lines. A new one begins after the attributes of the previous one, unless the comma is that of a date, or where a name that
  /// a cookie may have follows.
  package static func split(_ joined: String) -> [String] {
    var lines: [[UInt8]] = [[]]
    /// The part of the current line after its last semicolon.
    var segment: [UInt8] = []
    var hasAttributes = false
    let bytes = Array(joined.utf8)
    for (index, byte) in bytes.enumerated() {
      let rest = bytes[(index + 1)...]
      if byte == UInt8(ascii: ","), rest.first == 32, begins(rest.dropFirst(), after: segment, hasAttributes) {
        lines.append([])
        (segment, hasAttributes) = ([], false)
        continue
      }
      lines[lines.count - 1].append(byte)
      if byte == UInt8(ascii: ";") {
        (segment, hasAttributes) = ([], true)
      } else {
        segment.append(byte)
      }
    }
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }

  private static func begins(_ rest: ArraySlice<UInt8>, after segment: [UInt8], _ hasAttributes: Bool) -> Bool {
    // No further than to the next comma, so that the whole is read at most twice.
    let name = rest.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
    guard name.endIndex < rest.endIndex, rest[name.endIndex] == UInt8(ascii: "=") else { return false }
    guard hasAttributes else { return isToken(name) }
    // "Expires=Wed, 21 Oct 2026 …": a weekday, and no digit yet.
    let attribute = String(decoding: segment, as: UTF8.self).lowercased().drop { $0 == " " }
    return !attribute.hasPrefix("expires=") || attribute.utf8.contains(where: \.isDigit)
  }

  private static func isToken(_ name: ArraySlice<UInt8>) -> Bool {
    let name = name.drop { $0 == 32 }
    return !name.isEmpty
      && name.allSatisfy { $0 > 32 && $0 < 127 && !"()<>@,;:\\\"/[]?={}".utf8.contains($0) }
  }
}
