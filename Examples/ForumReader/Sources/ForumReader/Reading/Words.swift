import Handstamp

/// Words for people.
public enum Words {
  public static func describe(_ error: any Error) -> String {
    switch error {
    case ForumRefusal.databaseDown: "the forum's database is down"
    case ForumRefusal.closed(let text): "the forum is closed: \(text)"
    case ForumRefusal.banned(let ban): describe(ban)
    case ForumRefusal.mustRegister: "only members may see that"
    case ForumRefusal.refused(let title, let text): "\(title): \(text)"
    case ScrapeError.missing(let part): "a page that is not understood: no \(part)"
    case ForumFailure.elsewhere: "the forum's address leads elsewhere: does this network ask to sign in?"
    case ForumFailure.over: "the sign-in that asked for it is over"
    case ForumFailure.status(let status): "the forum answers with status \(status)"
    case APIError.unreachable: "no network"
    case APIError.unauthorized(let error): describe(error)
    case SessionError.rejected, SessionError.signedOut(.rejected): "the forum has ended it"
    case SessionError.signedOut(.expired): "the sign-in has run out"
    case SessionError.signedOut: "signed out"
    case SessionError.unreachable: "the forum cannot be reached"
    case SessionError.refused("banned", let detail): detail ?? "you are banned"
    case SessionError.refused("wrong_credentials", _): "name and password do not fit"
    case SessionError.refused(_, let detail): detail ?? "the forum refuses"
    default: "\(error)"
    }
  }

  /// That the person is banned, until when and why: `you are banned until Nov 3, 2026: Posted a bad pun`.
  ///
  /// - Parameter base: the forum's address, to say where its list of bans is to be read; `nil` where that has been read.
  static func describe(_ ban: Ban, at base: String? = nil) -> String {
    let end = ban.kind == .permanent ? " for good" : ban.end.map { " until \($0.text)" } ?? ""
    if ban.kind == .probation { return "you are on probation\(end): read on, but do not write" }
    if !ban.reason.isEmpty { return "you are banned\(end): \(ban.reason)" }
    guard let user = ban.listed else { return "you are banned\(end); the forum does not say why" }
    guard let base else { return "you are banned\(end); the forum's list of bans does not say why" }
    return "you are banned\(end); the reason is at \(base)banlist.php?userid=\(user)"
  }
}
