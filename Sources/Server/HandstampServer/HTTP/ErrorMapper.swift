#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging
import NIOHTTP1

/// The one place where a thrown error becomes a response: problem+json for the JSON API, the errors of RFC 6749 for the OAuth
/// endpoints, a page for browsers. Routes throw what they have; no internals reach the client, and the log has the causes that
/// concern the operator.
struct ErrorMapper: Sendable {
  /// The format of error responses.
  enum Format: Sendable { case problem, oauth, page }

  let metrics: ServerMetrics
  let pages: PageWriter
  /// The server as a resource: challenges name its metadata.
  var resource: ResourceDocument?

  func response(to error: any Error, of request: Request, as format: Format, logger: Logger) -> Response {
    if let redirection = error as? Redirection { return .seeOther(redirection.address) }
    return switch format {
    case .problem: problem(for: error, logger: logger).response
    case .oauth: oauth(for: error, logger: logger).response
    case .page: page(for: error, request, logger)
    }
  }

  func problem(for error: any Error, logger: Logger) -> ProblemError {
    problem(for: error, refusal(of: error, logger: logger), logger)
  }

  private func problem(for error: any Error, _ refusal: AccountError?, _ logger: Logger) -> ProblemError {
    var problem = refusal.map { ProblemError($0) } ?? cause(of: error, logger: logger)
    if let challenge = problem.challenge {
      problem.headers[.wwwAuthenticate] = challenge.field(metadata: resource?.url)
    }
    return problem
  }

  /// Returns an error as a use case of accounts has it; `nil` for one of the request itself, or of the way that it came.
  func refusal(of error: any Error, logger: Logger) -> AccountError? {
    switch error {
    case let refusal as AccountError: return refusal
    case let error as RegistryError:
      report(error, logger: logger)
      return AccountError(error)
    case let error as PasswordHashError:
      if error != .busy {
        logger.error("Password hashing failed", metadata: ["handstamp.cause": "\(error)"])
      }
      return .busy
    case let error as AccountDirectoryError: return refusal(for: error, logger: logger)
    case is InvalidIDToken:
      metrics.update { $0.refusedSignIns += 1 }
      logger.info("Sign-in with Apple refused")
      return .idTokenInvalid
    case let error as KeysUnavailable:
      logger.error(
        "Keys of a provider unavailable",
        metadata: ["handstamp.issuer": "\(error.issuer)", "handstamp.cause": "\(error.cause)"])
      return .unavailable
    case let error as UpstreamError:
      logger.notice("Sign-in at a provider failed", metadata: ["handstamp.cause": "\(error)"])
      if case .unavailable = error { return .unavailable }
      metrics.update { $0.refusedSignIns += 1 }
      return .idTokenInvalid
    case is CancellationError: return .unavailable
    default: return nil
    }
  }

  private func cause(of error: any Error, logger: Logger) -> ProblemError {
    switch error {
    case let problem as ProblemError: return problem
    case let form as FormError: return ProblemError(form)
    case let proof as ProofError: return ProblemError(proof)
    case let error as OAuthError where error == .parameterRepeated || error == .formMalformed:
      return .invalidRequest("The form is not valid.")
    case is HTTPParserError:
      // In the middle of a body: a chunk without a length, for example.
      return ProblemError(
        .badRequest, "invalid_request", "The request is not valid HTTP", headers: [.connection: "close"])
    case let error as HTTPError where error.status == .notFound: return .notFound
    case let error as any HTTPResponseError where error.status.kind == .clientError:
      return ProblemError(error.status, "invalid_request", "The request is not valid")
    default:
      // Log only the type: the text of an error may quote the request.
      logger.error("Request failed", metadata: ["handstamp.error": "\(type(of: error))"])
      return .internal
    }
  }

