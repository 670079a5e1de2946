import HandstampCore

/// One `Set-Cookie` line, parsed as browsers do (RFC 6265 section 5.2).
struct SetCookie {
  var name: String
  var value: Secret
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
    let parts = line.split(separator: ";", omittingEmptySubsequences: false)
    guard let pair = parts.first, let equals = pair.firstIndex(of: "=") else { return nil }
    let name = pair[..<equals].trimmed
    let value = pair[pair.index(after: equals)...].trimmed
    guard !name.isEmpty, name.utf8.count + value.utf8.count <= SetCookie.sizeLimit, !(name + value).utf8.contains(9)
    else { return nil }
    self.name = name
    self.value = Secret(value)
    for part in parts.dropFirst() {
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      read(part[..<equals].trimmed.lowercased(), part[equals...].dropFirst().trimmed)
    }
  }

  /// Applies an attribute; the last one with the same name counts, and unknown or malformed ones are ignored.
  private mutating func read(_ attribute: String, _ value: String) {
    switch attribute {
    case "expires": expires = CookieDate.parse(value) ?? expires
    case "max-age":
      guard let first = value.utf8.first, first == 45 || (48...57).contains(first),
        value.utf8.dropFirst().allSatisfy({ (48...57).contains($0) }), value != "-"
      else { return }
      maxAge = Int64(value) ?? (first == 45 ? .min : .max)
    case "domain":
      guard !value.isEmpty else { return }
      domain = (value.hasPrefix(".") ? String(value.dropFirst()) : value).lowercased()
    case "path": path = value.hasPrefix("/") && !value.utf8.contains(9) ? value : nil
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    default: break
    }
  }

  /// Returns the `Set-Cookie` lines of a response. `URLSession` joins fields of the same name with a comma and a space, which
  /// dates contain as well: they separate only where a name and `=` follow. No value may contain both (RFC 6265 section 4.1.1).
  static func lines(_ headers: [HeaderField]) -> [String] {
    headers.filter { $0.name.lowercased() == "set-cookie" }.flatMap { split($0.value) }
  }

  static func split(_ joined: String) -> [String] {
    var lines: [String] = []
    var current = ""
    for part in joined.split(separator: ",", omittingEmptySubsequences: false) {
      let name = part.prefix { $0 != "=" && $0 != ";" }
      let isNext =
        part.hasPrefix(" ") && name.endIndex < part.endIndex && part[name.endIndex] == "=" && isToken(name.trimmed)
      if lines.isEmpty && current.isEmpty {
        current = String(part)
      } else if isNext {
        lines.append(current)
        current = String(part)
      } else {
        current += "," + part
      }
    }
    return lines + [current]
  }

  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        byte > 32 && byte < 127 && !"()<>@,;:\\\"/[]?={}".utf8.contains(byte)
      }
  }
}

extension Substring {
  /// The text without spaces and tabs at both ends.
  var trimmed: String {
    let start = drop { $0 == " " || $0 == "\t" }
    var end = start
    while let last = end.last, last == " " || last == "\t" { end.removeLast() }
    return String(end)
  }
}
