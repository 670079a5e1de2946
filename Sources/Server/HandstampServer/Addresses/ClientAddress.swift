#if Server
import HandstampHTTP
import HTTPTypes
import NIOCore

/// Where a request comes from.
struct ClientAddress: Sendable, Hashable {
  /// The source of the address.
  enum Source: String, Sendable {
    /// The peer of the connection.
    case connection
    /// The header field of a trusted proxy.
    case proxy
  }

  /// `nil` if the peer is a Unix domain socket, or a proxy hides the client.
  var address: IPAddress?
  var source: Source

  /// The address as text, for the audit log.
  var text: String? { address.map { "\($0)" } }

  /// - Parameter peer: the peer of the connection.
  init(of headers: HTTPFields, peer: SocketAddress?, behind proxies: TrustedProxies) {
    let address = IPAddress(peer)
    self.init(address: address, source: .connection)
    guard proxies.trusts(address) else { return }
    // Each proxy appends its peer, so the last entries are the ones that trusted proxies wrote.
    let entries = ClientAddress.entries(of: headers, in: proxies.field).suffix(ClientAddress.longest)
    for entry in entries.reversed() {
      // The entries before one that is not an address were written by an unknown party.
      guard let next = IPAddress(entry) else { return }
      self.init(address: next, source: .proxy)
      guard proxies.contains(next) else { return }
    }
  }

  private init(address: IPAddress?, source: Source) {
    self.address = address
    self.source = source
  }

  /// How many entries are read; more proxies in a row do not occur.
  private static let longest = 16

  private static func entries(of headers: HTTPFields, in field: TrustedProxies.Field) -> [String] {
    switch field {
    case .xForwardedFor:
      headers[values: .xForwardedFor].flatMap { $0.unicodeScalars.split(separator: ",") }.map {
        withoutPort(String($0))
      }
    case .forwarded: headers[values: .forwarded].flatMap(ForwardedField.elements).map { withoutPort($0["for"] ?? "") }
    }
  }

  /// Returns the address of a `node` (RFC 7239 section 6), which may have brackets and a port.
  private static func withoutPort(_ text: some StringProtocol) -> String {
    let node = text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
    if node.first == "[" { return String(node.dropFirst().prefix { $0 != "]" }) }
    let colons = node.utf8.count { $0 == UInt8(ascii: ":") }
    return colons == 1 ? String(node.prefix { $0 != ":" }) : String(node)
  }
}

/// The field `Forwarded` (RFC 7239 section 4).
enum ForwardedField {
  /// Returns the parameters of each element, with their names in lower case. An element that is not well-formed has none.
  static func elements(_ value: String) -> [[String: String]] {
    split(value, at: ",").map { element in
      var parameters: [String: String] = [:]
      for pair in split(element, at: ";") {
        let parts = pair.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { return [:] }
        let name = parts[0].filter { $0 != " " && $0 != "\t" }.lowercased()
        guard parameters.updateValue(unquoted(parts[1]), forKey: name) == nil else { return [:] }
      }
      return parameters
    }
  }

  /// Splits at a separator outside quotes.
  private static func split(_ text: String, at separator: Unicode.Scalar) -> [String] {
    var parts = [String.UnicodeScalarView()]
    var isQuoted = false
    var isEscaped = false
    // Scalars, because a separator may be part of a longer character.
    for scalar in text.unicodeScalars {
      if isEscaped {
        isEscaped = false
      } else if isQuoted, scalar == "\\" {
        isEscaped = true
      } else if scalar == "\"" {
        isQuoted.toggle()
      } else if scalar == separator, !isQuoted {
        parts.append(String.UnicodeScalarView())
        continue
      }
      parts[parts.count - 1].append(scalar)
    }
    return parts.map { String($0) }
  }

  /// Returns the text of a `quoted-string` or a token (RFC 9110 section 5.6).
  private static func unquoted(_ text: some StringProtocol) -> String {
    let text = text.drop { $0 == " " || $0 == "\t" }
    guard text.first == "\"" else { return String(text.prefix { $0 != " " && $0 != "\t" }) }
    var result = ""
    var isEscaped = false
    for character in text.dropFirst() {
      if !isEscaped, character == "\"" { break }
      if !isEscaped, character == "\\" {
        isEscaped = true
        continue
      }
      isEscaped = false
      result.append(character)
    }
    return result
  }
}
#endif
