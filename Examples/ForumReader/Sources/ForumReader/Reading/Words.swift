import Handstamp

/// Messages for users.
public enum Words {
  public static func describe(_ error: any Error) -> String {
    switch error {
    case ForumRefusal.databaseDown: "the forum's database is down"
    case ForumRefusal.closed(let text): "the forum is closed: \(text)"
    case ForumRefusal.banned(let ban): describe(ban)
    case ForumRefusal.mustRegister: "only members may see that"
    case ForumRefusal.refused(let title, let text): "\(title): \(text)"
    case ScrapeError.missing(let part): "unexpected page: missing \(part)"
    case ForumFailure.elsewhere: "the forum redirects to another site: does this network require a sign-in?"
    case ForumFailure.over: "the session that requested it has ended"
    case ForumFailure.status(let status): "the forum responded with status \(status)"
    case APIError.network: "no network"
    case APIError.session(let error): describe(error)
    case SessionError.sessionEnded, SessionError.signedOut(.rejected): "the forum ended the session"
    case SessionError.signedOut(.expired): "the sign-in has expired"
    case SessionError.signedOut: "signed out"
    case SessionError.requestFailed: "the forum cannot be reached"
    case SessionError.refused("banned", let detail): detail ?? "you are banned"
    case SessionError.refused("wrong_credentials", _): "wrong name or password"
    case SessionError.refused(_, let detail): detail ?? "the forum refused the request"
    default: "\(error)"
    }
  }

  /// Describes why and until when the user is banned: `you are banned until Nov 3, 2026: Posted a bad pun`.
  ///
  /// - Parameter base: The forum's address, to link to its list of bans; `nil` if that list has already been read.
  static func describe(_ ban: Ban, at base: String? = nil) -> String {
    let end = ban.kind == .permanent ? " permanently" : ban.end.map { " until \($0.text)" } ?? ""
    if ban.kind == .probation { return "you are on probation\(end): you can read, but not write" }
    if !ban.reason.isEmpty { return "you are banned\(end): \(ban.reason)" }
    guard let user = ban.listed else { return "you are banned\(end); the forum does not say why" }
    guard let base else { return "you are banned\(end); the forum's list of bans does not say why" }
    return "you are banned\(end); the reason is at \(base)banlist.php?userid=\(user)"
  }
}
