#if Server
import HandstampCore
import HandstampRegistry

/// The sign-in that an app asks for: the parameters `prompt` and `max_age` of an authorization request (OpenID Connect Core 1.0
/// section 3.1.2.1).
///
/// The page that follows a sign-in asks for consent every time, names the account and offers to use another. So `consent` and
/// `select_account` are always met.
struct SignInWish: Sendable, Hashable {
  enum Prompt: String, Sendable, CaseIterable {
    /// No page may be shown.
    case none
    /// The user signs in again.
    case login
    case consent
    case selectAccount = "select_account"
  }

  /// A parameter is not valid.
  struct Fault: Error {
    var words: String
  }

  private let prompts: Set<Prompt>
  /// Maximum time since the user has signed in.
  private let maxAge: Duration?

  init(_ fields: FormBody) throws(Fault) {
    var prompts: Set<Prompt> = []
    for value in fields["prompt"]?.split(separator: " ") ?? [] {
      guard let prompt = Prompt(rawValue: String(value)) else { throw Fault(words: "a value of prompt is not known") }
      prompts.insert(prompt)
    }
    guard prompts.count <= 1 || !prompts.contains(.none) else {
      throw Fault(words: "prompt=none cannot have another value")
    }
    maxAge = try fields["max_age"].map { text throws(Fault) in
      // At most 18 digits fit any integer, and more than a web session can last.
      guard text.utf8.count <= 18, text.utf8.allSatisfy({ (48...57).contains($0) }), let seconds = Int64(text) else {
        throw Fault(words: "max_age is not a number of seconds")
      }
      return .seconds(seconds)
    }
    self.prompts = prompts
  }

  /// Whether the app wants an answer without a page (`prompt=none`).
  var isSilent: Bool { prompts.contains(.none) }

  /// Returns whether a browser's sign-in is recent enough.
  func isMet(by session: WebSession, at now: UnixTime) -> Bool {
    guard !prompts.contains(.login) else { return false }
    return maxAge.map { $0 > .zero && now.since(session.begunAt) <= $0 } ?? true
  }

  /// Returns the query of a request without the wish for a sign-in, which has just been met. Otherwise the page would ask again,
  /// and `max_age=1` would leave the user a second to consent.
  static func met(in query: String) -> String {
    query.split(separator: "&").compactMap { part in
      guard let field = try? FormBody(Array(part.utf8)) else { return String(part) }
      if field["max_age"] != nil { return nil }
      guard let prompt = field["prompt"] else { return String(part) }
      let rest = prompt.split(separator: " ").filter { $0 != Prompt.login.rawValue }
      return rest.isEmpty ? nil : "prompt=" + rest.joined(separator: "%20")
    }.joined(separator: "&")
  }
}
#endif