  func oauth(for error: any Error, logger: Logger) -> OAuthError {
    switch error {
    case let error as OAuthError: return error
    case let error as RegistryError:
      // Server failures, including a missing key, must never look like a refusal, which would sign users out.
      report(error, logger: logger)
      return .unavailable
    // RFC 9449 section 5.
    case ProofError.invalid: return OAuthError("invalid_dpop_proof")
    case ProofError.nonceNeeded(let nonce): return OAuthError("use_dpop_nonce", headers: [.dpopNonce: nonce])
    default:
      let problem = problem(for: error, logger: logger)
      if problem.status == .tooManyRequests {
        // Not a refusal of the grant: the client tries again later.
        return OAuthError(
          "temporarily_unavailable", status: problem.status, code: problem.code, retryAfter: problem.retryAfter,
          headers: problem.headers)
      }
      if problem.status.kind == .serverError {
        let error = problem.status == .internalServerError ? "server_error" : "temporarily_unavailable"
        return OAuthError(error, status: problem.status, retryAfter: problem.retryAfter, headers: problem.headers)
      }
      // RFC 6749 section 5.2 defines no status for an unsupported content type.
      let status = problem.status == .unsupportedMediaType ? .badRequest : problem.status
      return OAuthError(
        "invalid_request", status: status, description: problem.detail ?? problem.title, headers: problem.headers)
    }
  }

  private func page(for error: any Error, _ request: Request, _ logger: Logger) -> Response {
    let reader = pages.reader(of: request)
    let refusal = refusal(of: error, logger: logger)
    let problem = problem(for: error, refusal, logger)
    var page =
      if let form = error as? FormError { self.page(for: form, request, reader) } else {
        refusal.flatMap { self.page(for: $0) } ?? self.page(for: problem, reader)
      }
    page.status = problem.status
    if case .string(let id)? = logger[metadataKey: "hb.request.id"] { page.context["reference"] = .text(ifPresent: id) }
    var response = pages.response(page, to: reader)
    for field in problem.headers { response.headers[field.name] = field.value }
    if let retryAfter = problem.retryAfter { response.headers[.retryAfter] = String(retryAfter) }
    return response
  }

  private var home: PageAction {
    PageAction(text: "action.to_account", href: pages.base + "/account", isPrimary: false)
  }

  private func page(for form: FormError, _ request: Request, _ reader: PageReader) -> Page {
    let again = PageAction(text: "action.try_again", href: reader.here)
    switch form {
    case .expired: return .error("form_expired", to: [again])
    case .elsewhere(let issuer):
      let there = PageAction(text: "action.open_there", href: pages.address(of: request))
      return .error("elsewhere", ["issuer": .text(issuer)], to: [there])
    case .cookieMissing: return .error("cookie_missing", to: [again])
    }
  }

  /// The page of its own that a refusal has; `nil` if its status says enough.
  private func page(for refusal: AccountError) -> Page? {
    func signIn(_ next: String = "") -> PageAction {
      PageAction(text: "sign_in.submit", href: pages.base + "/sign-in" + next)
    }
    switch refusal {
    case .signUpClosed: return .error("sign_up_closed", to: [home])
    case .disabled: return .error("disabled", to: [home])
    case .providerEnded: return .error("provider_ended", to: [signIn()])
    case .identityNotLinked: return .error("identity_not_linked", to: [signIn("?next=/account/security")])
    case .wrongCredentials, .wrongPassword, .passwordTooLong, .passwordMissing, .weakPassword, .passkey,
      .secondFactorRequired, .secondFactorWrong, .secondFactorMissing, .reauthenticationRequired, .idTokenInvalid,
      .oneTimeTokenInvalid, .notGuest, .emailTaken, .identityTaken, .rotationKeyUsed, .unmailable, .notFound,
      .notOffered, .rateLimited, .busy, .unavailable:
      return nil
    }
  }

  private func page(for problem: ProblemError, _ reader: PageReader) -> Page {
    let again = PageAction(text: "action.try_again", href: reader.here)
    switch problem.status {
    case .notFound: return .error("not_found", to: [home])
    case .tooManyRequests:
      return .error("too_many", ["wait": pages.wait(for: problem.retryAfter ?? 60, in: reader.language)], to: [again])
    case .serviceUnavailable: return .error("unavailable", to: [again])
    case _ where problem.status.kind == .clientError:
      return .error("request_invalid", reason: problem.detail ?? problem.title, to: [home])
    default: return .error("general", to: [again, home])
    }
  }

