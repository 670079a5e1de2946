#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

/// The URL of a session server: `http` or `https`, without a trailing slash.
struct ServerAddress: Hashable, Sendable, Codable {
  let text: String

  /// - Throws: A refusal if the text is not a valid server URL, or is `http` to another machine, which would send passwords
  ///   unencrypted.
  init(parsing text: String, allowingClearText: Bool = false) throws(CommandError) {
    guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty
    else {
      throw CommandError(
        .usage, "invalid server URL \"\(text.onOneLine)\"",
        hint: "use https://host, or http://127.0.0.1:port for a local server")
    }
    guard parts.user == nil, parts.query == nil, parts.fragment == nil else {
      throw CommandError(
        .usage, "the server URL must not contain a user, a query or a fragment", hint: "use https://host")
    }
    guard scheme == "https" || allowingClearText || Loopback.contains(host: host) else {
      throw CommandError(
        .usage, "refusing to send credentials to \(host) over plain HTTP",
        hint: "use https, or add --clear-text if you trust the network")
    }
    self.init(listed: text)
  }

  /// A URL that was validated when it was stored.
  init(listed text: String) {
    var text = text
    while text.hasSuffix("/") { text.removeLast() }
    self.text = text
  }

  init(from decoder: any Decoder) throws {
    // It was validated when it was stored.
    try self.init(parsing: try decoder.singleValueContainer().decode(String.self), allowingClearText: true)
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  /// The server in an account's ID; `nil` if the ID names no valid server.
  init?(of account: AccountID) {
    let text = account.rawValue.prefix { $0 != "#" }
    guard text.endIndex < account.rawValue.endIndex,
      let server = try? ServerAddress(parsing: String(text), allowingClearText: true)
    else { return nil }
    self = server
  }

  var url: URL {
    get throws(CommandError) {
      guard let url = URL(string: text) else {
        throw CommandError(.usage, "invalid server URL \"\(text)\"", hint: "run: handstamp login --server URL")
      }
      return url
    }
  }

  /// Waits for the server's response, says so at a terminal, and describes its error.
  func waiting<Value>(
    _ body: () async throws(SessionError) -> Value
  ) async throws(CommandError) -> Value {
    do throws(SessionError) { return try await WaitLine.shared.during(text, body) } catch {
      throw CommandError(error, server: self)
    }
  }

  /// Whether `url` has the same scheme, host and port (RFC 6454 section 4), so that a token may be sent to it.
  func covers(_ url: String) -> Bool {
    guard let own = Origin(text), let other = Origin(url) else { return false }
    return own == other
  }

  /// Returns the URL for `place`: a path at this server, or a full URL of the same origin.
  func address(of place: String) throws(CommandError) -> String {
    guard place.contains("://") else { return text + (place.hasPrefix("/") ? "" : "/") + place }
    guard covers(place) else {
      throw CommandError(
        .usage, "refusing to send the token anywhere but \(text)",
        hint: "use curl with $(handstamp token) for other servers"
      )
    }
    return place
  }
}

/// `--server`, for commands that start a session.
struct ServerOptions: ParsableArguments {
  @Option(help: "URL of the session server, remembered for later")
  var server: String?

  @Flag(help: "allow plain HTTP to other machines")
  var clearText = false

  /// Returns the server on the command line, else the remembered one.
  func address(or known: ServerAddress?) throws(CommandError) -> ServerAddress {
    if let server { return try ServerAddress(parsing: server, allowingClearText: clearText) }
    guard let known else { throw .noServer }
    return known
  }
}

extension CommandError {
  static let noServer = CommandError(
    .usage, "no server set", hint: "add the server: --server https://id.example.org")
}
#endif
