#if Command
import Handstamp
import HandstampCommandLine
import HandstampSupport
import HandstampTransports

extension CommandError {
  /// Returns the refusal with a hint that names the account, if the command line did, as `name`.
  func about(_ name: String?) -> CommandError {
    guard let name, hint.hasPrefix("run: handstamp login") else { return self }
    var refusal = self
    refusal.hint += " --account \(shellWord(name))"
    return refusal
  }

  /// Describes a session's error for the terminal.
  init(_ error: SessionError, server: ServerAddress) {
    switch error {
    case .signedOut(nil): self = .notSignedIn
    case .signedOut(let reason?):
      let words = reason == .signedOut ? reason.words : "not signed in: \(reason.words)"
      self.init(.signInNeeded, words, hint: "run: handstamp login")
    case .sessionEnded(let reason):
      self.init(.signInNeeded, "the server ended this session: \(reason.words)", hint: "run: handstamp login")
    case .noRefreshToken:
      self.init(
        .signInNeeded, "the access token has expired and this session has no refresh token",
        hint: "run: handstamp login --force")
    case .storageOutdated:
      self.init(
        .signInNeeded, "the vault is older than the session; it was restored from a backup",
        hint: "run: handstamp login --force")
    case .requestFailed(let failure, let delay): self.init(failure, retryAfter: delay, server: server)
    case .storage(let error): self.init(error)
    case .tokenRejected:
      self.init(
        .failure, "the server rejected a token it just issued",
        hint: "compare the clocks and the issuer of the servers behind \(server.text)")
    case .refused(let code, let detail): self.init(code: code, detail: detail)
    case .invalidResponse(let text):
      self.init(
        .failure, "unexpected response from \(server.text): \(plain(text))",
        hint: text == TokenResponseBody.lacksType ? CommandError.assumeBearer : CommandError.isItOurs)
    case .unsupported(let what):
      self.init(.failure, "\(server.text) does not support this: \(plain(what))", hint: "ask its operator")
    case .redirect(let error):
      self.init(.failure, plain("\(error)"), hint: "use --device instead")
    case .presence:
      self.init(.failure, "presence was not confirmed", hint: "run the same command again at a terminal")
    case .contentFailed: self.init(.failure, plain("\(error)"), hint: "this is a bug; please report it")
    case .cancelled: self = .cancelled
    }
    if code == exit.code { code = error.code }
  }

  /// Describes a request without a decision.
  private init(_ failure: RequestError, retryAfter delay: Duration?, server: ServerAddress) {
    let wait = delay.map { $0 >= .seconds(1) ? " in \($0.words)" : "" } ?? ""
    switch failure {
    case .network(let error): self.init(.network(error), server: server)
    case .server(let response) where failure.isEndpointRefusal:
      self.init(
        .signInNeeded, "\(server.text) refused: \(plain("\(response)"))",
        hint: "run: handstamp login --force")
    case .server(let response):
      let isPage = response.error == nil && response.status < 500 && response.status != 429
      self.init(
        .network, "\(server.text) answered \(plain("\(response)"))",
        hint: isPage
          ? "check that no captive portal or proxy answers in its place, then try again"
          : "try again\(wait.isEmpty ? " later" : wait)")
    case .configuration(let response):
      switch response.error {
      case let code? where ["invalid_client", "unauthorized_client", "invalid_scope"].contains(code):
        self.init(code: code, detail: response.detail)
        exit = .configuration
        if code == "unauthorized_client" { hint += "; if it worked before, run: handstamp login --force" }
      default:
        self.init(
          .configuration, "\(server.text) does not accept this client: \(plain("\(response)"))",
          hint: CommandError.clientHint(response.error, at: server.text)
            + "; if it worked before, run: handstamp login --force")
      }
    case .unusableTokens(let reason, _):
      self.init(
        .configuration, "the tokens from \(server.text) cannot be used: \(plain(reason))",
        hint: reason == TokenResponseBody.lacksType ? CommandError.assumeBearer : "contact its operator")
    case .clock:
      self.init(.failure, plain("\(failure)"), hint: "set the clock of this machine, then run the command again")
    case .preparation(let error): self.init(error, server: server)
    }
    if code != NetworkFailure.settingsCode { code = failure.code }
  }

  /// The way out of a refusal of the client rather than its session. A proof is refused for a wrong clock as well.
  static func clientHint(_ code: String?, at server: String) -> String {
    (code == "invalid_dpop_proof" ? "set the clock of this machine if it is wrong; otherwise check" : "check")
      + " this client's registration at \(server)"
  }

  private static let assumeBearer =
    "if its operator says that they are bearer tokens, run: handstamp login --assume-bearer"
  static let isItOurs = "check that this is a Handstamp server"

  private static let unlocking =
    "unlock it (see: handstamp key), or set HANDSTAMP_PASSPHRASE_FILE to a file with its passphrase"

  static let notSignedIn = CommandError(
    .signInNeeded, "not signed in", hint: "run: handstamp login", code: "signed_out")