  private func refusal(for error: AccountDirectoryError, logger: Logger) -> AccountError {
    switch error {
    case .emailTaken: return .emailTaken
    case .busy: return .busy
    case .unavailable(let cause):
      logger.error("Account directory unavailable", metadata: ["handstamp.cause": "\(cause)"])
      return .unavailable
    }
  }

  /// Logs errors that concern the operator.
  func report(_ error: RegistryError, logger: Logger) {
    switch error {
    case .unavailable(let cause):
      metrics.update { $0.storeFailures += 1 }
      logger.error("Store unavailable", metadata: ["handstamp.cause": "\(cause)"])
    case .unknownKey(let id):
      logger.error("Token signed with a key that is not in the key file", metadata: ["handstamp.kid": "\(id)"])
    case .accountChanged, .accountClosed, .notFound, .emailTaken, .identityTaken, .oneTimeTokenInvalid, .notGuest,
      .nonceUsed, .keyUsed, .upstreamEnded:
      break
    }
  }
}

extension ProblemError {
  init(_ error: AccountError) {
    self =
      switch error {
      case .wrongCredentials:
        ProblemError(
          .unauthorized, "wrong_credentials", "The email address or the password is wrong",
          headers: [.wwwAuthenticate: "Bearer"])
      case .wrongPassword: ProblemError(.forbidden, "wrong_credentials", "The password is wrong")
      case .passwordTooLong: .invalidRequest("The password is too long.")
      case .passwordMissing: .invalidRequest("Missing: password.")
      case .weakPassword(let weakness, let least): ProblemError(weakness, least: least)
      case .passkey(let refusal): ProblemError(refusal)
      case .secondFactorRequired(let isSignedIn):
        ProblemError(
          .unauthorized, "second_factor_required", "The account asks for a second factor",
          detail: "Send the request again with the code of the authenticator app as `code`, or sign in with a passkey.",
          headers: [.wwwAuthenticate: "Bearer"]
        ).forbidden(if: isSignedIn)
      case .secondFactorWrong(let isSignedIn):
        ProblemError(
          .unauthorized, "second_factor_wrong", "The code is wrong, or was used before",
          detail: "Wait for the next code, and check the device's clock.", headers: [.wwwAuthenticate: "Bearer"]
        ).forbidden(if: isSignedIn)
      case .secondFactorMissing(let page):
        ProblemError(
          .forbidden, "second_factor_missing", "This account needs a second factor",
          detail:
            "Sign in with a passkey, or with the code of an authenticator app. To set one up, open \(page) in a browser.",
          page: page)
      case .reauthenticationRequired(let context): ProblemError(reauthentication: context)
      case .idTokenInvalid:
        ProblemError(.forbidden, "id_token_invalid", "The identity provider's sign-in is not valid")
      case .oneTimeTokenInvalid:
        ProblemError(
          .badRequest, "link_invalid", "This link or code is not valid",
          detail: "It has expired, was already used, or was replaced by a newer one.")
      case .disabled:
        ProblemError(
          .forbidden, "account_disabled", "This account is disabled", detail: "Ask the operator of this server.")
      case .signUpClosed: ProblemError(.forbidden, "sign_up_closed", "Sign-up is disabled on this server")
      case .notGuest: ProblemError(.conflict, "not_anonymous", "This is not a guest account")
      case .emailTaken: ProblemError(.conflict, "email_taken", "An account with this email address already exists")
      case .identityTaken:
        ProblemError(
          .conflict, "identity_taken", "An account with this identity at the other provider already exists",
          detail: "Sign in to that account.")
      case .identityNotLinked:
        ProblemError(
          .conflict, "identity_not_linked", "The address of this user has an account",
          detail: "Sign in to it, and link the provider in its settings.")
      case .providerEnded:
        ProblemError(
          .forbidden, "provider_ended", "The sign-in at the provider has ended",
          detail: "Sign in at the provider again.")
      case .rotationKeyUsed:
        ProblemError(
          .conflict, "rotation_key_used", "A session that this key began is in use, or has ended",
          detail: "Sign in again with another rotation_key.")
      case .unmailable: .invalidRequest("email: mail cannot be sent to this address.")
      case .notFound: .notFound
      case .notOffered(let offer): .notOffered(offer.rawValue)
      case .rateLimited(let limit): ProblemError(limit)
      case .busy: .busy
      case .unavailable: .unavailable
      }
  }

