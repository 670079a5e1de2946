public import HandstampCore

/// The format of a jar in the vault: one line per cookie, with fields separated by tabs, which no cookie contains.
extension CookieJar {
  private static let head = "handstamp-jar 1"

  /// The jar in its storage format.
  public var text: Secret {
    let lines = cookies.map { cookie in
      [
        cookie.name, cookie.value.withExposed { $0 }, cookie.domain, cookie.path,
        cookie.expires.map { String($0.milliseconds) } ?? "", String(cookie.createdAt.milliseconds),
        (cookie.isHostOnly ? "h" : "") + (cookie.isSecure ? "s" : "") + (cookie.isHTTPOnly ? "o" : ""),
      ].joined(separator: "\t")
    }
    return Secret(([CookieJar.head] + lines).joined(separator: "\n"))
  }

  /// Parses the format of ``text``; `nil` for any other text. Lines that are not cookies are skipped, as are fields that a
  /// later version added.
  public init?(_ text: Secret) {
    let lines = text.withExposed { $0.utf8.split(separator: 10).map { String(decoding: $0, as: UTF8.self) } }
    guard lines.first == CookieJar.head else { return nil }
    self.init()
    keep(lines.dropFirst().compactMap(Cookie.init(line:)).prefix(CookieJar.countLimit).map { $0 })
  }

  /// Parses the cookies of a session; `nil` for an access token, and for the format of a later version.
  public init?(_ credential: Credential) {
    guard case .cookies(let text) = credential else { return nil }
    self.init(text)
  }
}

extension Cookie {
  fileprivate init?(line: String) {
    let fields = line.utf8.split(separator: 9, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    guard fields.count >= 7, !fields[0].isEmpty, let created = Int64(fields[5]) else { return nil }
    guard fields[4].isEmpty || Int64(fields[4]) != nil else { return nil }
    self.init(
      name: fields[0], value: Secret(fields[1]), domain: fields[2], isHostOnly: fields[6].contains("h"),
      path: fields[3], expires: Int64(fields[4]).map(UnixTime.init(milliseconds:)),
      isSecure: fields[6].contains("s"), isHTTPOnly: fields[6].contains("o"),
      createdAt: UnixTime(milliseconds: created))
  }
}