  init(_ error: VaultError) {
    func unusable(_ text: String, hint: String = "run: handstamp doctor") -> CommandError {
      CommandError(.vault, text, hint: hint, concernsHome: true, code: error.code)
    }
    switch error {
    case .locked: self.init(.vault, "the vault is locked", hint: CommandError.unlocking, code: error.code)
    case .full(let text):
      self = unusable(
        "no space left for the vault; nothing was erased: \(plain(text))",
        hint: "free some space, then run the command again")
    case .permissions(let text): self = unusable("cannot access the vault; nothing was erased: \(plain(text))")
    case .newerFormat(let text):
      self = unusable(
        "the vault cannot be read; nothing was erased: \(plain(text))",
        hint: "use that version, or run: handstamp doctor")
    case .wrongKey(let text): self = unusable("the vault cannot be opened; nothing was erased: \(plain(text))")
    case .passphrase(let text): self = unusable("the vault's key cannot be opened: \(plain(text))")
    case .otherServer(let server):
      self = unusable("the vault holds a session of another server, \(plain(server)); nothing was erased or sent")
    case .unavailable(let text):
      let isAtLimit = text.contains(SystemError.tooMany)
      self = unusable(
        "the vault is unavailable, but nothing was erased: \(plain(text))",
        hint: isAtLimit
          ? "raise the limit of open files (ulimit -n), then run the command again" : "run: handstamp doctor")
    case .corrupt:
      self.init(
        .vault, "the vault is damaged; nothing was erased, and signing in sets it aside", hint: "run: handstamp login",
        code: error.code)
    }
  }

  /// The program ends, and the response to a refresh is not stored.
  ///
  /// - Parameter trouble: why it could not be; `nil` if there was none yet.
  init(unstored trouble: VaultError?) {
    let cause = trouble.map { CommandError($0) }
    self.init(
      .vault, cause.map { "the new tokens are not stored: \($0.message)" } ?? "a refresh has not got its response",
      hint: (cause?.hint ?? "run the command again") + "; if the server has ended the session by then, "
        + "run: handstamp login --force", code: trouble?.code)
  }

  init(_ error: APIError, server: ServerAddress) {
    switch error {
    case .session(let error): self.init(error, server: server)
    case .status(let status, let problem): self.init(status: status, problem, server: server)
    case .network(.cancelled): self = .cancelled
    case .network(.timedOut):
      self.init(.network, "timed out waiting for \(server.text)", hint: "try again later")
    case .network(.tooLarge):
      self.init(.failure, "the response is too large", hint: "request less data at once")
    case .network(.notConnected(let why)), .network(.connectionLost(let why)):
      if case .network(let cause) = error, let failure = NetworkFailure(cause) {
        self.init(
          failure.exit, "no answer from \(server.text): \(plain(why))", hint: failure.hint,
          code: failure.exit == .configuration ? NetworkFailure.settingsCode : nil)
        break
      }
      self.init(
        .network, "no answer from \(server.text): \(plain(why))",
        hint: why.contains("refused")
          ? "is the server running? check the address, then try again"
          : "check your connection and the address, then try again")
    case .unreadable(let place):
      self.init(
        .failure, "cannot parse the response from \(server.text): \(plain(place))", hint: CommandError.isItOurs)
    case .network(.invalidRequest(let why)), .invalidRequest(let why):
      self.init(.usage, "this request cannot be sent: \(plain(why))", hint: "see: handstamp request --help")
    }
    if code == exit.code { code = error.code }
  }

  private init(status: Int, _ problem: Problem?, server: ServerAddress) {
    let words = problem.flatMap { $0.detail ?? $0.title }.map(plain) ?? "status \(status)"
    switch status {
    case 401: self.init(.signInNeeded, "the server rejected the token: \(words)", hint: "run: handstamp login")
    case 404: self.init(.failure, "\(words)", hint: "run: handstamp sessions")
    case 429, 500...: self.init(.network, "\(server.text) is unavailable: \(words)", hint: "try again later")
    default: self.init(.failure, "\(server.text) refused the request: \(words)", hint: "see: handstamp --help")
    }
  }

  private init(code: String, detail: String?) {
    let words = plain(detail ?? code)
    let (message, hint) =
      switch code {
      case "wrong_credentials": ("wrong email address or password", "try again, or run: handstamp signup")
      case "second_factor_required":
        ("the account asks for the code of an authenticator app", "run: handstamp login --browser")
      case "second_factor_wrong":
        ("the code is wrong, or was used before", "run the same command with the app's next code")
      case "account_disabled": ("this account is disabled", "ask the server's operator")
      case "email_taken": ("an account with this email address already exists", "run: handstamp login")
      case "weak_password": ("the password does not meet the requirements", words)
      case "sign_up_closed": ("sign-up is closed on this server", "ask its operator for an account")
      case "expired_token": ("the code was not entered in time", "run the same command again")
      case "access_denied": ("the request was denied", "run the same command again and allow the request")
      case "invalid_client":
        (
          "the server does not recognize this client: \(words)",
          "register a client there with the redirect URI http://127.0.0.1/callback, then pass its ID with --client-id"
        )
      case "unauthorized_client":
        ("this client may not use this sign-in method: \(words)", "try --browser or --device, or another --client-id")
      case "invalid_scope": ("the server does not grant this scope: \(words)", "choose other scopes with --scope")
      case "invalid_token": (words, "it may have expired, or belong to another server; request a new one")
      default: ("the server refused the request: \(words)", "check the input, then try again")
      }
    self.init(.failure, message, hint: hint, code: code)
  }
}

extension EndReason {
  /// For people.
  var words: String {
    self == .repeatRefused ? sentence + "; an overlap at the server prevents that" : sentence
  }
}
#endif