  /// The error for a signed-in user: the access token is valid, so the status is not 401.
  private func forbidden(if isSignedIn: Bool) -> ProblemError {
    var problem = self
    if isSignedIn { (problem.status, problem.headers[.wwwAuthenticate]) = (.forbidden, nil) }
    return problem
  }

  private init(_ refusal: PasskeyService.Refusal) {
    self =
      switch refusal {
      case .expired:
        ProblemError(
          .unauthorized, "passkey_expired", "The passkey's answer came too late", detail: "Ask for new options.")
      case .unknown: ProblemError(.unauthorized, "passkey_unknown", "No account has this passkey")
      case .tooMany: ProblemError(.conflict, "passkey_limit", "The account has too many passkeys")
      case .notVerified:
        ProblemError(.unauthorized, "passkey_unverified", "The authenticator has not checked who uses it")
      case .invalid: ProblemError(.unauthorized, "passkey_refused", "The passkey was not accepted")
      }
  }

  private init(_ weakness: PasswordPolicy.Weakness, least: Int) {
    let detail: String
    switch weakness {
    case .tooShort, .tooLong: detail = "Use \(least) to \(PasswordPolicy.most) characters."
    case .common: detail = "This is one of the most common passwords. Use another one."
    case .context:
      detail = "This is too close to your name, your address or the name of this service. Use another one."
    case .breached: detail = "This password was found in a data breach. Use another one."
    case .uncheckable:
      self = .unavailable
      reason = weakness.rawValue
      return
    }
    self = ProblemError(
      .badRequest, "weak_password", "The password does not meet the requirements", detail: detail,
      reason: weakness.rawValue)
  }

  private init(reauthentication context: AuthenticationContext?) {
    let detail =
      switch context {
      case nil: "Enter the password again."
      case .multiFactor: "Enter the password again, and the code of the authenticator app; or use a passkey."
      case .phishingResistant: "Use a passkey."
      }
    self = ProblemError(.forbidden, "reauthentication_required", "Confirm that it is you", detail: detail)
    self.context = context
  }

  /// 429 (RFC 6585 section 4) with the fields of draft-ietf-httpapi-ratelimit-headers.
  private init(_ reached: LimitReached) {
    self = ProblemError(
      .tooManyRequests, "rate_limited", "Too many attempts", detail: "Try again later.",
      retryAfter: reached.retryAfter,
      headers: [
        .rateLimitPolicy:
          "\"\(reached.name)\";q=\(reached.limit.burst);w=\(max(1, reached.limit.window.roundedUpSeconds))",
        .rateLimit: "\"\(reached.name)\";r=0;t=\(reached.retryAfter)",
      ])
  }

  fileprivate init(_ form: FormError) {
    self =
      switch form {
      case .expired:
        ProblemError(
          .forbidden, "form_expired", "This form has expired", detail: "Go back, reload the page, and try again.")
      case .elsewhere(let issuer):
        ProblemError(
          .forbidden, "form_elsewhere", "This page has another address", detail: "Open \(issuer) instead.")
      case .cookieMissing:
        ProblemError(
          .forbidden, "cookie_missing", "The browser sent no cookie",
          detail: "Allow cookies for this site. Some browsers take none over http: use https.")
      }
  }

  /// RFC 9449 section 7.1.
  fileprivate init(_ proof: ProofError) {
    self =
      switch proof {
      case .invalid:
        ProblemError(
          .unauthorized, "proof_invalid", "The proof of possession is not valid",
          challenge: AccessChallenge(to: .dpop, error: "invalid_dpop_proof"))
      case .nonceNeeded(let nonce):
        ProblemError(
          .unauthorized, "proof_invalid", "The proof must contain the server's nonce", headers: [.dpopNonce: nonce],
          challenge: AccessChallenge(to: .dpop, error: "use_dpop_nonce"))
      }
  }
}
#endif
