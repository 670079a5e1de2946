import HandstampCore
import HandstampSupport

/// One `Set-Cookie` line, parsed as browsers do (RFC 6265 section 5.2).
struct SetCookie {
  var name: String
  var value: Secret
  /// In lower case, without a leading dot. Empty resets it to the host's own, as a missing one does.
  var domain: String?
  var path: String?
  var expires: UnixTime?
  /// In seconds.
  var maxAge: Int64?
  var isSecure = false
  var isHTTPOnly = false

  /// The largest total size of name and value, in bytes; larger cookies are refused.
  static let sizeLimit = 4096

  init?(_ line: String) {
    // A control character may be an attempt to inject another header or another line of the jar.
    guard line.utf8.allSatisfy({ $0 >= 32 && $0 != 127 || $0 == 9 }) else { return nil }
    let parts = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard let pair = parts.first, let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = Substring(pair[..<equals]).trimmed
    let value = Substring(pair[pair.index(after: equals)...]).trimmed
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= SetCookie.sizeLimit, !(name + value).utf8.contains(9)
    else { return nil }
    self.name = name
    self.value = Secret(value)
    for part in parts.dropFirst() {
      let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
      read(Substring(part[..<equals]).trimmed.lowercased(), Substring(part[equals...].dropFirst()).trimmed)
    }
  }

  /// Applies an attribute; the last one with the same name counts, and unknown or malformed ones are ignored.
  private mutating func read(_ attribute: String, _ value: String) {
    switch attribute {
    case "expires": expires = CookieDate.parse(value) ?? expires
    case "max-age":
      guard let first = value.utf8.first, first == 45 || first.isDigit,
        value.utf8.dropFirst().allSatisfy(\.isDigit), value != "-"
      else { return }
      maxAge = Int64(value) ?? (first == 45 ? .min : .max)
    case "domain":
      // The last one counts, also if it is empty (RFC 6265bis section 5.6.3).
      let bare = value.utf8.first == UInt8(ascii: ".") ? String(decoding: value.utf8.dropFirst(), as: UTF8.self) : value
      domain = bare.isEmpty ? nil : HostName.canonical(bare)
    case "path": path = value.utf8.first == UInt8(ascii: "/") && !value.utf8.contains(9) ? value : nil
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    default: break
    }
  }
}

extension Substring {
  /// The text without spaces and tabs at both ends. By bytes: a combining mark would join the space before it.
  var trimmed: String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }
    let start = utf8.drop(while: isBlank)
    let end = start.lastIndex { !isBlank($0) }.map { start.index(after: $0) } ?? start.startIndex
    return String(decoding: start[start.startIndex..<end], as: UTF8.self)
  }
}
