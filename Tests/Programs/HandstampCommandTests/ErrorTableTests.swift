#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

/// The codes in `docs/troubleshooting.md`, as the types say them. `HANDSTAMP_UPDATE=1 make test FILTER='The table of errors'` writes
/// them, and keeps the causes and the ways out.
@Suite(.timeLimit(.minutes(10))) struct `The table of errors` {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  private let server: ServerAddress
  private var file: URL { Self.root.appendingPathComponent("docs/troubleshooting.md") }

  init() throws { server = try ServerAddress(parsing: "https://id.example.org") }

  /// One sample of every case. A new case does not compile in `name` until it stands here.
  private static let samples: [SessionError] =
    [
      .signedOut(.revoked), .sessionEnded(.revoked), .noRefreshToken, .storageOutdated, .tokenRejected,
      .refused(code: "wrong_credentials", detail: nil), .invalidResponse("text"), .unsupported("guests"),
      .contentFailed("x"),
      .cancelled,
    ] + failures.map { .requestFailed($0) } + vaults.map { .storage($0) } + presences.map { .presence($0) }
    + [.redirect(.unavailable("x"))]

  private static let failures: [RequestError] =
    [TransportError.notConnected("x"), .connectionLost("x"), .timedOut, .tooLarge, .invalidRequest("x")].map {
      .network($0)
    } + [
      .server(.init(status: 503)), .server(.init(status: 429)),
      .configuration(.init(status: 401, error: "invalid_client")), .unusableTokens("x", successor: nil),
      .clock(.seconds(90)),
    ]
  private static let vaults: [VaultError] = [
    .locked, .full("x"), .permissions("x"), .newerFormat("x"), .wrongKey("x"), .passphrase("x"), .corrupt,
    .otherServer("x"), .unavailable("x"),
  ]
  private static let presences: [PresenceError] = [
    .declined, .unavailable("x"), .lockedOut(retryAfter: .seconds(9)), .noSecret, .cancelled,
  ]

  private func name(_ error: SessionError) -> String {
    switch error {
    case .signedOut: "SessionError.signedOut"
    case .sessionEnded: "SessionError.sessionEnded"
    case .noRefreshToken: "SessionError.noRefreshToken"
    case .storageOutdated: "SessionError.storageOutdated"
    case .tokenRejected: "SessionError.tokenRejected"
    case .refused: "SessionError.refused"
    case .invalidResponse: "SessionError.invalidResponse"
    case .unsupported: "SessionError.unsupported"
    case .contentFailed: "SessionError.contentFailed"
    case .cancelled: "SessionError.cancelled"
    case .presence(let error): "PresenceError.\(caseName(error))"
    case .redirect(let error): "RedirectError.\(caseName(error))"
    case .storage(let error): "VaultError.\(caseName(error))"
    case .requestFailed(.network(let error), _): "TransportError.\(caseName(error))"
    case .requestFailed(let failure, _): "RequestError.\(caseName(failure))"
    }
  }

  private func caseName(_ value: some HandstampError) -> String {
    // A case without a value has no children; its description may be a sentence.
    Mirror(reflecting: value).children.first?.label ?? caseWithoutValue(value)
  }

  private func caseWithoutValue(_ error: any HandstampError) -> String {
    switch error.code {
    case "timed_out": "timedOut"
    case "response_too_large": "tooLarge"
    case "storage_locked": "locked"
    case "storage_corrupt": "corrupt"
    case "presence_declined": "declined"
    case "presence_cancelled": "cancelled"
    case "presence_no_secret": "noSecret"
    default: "?"
    }
  }

  private func recovery(_ recovery: Recovery?) -> String {
    switch recovery {
    case .signIn?: "sign in"
    case .retry?: "try again later"
    case .unlockDevice?: "unlock the device"
    case .confirmPresence?: "confirm presence"
    case .freeStorage?: "free storage"
    case .grantAccess?: "give access to the files"
    case .updateApp?: "update the app"
    case .restoreKey?: "restore the key"
    case .fixConfiguration?: "correct the configuration"
    case .setClock?: "set the clock"
    case nil: ""
    }
  }

  /// The rows of a table, up to the cause and the way out, by the head of the table.
  private func tables() throws -> [Substring: [String]] {
    var rows: Set<String> = []
    for error in Self.samples {
      let refusal = CommandError(error, server: server)
      let shown = error.code == "wrong_credentials" ? "the server's" : "`\(error.code)`"
      rows.insert("| \(shown) | `\(name(error))` | \(recovery(error.recovery)) | \(refusal.exit.rawValue) |")
    }
    return [
      "| code | Swift | recovery | exit status | cause | way out |": rows.sorted(),
      "| code of a problem document | exit status | cause | way out |": try problems().map {
        "| `\($0.code)` | \(exit(of: $0.code, $0.status)) |"
      },
    ]
  }

  /// The page with the rows that the types give, each with the cause and the way out that the page has for its code.
  private func page(_ text: String) throws -> String {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (head, rows) in try tables() {
      let first = try #require(lines.firstIndex(of: head)) + 2
      let known = lines[first...].prefix { $0.hasPrefix("|") }
      let cells = known.map { $0.split(separator: " | ", omittingEmptySubsequences: false) }
      let made = rows.map { row in
        let code = row.split(separator: " | ")[0]
        let words = cells.first { $0[0] == code }?.suffix(2).joined(separator: " | ") ?? " |  |"
        return Substring("\(row) \(words)")
      }
      lines.replaceSubrange(known.indices, with: made)
    }
    return lines.joined(separator: "\n")
  }

  /// The codes that the server's sources name, and the statuses that they say beside them.
  private func problems() throws -> [(code: String, status: String)] {
    let folder = Self.root.appendingPathComponent("Sources/Server")
    var codes: [String: String] = [:]
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      let places =
        #/
        (?: (?: ProblemError | case\ \.\w+:\s+ ) \(\s* \.(\w+),\s* | invalidToken\([^")]*code:\  | refused\((?:\w+,\ )? ) "([a-z_]+)"
        /#
      for match in text.matches(of: places) {
        codes[String(match.output.2)] = match.output.1.map(String.init) ?? ""
      }
    }
    return codes.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// As the client reads the code with the status that the server sends it with.
  private func exit(of code: String, _ status: String) -> Int32 {
    switch (code, status) {
    case ("session_ended", _), ("token_expired", _), ("token_invalid", _), ("token_missing", _), ("proof_invalid", _): 4
    case (_, "serviceUnavailable"), (_, "tooManyRequests"), (_, "internalServerError"): 6
    default: CommandError(.refused(code: code, detail: nil), server: server).exit.rawValue
    }
  }

  @Test func `is the one in the documentation, which has a way out for each code`() throws {
    let text = try String(contentsOf: file, encoding: .utf8)
    let page = try page(text)
    if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] == "1" {
      try page.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == page)
    #expect(!page.contains(" |  |\n"), "a code without a way out")
  }

  @Test(arguments: samples) func `has the code that the command prints`(_ error: SessionError) throws {
    let refusal = CommandError(error, server: server)
    #expect(refusal.code == error.code)
    #expect(!refusal.hint.isEmpty && !refusal.message.isEmpty)
    let first = try #require(error.localizedDescription.first)
    #expect(first.isUppercase || !first.isLetter)
    let line = refusal.line
    #expect(line.contains("\"code\":\"\(error.code)\"") && line.contains("\"exitStatus\":\(refusal.exit.rawValue)"))
  }
}
#endif
