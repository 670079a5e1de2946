#if Command
import ArgumentParser
import Foundation
import HandstampCore
import HandstampSupport

/// `handstamp request`.
struct Request: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "request", abstract: "send a request with the session's token to the account's own server",
    discussion: """
      prints the response body; exits 1 if the status is not 2xx; replaces an
      expired or rejected token once; does not follow redirects
      """)

  @Option(name: [.customShort("X"), .long], help: "HTTP method (default: GET; POST with --data)") var method: String?
  @Option(
    name: [.customShort("d"), .long], help: ArgumentHelp("request body: text, @FILE, or - for stdin", valueName: "data")
  )
  var data: String?
  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("header field (repeatable)", valueName: "name: value"))
  var header: [String] = []
  @Option(help: "how long to wait for the response") var timeout = Span(.seconds(20))
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions
  @Argument(help: "path, or a URL at the same server") var place: String

  struct Answer: Document {
    struct Field: Encodable {
      var name: String
      var value: String
    }
    var schemaVersion = 1
    var status: Int
    var headers: [Field]
    /// The body, if it is UTF-8 text.
    var body: String?
    /// The body in base64, if it is not text.
    var bodyBase64: String?
  }

  func perform() async throws {
    let caller = try await Caller.current(account)
    let response = try await caller.respond(to: try request(to: caller.server))
    if output.json {
      let text = String(utf8Bytes: response.body)
      Answer(
        status: response.status, headers: response.headers.map { Answer.Field(name: $0.name, value: $0.value) },
        body: text, bodyBase64: text == nil ? Data(response.body).base64EncodedString() : nil
      ).writeLine()
    } else {
      Terminal.out(bytes: response.body)
      if !response.body.isEmpty, response.body.last != 10, isatty(STDOUT_FILENO) == 1 { Terminal.out("") }
    }
    guard (200..<300).contains(response.status) else { throw refusal(of: response.status) }
  }

  private func request(to server: ServerAddress) throws(Refusal) -> TransportRequest {
    var fields: [HeaderField] = []
    for line in header {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Refusal(.usage, "invalid header field: \(line.prefix(40))", hint: "write it as -H 'Name: value'")
      }
      let name = String(parts[0])
      guard name.lowercased() != "authorization" else {
        throw Refusal(
          .usage, "the session sets the authorization header",
          hint: "set \(EnvironmentToken.name) to send another token")
      }
      fields.append(HeaderField(name, parts[1].trimmingCharacters(in: .whitespaces)))
    }
    let body = try data.map(Request.bytes)
    if fields.first(named: "accept") == nil { fields.append(HeaderField("Accept", "*/*")) }
    if body != nil, fields.first(named: "content-type") == nil {
      fields.append(HeaderField("Content-Type", "application/json"))
    }
    return TransportRequest(
      method: method?.uppercased() ?? (body == nil ? "GET" : "POST"), url: try server.address(of: place),
      headers: fields, body: body ?? [], timeout: timeout.duration, maximumResponseSize: 64 << 20)
  }

  private static func bytes(of data: String) throws(Refusal) -> [UInt8] {
    if data == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
    guard data.hasPrefix("@") else { return Array(data.utf8) }
    let path = String(data.dropFirst())
    guard let content = FileManager.default.contents(atPath: path) else {
      throw Refusal(.failure, "cannot read \(path)", hint: "pass a readable file, or - for stdin")
    }
    return Array(content)
  }

  private func refusal(of status: Int) -> Refusal {
    switch status {
    case 300..<400:
      Refusal(
        .failure, "the server answered \(status)", hint: "request the new location yourself; redirects are not followed"
      )
    case 429, 500...: Refusal(.network, "the server answered \(status)", hint: "try again later")
    default: Refusal(.failure, "the server answered \(status)", hint: "see the response body")
    }
  }
}
#endif
