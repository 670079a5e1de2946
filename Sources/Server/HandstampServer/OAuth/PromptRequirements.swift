#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// The sign-in that an app asks for: the parameters `prompt`, `max_age` and `acr_values` of an authorization request (OpenID Connect
/// Core 1.0 section 3.1.2.1, RFC 9470 section 4).
struct PromptRequirements: Sendable, Hashable {
  enum Prompt: String, Sendable, CaseIterable {
    /// No page may be shown.
    case none
    /// The user signs in again.
    case login
    /// The user is asked, even if the answer is remembered.
    case consent
    /// The user is shown the account, and may use another.
    case selectAccount = "select_account"
  }

  private let prompts: Set<Prompt>
  /// Maximum time since the user has signed in.
  let maxAge: Duration?
  /// How strong a proof has to be, at least. Values that this server does not know ask for nothing: they are voluntary.
  let context: AuthenticationContext?

  init(maxAge: Duration?, context: AuthenticationContext?) {
    (prompts, self.maxAge, self.context) = ([], maxAge, context)
  }

  init(_ fields: FormFields) throws(OAuthError) {
    var prompts: Set<Prompt> = []
    for value in fields["prompt"]?.split(separator: " ") ?? [] {
      guard let prompt = Prompt(rawValue: String(value)) else {
        throw .invalidRequest("a value of prompt is not known")
      }
      prompts.insert(prompt)
    }
    guard prompts.count <= 1 || !prompts.contains(.none) else {
      throw .invalidRequest("prompt=none cannot have another value")
    }
    maxAge = try fields["max_age"].map { text throws(OAuthError) in
      // At most 18 digits fit any integer, and more than a web session can last.
      guard text.utf8.count <= 18, text.utf8.allSatisfy(\.isDigit), let seconds = Int64(text) else {
        throw .invalidRequest("max_age is not a number of seconds")
      }
      return .seconds(seconds)
    }
    context = AuthenticationContext.weakest(in: fields["acr_values"])
    self.prompts = prompts
  }

  /// Whether the app wants a response without a page (`prompt=none`).
  var isSilent: Bool { prompts.contains(.none) }

  /// Whether the user has to sign in again, at once or after some time.
  var wantsSignIn: Bool { prompts.contains(.login) || maxAge != nil }

  /// Whether the user has to see a page, whatever was allowed before.
  var wantsPage: Bool { prompts.contains(.consent) || prompts.contains(.selectAccount) }

  /// Returns whether a browser's sign-in is recent enough.
  ///
  /// - Parameter isForThis: whether it was made for this very request.
  func isMet(by session: BrowserSession, isForThis: Bool, at now: UnixTime) -> Bool {
    if isForThis { return true }
    guard !prompts.contains(.login) else { return false }
    return maxAge.map { $0 > .zero && now.since(session.authenticatedAt) <= $0 } ?? true
  }
}

/// Shows that a browser's sign-in was made for the request in an address, which may ask for a new one: the browser comes back to that
/// address after it, with this in its query. Otherwise the page would ask again, and `max_age=1` would leave the user a second.
struct FreshSignIn: Sendable {
  private static let name = "signed_in"
  let mint: TokenMint

  /// Returns the query with the proof that `session` was begun for it.
  func proven(_ query: String, by session: BrowserSession) -> String {
    let bare = FreshSignIn.bare(query)
    return bare + (bare.isEmpty ? "" : "&") + FreshSignIn.name + "=" + proof(bare, session)
  }

  func isProven(_ query: String, by session: BrowserSession) -> Bool {
    guard let given = (try? FormFields(Array(query.utf8)))?[FreshSignIn.name] else { return false }
    return Secret(given) == Secret(proof(FreshSignIn.bare(query), session))
  }

  /// The query without a proof.
  private static func bare(_ query: String) -> String {
    query.split(separator: "&").filter { !$0.hasPrefix(name + "=") }.joined(separator: "&")
  }

  /// A further proof of the user counts for its own request alone, for it increments the counter.
  private func proof(_ query: String, _ session: BrowserSession) -> String {
    mint.mac(of: "\(session.row.id) \(session.row.counter) \(query)", for: .freshSignIn)
  }
}
#endif
