#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampVaults

/// Answers of a server that brought no tokens and do not end the session: an empty 400, a page of HTML, a 500. The session is
/// kept, because such an answer may come from something in between; but the person is told of it, and since when it is so.
///
/// It is in a file of its own beside the vaults, so that every process knows it. Nothing in it is a secret.
struct RefusedRefresh: Sendable, Hashable, Codable {
  var session: SessionID
  /// The HTTP status of the newest such answer.
  var status: Int
  /// The `error` of RFC 6749 section 5.2; `nil`: the body holds none.
  var error: String?
  /// The first such answer since the last refresh that brought tokens.
  var since: UnixTime
  var last: UnixTime

  /// Whether the server refuses this token, rather than being out of order for a while.
  var isRefusal: Bool { RefusedRefresh.isRefusal(status, error) }

  private static func isRefusal(_ status: Int, _ error: String?) -> Bool {
    // A proxy's own sign-in, time-outs and limits pass, and so does what the server calls trouble of its own.
    (400..<500).contains(status) && ![407, 408, 425, 429].contains(status)
      && !["temporarily_unavailable", "server_error", "slow_down"].contains(error)
  }

  /// The same row of answers, one later; a refusal after failures of another kind begins a new one.
  static func next(
    after former: RefusedRefresh?, _ answer: TokenEndpointAnswer, session: SessionID, at now: UnixTime
  ) -> RefusedRefresh {
    let isSame = former?.session == session && former?.isRefusal == isRefusal(answer.status, answer.error)
    return RefusedRefresh(
      session: session, status: answer.status, error: answer.error, since: isSame ? former?.since ?? now : now,
      last: now)
  }

  /// For people, after the server's name: `has refused to refresh …`.
  func words(at now: UnixTime) -> String {
    let code = error.map { "the error \($0)" } ?? "no error code"
    let age = now.since(since)
    let since = "since \(since)" + (age >= .seconds(1) ? " (\(age.words) ago)" : "")
    if isRefusal { return "has refused to refresh this session with \(status) and \(code), \(since)" }
    return "has answered the refresh of this session with \(status) and no tokens, \(since)"
  }

  /// Why no token can be handed out.
  func refusal(at now: UnixTime, server: ServerAddress) -> Refusal {
    let message = "\(server.text) \(words(at: now))"
    if isRefusal { return Refusal(.signInNeeded, message, hint: "run: handstamp login") }
    return Refusal(.network, message, hint: "try again later; if it lasts, run: handstamp login")
  }
}

extension Home {
  private var refusalFolder: String { path + "/refusals" }

  private func refusalPath(of account: AccountID) -> String {
    let hash = SHA256.hash(data: Array(account.rawValue.utf8))
    return refusalFolder + "/" + hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ".json"
  }

  /// What the server answers to refreshes of this session; `nil`: the last refresh brought tokens, or none was answered.
  func refusedRefresh(of account: AccountID, session: SessionID?) -> RefusedRefresh? {
    guard let session, case .content(let bytes) = PlainFile.read(refusalPath(of: account)),
      let note = try? JSONDecoder().decode(RefusedRefresh.self, from: Data(bytes)), note.session == session
    else { return nil }
    return note
  }

  /// Worth trying, not worth failing for: the session does not depend on it.
  func note(_ answer: TokenEndpointAnswer, of account: AccountID, session: SessionID, at now: UnixTime) {
    let note = RefusedRefresh.next(
      after: refusedRefresh(of: account, session: session), answer, session: session, at: now)
    try? FileManager.default.createDirectory(
      atPath: refusalFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try? encoder.encode(note).write(to: URL(fileURLWithPath: refusalPath(of: account)), options: .atomic)
  }

  func forgetRefusal(of account: AccountID) { unlink(refusalPath(of: account)) }
}
#endif
