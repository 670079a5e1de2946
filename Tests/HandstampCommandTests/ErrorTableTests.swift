#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand

/// `docs/errors.md`, as the types say it. `HANDSTAMP_UPDATE=1 swift test --filter 'The table of errors'` writes it.
@Suite(.timeLimit(.minutes(10))) struct `The table of errors` {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private let server: ServerAddress
  private var file: URL { Self.root.appendingPathComponent("docs/errors.md") }

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

  private static let failures: [RequestFailure] =
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
    case .requestFailed(let failure, _): "RequestFailure.\(caseName(failure))"
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

  private func recovery(_ recovery: Recovery) -> String {
    switch recovery {
    case .signIn: "sign in"
    case .retry: "try again later"
    case .unlockDevice: "unlock the device"
    case .confirmPresence: "confirm presence"
    case .freeStorage: "free storage"
    case .grantAccess: "give access to the files"
    case .updateApp: "update the app"
    case .restoreKey: "restore the key"
    case .fixConfiguration: "correct the configuration"
    case .setClock: "set the clock"
    case .noStep: ""
    }
  }

  private func table() throws -> String {
    var rows: [(code: String, row: String)] = []
    for error in Self.samples {
      let refusal = Refusal(error, server: server)
      let shown = error.code == "wrong_credentials" ? "the server's" : "`\(error.code)`"
      rows.append(
        (error.code, "| \(shown) | `\(name(error))` | \(recovery(error.recovery)) | \(refusal.exit.rawValue) |"))
    }
    let lines = Set(rows.map(\.row)).sorted()
    return """
      # Errors

      Every error has a code that does not change between releases: `error.code` in Swift, `error.code` of the line that the command
      prints on stderr with `--json`, and `code` of the server's problem documents (RFC 9457). `recovery` is the step that can help.
      This file is generated from the types: `HANDSTAMP_UPDATE=1 swift test --filter 'The table of errors'`.

      | code | Swift | recovery | exit status |
      |---|---|---|---|
      \(lines.joined(separator: "\n"))

      A configuration error has the code of RFC 6749 or RFC 9449, such as `invalid_client`. A refusal has the server's code:

      | code of a problem document | exit status |
      |---|---|
      \(try problems().map { "| `\($0)` | \(exit(of: $0)) |" }.joined(separator: "\n"))

      | exit status | meaning |
      |---|---|
      | 0 | done |
      | 1 | failed |
      | 2 | cancelled |
      | 4 | sign-in needed |
      | 5 | vault locked or unavailable |
      | 6 | no answer from the server; try again later |
      | 7 | the client or the server is not set up correctly |
      | 64 | usage error |
      | 126, 127 | the program given to `exec` cannot be run, or was not found |

      """
  }

  /// The codes that the server's sources name.
  private func problems() throws -> [String] {
    let folder = Self.root.appendingPathComponent("Sources/HandstampServer")
    var codes: Set<String> = []
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
      let text = try String(contentsOf: file, encoding: .utf8)
      let places = #/(?:Problem\(\s*\.\w+,\s*|invalidToken\([^")]*code: |refused\((?:\w+, )?)"([a-z_]+)"/#
      for match in text.matches(of: places) {
        codes.insert(String(match.output.1))
      }
    }
    return codes.sorted()
  }

  /// As the client reads the code with the status that the server sends it with.
  private func exit(of code: String) -> Int32 {
    switch code {
    case "session_ended", "token_expired", "token_invalid", "token_missing", "proof_invalid": 4
    case "unavailable", "busy": 6
    default: Refusal(.refused(code: code, detail: nil), server: server).exit.rawValue
    }
  }

  @Test func `is the one in the documentation`() throws {
    let table = try table()
    if ProcessInfo.processInfo.environment["HANDSTAMP_UPDATE"] == "1" {
      try table.write(to: file, atomically: true, encoding: .utf8)
    }
    #expect(try String(contentsOf: file, encoding: .utf8) == table)
  }

  @Test(arguments: samples) func `has the code that the command prints`(_ error: SessionError) throws {
    let refusal = Refusal(error, server: server)
    #expect(refusal.code == error.code)
    #expect(!refusal.hint.isEmpty && !refusal.message.isEmpty)
    let first = try #require(error.localizedDescription.first)
    #expect(first.isUppercase || !first.isLetter)
    let line = ErrorDocument(refusal).line
    #expect(line.contains("\"code\":\"\(error.code)\"") && line.contains("\"exitStatus\":\(refusal.exit.rawValue)"))
  }
}
#endif
