#if Programs
import Handstamp
import HandstampCore

extension Refusal {
  /// What the error of an account's session means at a terminal.
  init(_ error: SessionError, account: Account) {
    self = Refusal(error, server: account.server).about(account)
  }

  /// With hints that name the account, where it was named.
  func about(_ account: Account) -> Refusal {
    guard hint.hasPrefix("run: handstamp login"), let named = account.namedAs else { return self }
    var refusal = self
    refusal.hint += " --account \(shellWord(named))"
    return refusal
  }

  /// What a session's error means at a terminal.
  init(_ error: SessionError, server: ServerAddress) {
    switch error {
    case .signedOut(nil): self = .nobody
    case .signedOut(let reason?):
      self.init(.signInNeeded, "nobody is signed in: \(reason.words)", hint: "run: handstamp login")
    case .rejected(let reason):
      self.init(.signInNeeded, "the server ended this session: \(reason.words)", hint: "run: handstamp login")
    case .noRefreshToken:
      self.init(
        .signInNeeded, "the access token is over and there is no refresh token", hint: "run: handstamp login --force")
    case .rolledBack:
      self.init(
        .signInNeeded, "the vault is older than the session: it was restored from a back-up",
        hint: "run: handstamp login --force")
    case .unreachable(let delay):
      let wait = delay.map { $0 >= .seconds(1) ? " in \($0.words)" : "" } ?? ""
      self.init(.network, "no answer from \(server.text)", hint: "see to the network and the server, try again\(wait)")
    case .storage(let trouble): self.init(trouble)
    case .tokenRefused:
      self.init(
        .failure, "the server refuses a token that it has just issued",
        hint: "compare the clocks and the issuer of the servers behind \(server.text)")
    case .refused(let code, let detail): self.init(code: code, detail: detail)
    case .invalidAnswer(let text):
      self.init(.failure, "\(server.text) answers in an unknown way: \(plain(text))", hint: Refusal.isItOurs)
    case .unsupported(let what):
      self.init(.failure, "\(server.text) does not offer this: \(plain(what))", hint: "ask its operator")
    case .presence:
      self.init(.failure, "nobody has shown to be there", hint: "run the same command again at a terminal")
    case .cancelled: self.init(.cancelled, "cancelled", hint: "run the same command again")
    @unknown default: self.init(.failure, "the session cannot be used", hint: "run: handstamp status")
    }
  }

  static let isItOurs = "is it a handstamp server?"

  private static let unlocking =
    "unlock it (handstamp store says where its key is), or name the file of its passphrase in HANDSTAMP_PASSPHRASE_FILE"

  static let nobody = Refusal(.signInNeeded, "nobody is signed in", hint: "run: handstamp login")

  init(_ trouble: VaultTrouble) {
    switch trouble {
    case .locked: self.init(.vault, "the vault is locked", hint: Refusal.unlocking)
    case .unavailable(let why):
      self.init(
        .vault, "the vault cannot be used, and nothing was erased: \(plain(why))", hint: "run: handstamp doctor",
        concernsHome: true)
    case .corrupt:
      self.init(
        .vault, "the vault is damaged, and nothing was erased; a sign-in sets it aside", hint: "run: handstamp login")
    }
  }

  init(_ error: APIError, server: ServerAddress) {
    switch error {
    case .unauthorized(let error): self.init(error, server: server)
    case .status(let status, let problem): self.init(status: status, problem, server: server)
    case .unreachable(.cancelled): self.init(.cancelled, "cancelled", hint: "run the same command again")
    case .unreachable(.timedOut):
      self.init(.network, "no answer from \(server.text) in time", hint: "try again later")
    case .unreachable(.tooLarge):
      self.init(.failure, "the answer is too large", hint: "ask for less at once")
    case .unreachable(.invalidRequest(let why)):
      self.init(.usage, "this request cannot be sent: \(plain(why))", hint: "see: handstamp request --help")
    case .unreachable(.notConnected(let why)), .unreachable(.unreachable(let why)):
      self.init(
        .network, "no answer from \(server.text): \(plain(why))", hint: "see to the network and the server, try again")
    case .unreadable(let place):
      self.init(
        .failure, "the answer of \(server.text) is not readable: \(plain(place))", hint: Refusal.isItOurs)
    case .invalidRequest(let why):
      self.init(.usage, "this request cannot be sent: \(plain(why))", hint: "see: handstamp request --help")
    @unknown default: self.init(.failure, "the request failed", hint: "try again")
    }
  }

  private init(status: Int, _ problem: Problem?, server: ServerAddress) {
    let words = problem.flatMap { $0.detail ?? $0.title }.map(plain) ?? "status \(status)"
    switch status {
    case 401: self.init(.signInNeeded, "the server refuses the token: \(words)", hint: "run: handstamp login")
    case 404: self.init(.failure, "\(words)", hint: "run: handstamp sessions")
    case 429, 500...: self.init(.network, "\(server.text) cannot answer now: \(words)", hint: "try again later")
    default: self.init(.failure, "\(server.text) refuses: \(words)", hint: "see: handstamp --help")
    }
  }

  private init(code: String, detail: String?) {
    let words = plain(detail ?? code)
    switch code {
    case "wrong_credentials":
      self.init(.failure, "the address or the password is wrong", hint: "try again, or run: handstamp signup")
    case "email_taken":
      self.init(.failure, "there is an account with this address already", hint: "run: handstamp login")
    case "weak_password":
      self.init(.failure, "the password does not fit the rules", hint: words)
    case "sign_up_closed":
      self.init(.failure, "nobody can sign up at this server", hint: "ask whoever runs it")
    case "expired_token":
      self.init(.failure, "nobody typed the code in time", hint: "run the same command again")
    case "access_denied":
      self.init(.failure, "whoever was asked said no", hint: "run the same command again, and allow it there")
    case "invalid_client":
      self.init(
        .failure, "the server does not know this client: \(words)",
        hint: "register one there with the redirect http://127.0.0.1/callback, and name it by --client-id")
    case "unauthorized_client":
      self.init(
        .failure, "this client may not sign in in this way: \(words)",
        hint: "try --browser or --device, or another --client-id")
    case "invalid_scope":
      self.init(.failure, "the server does not grant this scope: \(words)", hint: "name others by --scope")
    case "invalid_token":
      self.init(.failure, words, hint: "it may be over, or another server's: get a new one")
    default: self.init(.failure, "the server refuses: \(words)", hint: "see what was sent, and try again")
    }
  }
}

extension EndReason {
  /// For people.
  var words: String {
    switch self {
    case .signedOut: "signed out"
    case .revoked: "ended from another device"
    case .replaced: "this device signed in again"
    case .misused: "its refresh token had been copied and used by somebody else"
    case .expired: "it reached its greatest age"
    case .idle: "nobody used it for too long"
    case .accountClosed: "the account was closed"
    case .rejected: "the server accepts it no longer"
    case .erased: "it was erased"
    @unknown default: rawValue
    }
  }
}
#endif
