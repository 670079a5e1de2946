#if Programs
import ArgumentParser
import Foundation

/// The address of a session server: `http` or `https`, without a slash at its end.
struct ServerAddress: Hashable, Sendable, Codable {
  let text: String

  /// - Throws: a refusal for what is no address of a server, and for `http` to other machines: a password would go over the
  ///   network for all to read.
  init(parsing text: String, allowingClearText: Bool = false) throws(Refusal) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
    else {
      throw Refusal(.usage, "the address of the server is none", hint: "write it as https://id.example.org")
    }
    guard parts.user == nil, parts.query == nil, parts.fragment == nil else {
      throw Refusal(
        .usage, "the address of the server has parts that it must not have", hint: "leave out user and query")
    }
    guard scheme == "https" || allowingClearText || ServerAddress.isLoopback(host) else {
      throw Refusal(
        .usage, "\(host) would be spoken to without encryption",
        hint: "use https, or add --clear-text if the network itself is trusted")
    }
    var text = text
    while text.hasSuffix("/") { text.removeLast() }
    self.text = text
  }

  init(from decoder: any Decoder) throws {
    // It was looked at when it was remembered.
    try self.init(parsing: try decoder.singleValueContainer().decode(String.self), allowingClearText: true)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]"
  }

  var url: URL {
    get throws(Refusal) {
      guard let url = URL(string: text) else {
        throw Refusal(.usage, "the address of the server is none", hint: "run: handstamp login --server URL")
      }
      return url
    }
  }

  /// Whether `url` is of the same scheme, host and port (RFC 6454 section 4), so that a token may go there.
  func covers(_ url: String) -> Bool {
    guard let own = Origin(text), let other = Origin(url) else { return false }
    return own == other
  }

  /// The address of `place`: a path below this one, or a whole address of the same origin.
  func address(of place: String) throws(Refusal) -> String {
    guard place.contains("://") else { return text + (place.hasPrefix("/") ? "" : "/") + place }
    guard covers(place) else {
      throw Refusal(
        .usage, "the token may go to \(text) alone", hint: "call other servers with your own client and handstamp token"
      )
    }
    return place
  }

  private struct Origin: Equatable {
    var scheme: String
    var host: String
    var port: Int

    init?(_ url: String) {
      guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(), parts.user == nil,
        let host = parts.host?.lowercased(), !host.isEmpty, let port = parts.port ?? ["http": 80, "https": 443][scheme]
      else { return nil }
      self.scheme = scheme
      self.host = host
      self.port = port
    }
  }
}

/// `--server`, for the commands that begin something.
struct ServerOptions: ParsableArguments {
  @Option(help: "the session server, remembered for later")
  var server: String?

  @Flag(help: "allow http to other machines")
  var clearText = false

  /// The one that was named, else the one that is remembered.
  func address(or known: ServerAddress?) throws(Refusal) -> ServerAddress {
    if let server { return try ServerAddress(parsing: server, allowingClearText: clearText) }
    guard let known else { throw .noServer }
    return known
  }
}

extension Refusal {
  static let noServer = Refusal(
    .usage, "no server is known yet", hint: "run: handstamp login --server https://id.example.org")
}
#endif
