#if Command
import Foundation
import Handstamp
import HandstampCommandLine

/// Responses to refreshes without tokens that do not end the session: an empty 400, an HTML page, a 500. The session is kept,
/// because such a response may come from an intermediary; but the user is shown the status, and since when.
///
/// Stored in a separate file beside the vaults, so that every process knows. Nothing in it is secret.
struct RefusedRefresh: Sendable, Hashable, Codable {
  var session: SessionID
  /// The HTTP status of the latest such response.
  var status: Int
  /// The `error` of RFC 6749 section 5.2, if the body has one.
  var error: String?
  /// Whether it came from the endpoint itself, and not from something in between; `nil` if only its code tells.
  var isFromEndpoint: Bool?
  /// The first such response since the last successful refresh.
  var since: UnixTime
  var last: UnixTime

  /// Whether the server refuses this token, as opposed to a transient failure.
  var isRefusal: Bool {
    var response = RequestError.ServerResponse(status: status, error: error)
    response.isFromEndpoint = isFromEndpoint
    return RequestError(response).isEndpointRefusal
  }

  /// Returns the record after one more response. A refusal after failures of another kind starts a new series.
  static func next(
    after previous: RefusedRefresh?, _ response: RequestError.ServerResponse, session: SessionID, at now: UnixTime
  ) -> RefusedRefresh {
    var new = RefusedRefresh(
      session: session, status: response.status, error: response.error, isFromEndpoint: response.isFromEndpoint,
      since: now,
      last: now)
    if let previous, previous.session == session, previous.isRefusal == new.isRefusal { new.since = previous.since }
    return new
  }

  /// A phrase that follows the server's name: `refuses to refresh …`.
  func words(at now: UnixTime) -> String {
    let code = error ?? "no error code"
    let age = now.since(since)
    let since = "since \(since)" + (age >= .seconds(1) ? " (\(age.words) ago)" : "")
    if isRefusal { return "refuses to refresh this session (\(status), \(code)) \(since)" }
    return "has responded to refreshes of this session with \(status) and no tokens, \(since)"
  }

  /// The refusal for a command that needs a token.
  func refusal(at now: UnixTime, server: ServerAddress) -> CommandError {
    let message = "\(server.text) \(words(at: now))"
    if (200..<300).contains(status), error == nil {
      return CommandError(
        .network, message, hint: "check that no captive portal or proxy answers in its place, then try again",
        code: "server_error")
    }
    if let error, RequestError.configurationErrors.contains(error) {
      return CommandError(
        .configuration, message,
        hint: CommandError.clientHint(error, at: server.text) + "; if it worked before, run: handstamp login --force",
        code: error)
    }
    if isRefusal { return CommandError(.signInNeeded, message, hint: "run: handstamp login", code: "refresh_refused") }
    return CommandError(
      .network, message, hint: "try again later; if this persists, run: handstamp login", code: "server_error")
  }
}

extension Home {
  private func refusalPath(of account: AccountID) -> String { file(in: "refusals", for: account.rawValue) }

  /// The stored response to refreshes of this session, or `nil` if the last refresh succeeded or none got a response.
  func refusedRefresh(of account: AccountID, session: SessionID?) -> RefusedRefresh? {
    let note: RefusedRefresh? = PlainFile.value(at: refusalPath(of: account))
    return note.flatMap { $0.session == session ? $0 : nil }
  }

  /// Stores a response that has no tokens and does not end the session; any other response clears the stored one. Failures are
  /// ignored, because the session does not depend on it.
  func note(_ result: RefreshResult, of account: AccountID) async {
    let latest: RequestError.ServerResponse
    switch result {
    case .granted, .rejected, .superseded, .noDecision(.unusableTokens(_, .some), _): return forgetRefusal(of: account)
    case .noDecision(.server(let response), _), .noDecision(.configuration(let response), _): latest = response
    // Without a response, the last stored one still applies.
    case .noDecision: return
    }
    guard let session = await vault(of: account).session?.id else { return }
    let note = RefusedRefresh.next(
      after: refusedRefresh(of: account, session: session), latest, session: session, at: SystemClock().now().wall)
    try? write(note, to: refusalPath(of: account))
  }

  func forgetRefusal(of account: AccountID) { unlink(refusalPath(of: account)) }
}
#endif
