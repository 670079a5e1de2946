import Handstamp

/// Words for people.
public enum Words {
  public static func describe(_ error: any Error) -> String {
    switch error {
    case ForumRefusal.databaseDown: "the forum's database is down"
    case ForumRefusal.closed(let text): "the forum is closed: \(text)"
    case ForumRefusal.banned(let reason, let until): "you are banned until \(until): \(reason)"
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
    case SessionError.refused("banned", let reason): "banned: \(reason ?? "")"
    case SessionError.refused("wrong_credentials", _): "name and password do not fit"
    case SessionError.refused(_, let detail): detail ?? "the forum refuses"
    default: "\(error)"
    }
  }
}
