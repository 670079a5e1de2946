#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

struct Request: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "request", abstract: "send a request with the session's token to the account's own server",
    discussion: """
      prints the response body; exits 1 if the status is not 2xx; replaces an
      expired or rejected token once; does not follow redirects

      if the API demands a stronger or a later sign-in (RFC 9470), asks you for
      it, and repeats the request once; the session goes on
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
  @Flag(help: "do not ask for a sign-in that the API demands: exit 1") var noStepUp = false
  @Option(help: "how long to wait for the response") var timeout = Span(.seconds(20))
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions
  @OptionGroup(title: "Programs without users") var machine: MachineOptions
  @Argument(help: "path, or a URL at the same server; with --client-credentials or --ci, any URL") var place: String

  func perform(in installation: Installation) async throws {
    var response: TransportResponse
    if let machine = try machine.machine(instead: account) {
      response = try await machine.respond(to: try request(to: destination(else: machine.server)))
    } else {
      let caller = try await AuthorizedCaller.current(account, in: installation)
      let request = try request(to: caller.server)
      response = try await caller.respond(to: request)
      if !noStepUp, case .session(let client) = caller, let step = StepUp(response) {
        response = try await step.repeated(request, by: client)
      }
    }
    if output.json {
      let text = String(utf8Bytes: response.body)
      Terminal.out(json: [
        "status": response.status, "headers": response.headers.map { ["name": $0.name, "value": $0.value] },
        "body": text, "bodyBase64": text == nil ? Data(response.body).base64EncodedString() : nil,
      ])
    } else {
      Terminal.out(bytes: response.body)
      if !response.body.isEmpty, response.body.last != 10, isatty(STDOUT_FILENO) == 1 { Terminal.out("") }
    }
    guard (200..<300).contains(response.status) else { throw refusal(of: response.status) }
  }

  /// A program names the API itself: its own server is seldom the one.
  private func destination(else server: ServerAddress) throws(CommandError) -> ServerAddress {
    guard place.contains("://") else { return server }
    guard let origin = Origin(place), origin.isTrustworthy else {
      throw CommandError(
        .usage, "refusing to send a token to \(place.onOneLine)", hint: "use an https URL, or one of this machine")
    }
    return ServerAddress(listed: origin.text)
  }

  private func request(to server: ServerAddress) throws(CommandError) -> TransportRequest {
    var fields: [HeaderField] = []
    for line in header {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw CommandError(.usage, "invalid header field: \(line.prefix(40))", hint: "write it as -H 'Name: value'")
      }
      let name = String(parts[0])
      guard name.lowercased() != "authorization" else {
        throw CommandError(
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

  private static func bytes(of data: String) throws(CommandError) -> [UInt8] {
    if data == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
    guard data.hasPrefix("@") else { return Array(data.utf8) }
    let path = String(data.dropFirst())
    guard let content = FileManager.default.contents(atPath: path) else {
      throw CommandError(.failure, "cannot read \(path)", hint: "pass a readable file, or - for stdin")
    }
    return Array(content)
  }

  private func refusal(of status: Int) -> CommandError {
    switch status {
    case 300..<400:
      CommandError(
        .failure, "the server answered \(status)", hint: "request the new location yourself; redirects are not followed"
      )
    case 429, 500...: CommandError(.network, "the server answered \(status)", hint: "try again later")
    default: CommandError(.failure, "the server answered \(status)", hint: "see the response body")
    }
  }
}
#endif
