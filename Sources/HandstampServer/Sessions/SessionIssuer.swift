#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

/// Answers requests of the JSON API that begin a session.
struct SessionIssuer: Sendable {
  let journal: SessionJournal
  let responses: TokenResponses
  let clock: ServerClock

  /// Creates a session with `work` and returns the response. The status is 201 if an account was created.
  func begin(
    status: HTTPResponse.Status, logger: Logger, _ work: (UnixTime) async throws -> NewSession
  ) async throws -> Response {
    let new = try await work(clock.now)
    journal.began(new, isNewAccount: status == .created, logger: logger)
    return .json(try responses.signedIn(new), status: status)
  }
}

extension Registry {
  /// Returns the account of a request's session.
  ///
  /// - Throws: ``Problem`` `session_ended` if the account was closed in the meantime, which has ended its sessions.
  func account(of session: AuthenticatedSession) async throws -> AccountRecord {
    guard let account = try await account(session.account), account.closedAt == nil else {
      throw Problem.invalidToken(
        code: "session_ended", "The session has ended", reason: EndReason.accountClosed.rawValue)
    }
    return account
  }
}
#endif
