import Foundation
import Handstamp
import HandstampUI
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The table of errors and texts` {
  /// A situation, and its errors as the table writes them.
  private struct Row: Sendable {
    let situation: String
    let session: (name: String, error: SessionError)?
    let api: (name: String, error: APIError)?

    init(_ situation: String, _ session: (String, SessionError)?, _ api: (String, APIError)?) {
      (self.situation, self.session, self.api) = (situation, session, api)
    }

    var text: String {
      let error: (any Error)? = session?.error ?? api?.error
      let wording = error.flatMap { Wording($0) }
      let cells: [String?] = [
        situation, session.map { "`\($0.name)`" }, api.map { "`\($0.name)`" }, wording?.text ?? "nothing",
        wording?.remedy?.text, error.flatMap { Recovery($0) }.map { "`\($0.name)`" },
      ]
      return "| " + cells.map { $0 ?? "–" }.joined(separator: " | ") + " |"
    }
  }

  private static let rows: [Row] = [
    Row(
      "no connection", (#".requestFailed(.network(.notConnected("x")))"#, .requestFailed(.network(.notConnected("x")))),
      (#".network(.notConnected("x"))"#, .network(.notConnected("x")))),
    Row(
      "no response in time", (".requestFailed(.network(.timedOut))", .requestFailed(.network(.timedOut))),
      (".network(.timedOut)", .network(.timedOut))),
    Row(
      "the server asks for a wait, also with 429 after too many attempts",
      (
        ".requestFailed(.server(.init(status: 503)), retryAfter: .seconds(7))",
        .requestFailed(.server(.init(status: 503)), retryAfter: .seconds(7))
      ),
      (
        ".session(.requestFailed(.server(.init(status: 503)), retryAfter: .seconds(7)))",
        .session(.requestFailed(.server(.init(status: 503)), retryAfter: .seconds(7)))
      )),
    Row(
      "the server is busy",
      (".requestFailed(.server(.init(status: 503)))", .requestFailed(.server(.init(status: 503)))),
      (".status(503, nil)", .status(503, nil))),
    Row(
      "the server failed", (".requestFailed(.server(.init(status: 502)))", .requestFailed(.server(.init(status: 502)))),
      (".status(502, nil)", .status(502, nil))),
    Row(
      "the session ended elsewhere", (".sessionEnded(.revoked)", .sessionEnded(.revoked)),
      (".session(.sessionEnded(.revoked))", .session(.sessionEnded(.revoked)))),
    Row("signed out", (".signedOut(nil)", .signedOut(nil)), (".session(.signedOut(nil))", .session(.signedOut(nil)))),
    Row(
      "no refresh token", (".noRefreshToken", .noRefreshToken), (".session(.noRefreshToken)", .session(.noRefreshToken))
    ),
    Row(
      "the server refuses a refresh",
      (
        #".requestFailed(.server(.init(status: 401, error: "x")))"#,
        .requestFailed(.server(.init(status: 401, error: "x")))
      ),
      (
        #".session(.requestFailed(.server(.init(status: 401, error: "x"))))"#,
        .session(.requestFailed(.server(.init(status: 401, error: "x"))))
      )),
    Row(
      "a session older than the server's", (".storageOutdated", .storageOutdated),
      (".session(.storageOutdated)", .session(.storageOutdated))),
    Row(
      "the device is locked", (".storage(.locked)", .storage(.locked)),
      (".session(.storage(.locked))", .session(.storage(.locked)))),
    Row(
      "the device is full", (#".storage(.full("x"))"#, .storage(.full("x"))),
      (#".session(.storage(.full("x")))"#, .session(.storage(.full("x"))))),
    Row(
      "a newer version wrote the session", (#".storage(.newerFormat("x"))"#, .storage(.newerFormat("x"))),
      (#".session(.storage(.newerFormat("x")))"#, .session(.storage(.newerFormat("x"))))),
    Row(
      "no permission for the storage", (#".storage(.permissions("x"))"#, .storage(.permissions("x"))),
      (#".session(.storage(.permissions("x")))"#, .session(.storage(.permissions("x"))))),
    Row(
      "another storage failure", (#".storage(.unavailable("x"))"#, .storage(.unavailable("x"))),
      (#".session(.storage(.unavailable("x")))"#, .session(.storage(.unavailable("x"))))),
    Row(
      "the session is damaged", (".storage(.corrupt)", .storage(.corrupt)),
      (".session(.storage(.corrupt))", .session(.storage(.corrupt)))),
    Row(
      "the session is of another server", (#".storage(.otherServer("x"))"#, .storage(.otherServer("x"))),
      (#".session(.storage(.otherServer("x")))"#, .session(.storage(.otherServer("x"))))),
    Row(
      "the vault's key is missing", (#".storage(.wrongKey("x"))"#, .storage(.wrongKey("x"))),
      (#".session(.storage(.wrongKey("x")))"#, .session(.storage(.wrongKey("x"))))),
    Row(
      "no usable passphrase", (#".storage(.passphrase("x"))"#, .storage(.passphrase("x"))),
      (#".session(.storage(.passphrase("x")))"#, .session(.storage(.passphrase("x"))))),
    Row(
      "presence declined", (".presence(.declined)", .presence(.declined)),
      (".session(.presence(.declined))", .session(.presence(.declined)))),
    Row(
      "wrong password",
      (#".refused(code: "wrong_credentials", detail: nil)"#, .refused(code: "wrong_credentials", detail: nil)),
      (#".status(401, Problem(code: "wrong_credentials"))"#, .status(401, Problem(code: "wrong_credentials")))),
    Row(
      "a second factor is asked for",
      (
        #".refused(code: "second_factor_required", detail: nil)"#,
        .refused(code: "second_factor_required", detail: nil)
      ),
      (
        #".status(401, Problem(code: "second_factor_required"))"#,
        .status(401, Problem(code: "second_factor_required"))
      )),
    Row(
      "a wrong code of the app",
      (#".refused(code: "second_factor_wrong", detail: nil)"#, .refused(code: "second_factor_wrong", detail: nil)),
      (#".status(401, Problem(code: "second_factor_wrong"))"#, .status(401, Problem(code: "second_factor_wrong")))),
    Row(
      "the address has an account",
      (#".refused(code: "email_taken", detail: nil)"#, .refused(code: "email_taken", detail: nil)),
      (#".status(409, Problem(code: "email_taken"))"#, .status(409, Problem(code: "email_taken")))),
    Row(
      "the Apple account has one",
      (#".refused(code: "identity_taken", detail: nil)"#, .refused(code: "identity_taken", detail: nil)),
      (#".status(409, Problem(code: "identity_taken"))"#, .status(409, Problem(code: "identity_taken")))),
    Row(
      "a weak password",
      (#".refused(code: "weak_password", detail: nil)"#, .refused(code: "weak_password", detail: nil)),
      (#".status(400, Problem(code: "weak_password"))"#, .status(400, Problem(code: "weak_password")))),
    Row(
      "a wrong code from a mail",
      (#".refused(code: "link_invalid", detail: nil)"#, .refused(code: "link_invalid", detail: nil)),
      (#".status(400, Problem(code: "link_invalid"))"#, .status(400, Problem(code: "link_invalid")))),
    Row(
      "no new accounts",
      (#".refused(code: "sign_up_closed", detail: nil)"#, .refused(code: "sign_up_closed", detail: nil)),
      (#".status(403, Problem(code: "sign_up_closed"))"#, .status(403, Problem(code: "sign_up_closed")))),
    Row(
      "refused as not offered",
      (#".refused(code: "not_offered", detail: nil)"#, .refused(code: "not_offered", detail: nil)),
      (#".status(403, Problem(code: "not_offered"))"#, .status(403, Problem(code: "not_offered")))),
    Row(
      "the password is needed again",
      (
        #".refused(code: "reauthentication_required", detail: nil)"#,
        .refused(code: "reauthentication_required", detail: nil)
      ),
      (
        #".status(403, Problem(code: "reauthentication_required"))"#,
        .status(403, Problem(code: "reauthentication_required"))
      )),
    Row(
      "the mail has a code",
      (#".refused(code: "confirmation_sent", detail: nil)"#, .refused(code: "confirmation_sent", detail: nil)),
      nil),
    Row(
      "tokens of another person",
      (#".refused(code: "other_account", detail: nil)"#, .refused(code: "other_account", detail: nil)),
      nil),
    Row(
      "refused, with another code",
      (#".refused(code: "no_seats", detail: nil)"#, .refused(code: "no_seats", detail: nil)),
      (#".session(.refused(code: "no_seats", detail: nil))"#, .session(.refused(code: "no_seats", detail: nil)))),
    Row("not allowed", nil, (".status(403, nil)", .status(403, nil))),
    Row("not found", nil, (".status(404, nil)", .status(404, nil))),
    Row("changed meanwhile", nil, (".status(409, nil)", .status(409, nil))),
    Row("not accepted", nil, (".status(422, nil)", .status(422, nil))),
    Row(
      "a response that does not fit", (#".invalidResponse("x")"#, .invalidResponse("x")),
      (#".unreadable("x")"#, .unreadable("x"))),
    Row(
      "the API rejects a new token", (".tokenRejected", .tokenRejected),
      (".session(.tokenRejected)", .session(.tokenRejected))),
    Row("a request that cannot be built", nil, (#".invalidRequest("x")"#, .invalidRequest("x"))),
    Row(
      "not offered", (#".unsupported("x")"#, .unsupported("x")),
      (#".session(.unsupported("x"))"#, .session(.unsupported("x")))),
    Row(
      "a wrong configuration",
      (".requestFailed(.configuration(.init(status: 400)))", .requestFailed(.configuration(.init(status: 400)))),
      (
        ".session(.requestFailed(.configuration(.init(status: 400))))",
        .session(.requestFailed(.configuration(.init(status: 400))))
      )),
    Row(
      "a wrong clock", (".requestFailed(.clock(.seconds(900)))", .requestFailed(.clock(.seconds(900)))),
      (".session(.requestFailed(.clock(.seconds(900))))", .session(.requestFailed(.clock(.seconds(900)))))),
    Row("the app's `load` failed", (#".contentFailed("x")"#, .contentFailed("x")), nil),
    Row("no page for the sign-in", (#".redirect(.unavailable("x"))"#, .redirect(.unavailable("x"))), nil),
    Row("cancelled", (".cancelled", .cancelled), (".network(.cancelled)", .network(.cancelled))),
  ]

  @Test func `is that of the code`() throws {
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("../../Sources/Client/HandstampUI/HandstampUI.docc/WhatToShow.md")
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
    #expect(lines.dropFirst().map(String.init) == Self.rows.map(\.text))
  }

  @Test func `shows one text for both errors of a row`() {
    for row in Self.rows {
      guard let session = row.session?.error, let api = row.api?.error else { continue }
      #expect(Wording(session)?.text == Wording(api)?.text, "\(row.situation)")
    }
  }

  @Test(
    arguments: [
      SessionError.storageOutdated, VaultError.permissions("x"), VaultError.wrongKey("x"), VaultError.passphrase("x"),
      VaultError.corrupt, VaultError.otherServer("x"), VaultError.unavailable("x"), PresenceError.unavailable("x"),
      PresenceError.noSecret, TransportError.connectionLost("x"), TransportError.tooLarge,
      TransportError.invalidRequest("x"), RedirectError.unavailable("x"), RequestError.network(.timedOut),
      RequestError.unusableTokens("x", successor: nil), PassphraseError.wrong,
      PassphraseError.lockedOut(retryAfter: .seconds(1)), PassphraseError.tooShort(minimum: 8),
      PassphraseError.unusable,
      PassphraseError.damaged, PassphraseError.otherKey, PassphraseError.storage(.locked), QueueError.full,
      QueueError.invalidRequest("x"), QueueError.storage(.locked), URLError(.timedOut),
    ] as [any Error])
  func `leaves no error of the package without words`(error: any Error) throws {
    let wording = try #require(Wording(error))
    #expect(wording.word != .errorOther)
    #expect(!wording.text.contains("{0}") && !wording.text(in: "de").contains("{0}"))
    if let recovery = Recovery(error) { #expect(wording.recovery == recovery) }
  }

  @Test func `has words for errors of other packages, too`() {
    struct Other: Error {}
    #expect(Wording(Other()) == Wording(.errorOther))
  }
}

extension Recovery {
  /// The name of the case.
  fileprivate var name: String {
    switch self {
    case .signIn: "signIn"
    case .retry: "retry"
    case .unlockDevice: "unlockDevice"
    case .confirmPresence: "confirmPresence"
    case .freeStorage: "freeStorage"
    case .grantAccess: "grantAccess"
    case .updateApp: "updateApp"
    case .restoreKey: "restoreKey"
    case .fixConfiguration: "fixConfiguration"
    case .setClock: "setClock"
    @unknown default: "?"
    }
  }
}
