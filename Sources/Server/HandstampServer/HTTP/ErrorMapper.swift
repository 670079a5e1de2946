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
      if error != .busy { logger.error("Password hashing failed", metadata: ["handstamp.cause": "\(error)"]) }
      return .busy
    case let error as AccountDirectoryError:
      switch error {
      case .emailTaken: return .emailTaken
      case .busy: return .busy
      case .unavailable(let cause):
        logger.error("Account directory unavailable", metadata: ["handstamp.cause": "\(cause)"])
        return .unavailable
      }
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
      switch error {
      case .unavailable: return .unavailable
      case .refused, .noAttempt, .invalid:
        metrics.update { $0.refusedSignIns += 1 }
        return .idTokenInvalid
      }
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
    case let error as ProofError:
      return switch error {
      case .invalid: OAuthError("invalid_dpop_proof")
      case .nonceNeeded(let nonce): OAuthError("use_dpop_nonce", headers: [.dpopNonce: nonce])
      }
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
    case .wrongCredentials, .wrongPassword, .invalid, .notGuest, .weakPassword, .passkey, .secondFactorRequired,
      .secondFactorWrong, .secondFactorMissing, .reauthenticationRequired, .idTokenInvalid, .oneTimeTokenInvalid,
      .emailTaken, .identityTaken, .rotationKeyUsed, .notFound, .notOffered, .rateLimited, .busy, .unavailable:
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

  /// The words on a page for an operation that was refused.
  struct Words: Sendable {
    /// Those beside fields, by their names.
    var errors: [String: PageText] = [:]
    var notice: PageNotice?
    var status = HTTPResponse.Status.ok
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

extension BrowserRequest {
  /// Returns the words for a refusal beside the form that asked for the operation.
  ///
  /// - Parameter field: that of the password that was checked.
  /// - Throws: what concerns more than the form, such as ``AccountError/reauthenticationRequired(_:)``.
  func words(
    for error: any Error, passwordIn field: String = "current_password"
  ) throws -> ErrorMapper.Words {
    typealias Words = ErrorMapper.Words
    guard let refusal = errors.refusal(of: error, logger: caller.logger) else { throw error }
    func later(_ text: PageText) -> Words { Words(notice: .warning(text), status: ProblemError(refusal).status) }
    switch refusal {
    case .passkey(let refusal): return Words(notice: .warning(refusal.text))
    case .weakPassword(let weakness, let least): return Words(errors: ["new_password": weakness.text(least: least)])
    case .emailTaken: return Words(errors: ["email": "field_error.email_taken"])
    case .wrongCredentials, .wrongPassword: return Words(errors: [field: "field_error.password_wrong"])
    case .rateLimited(let reached):
      return later(
        PageText("sign_in.too_many", ["wait": pages.wait(for: reached.retryAfter, in: place.language)]))
    case .disabled: return later("sign_in.disabled")
    case .busy, .unavailable: return later("error.unavailable.text")
    case .invalid, .secondFactorRequired, .secondFactorWrong, .secondFactorMissing,
      .reauthenticationRequired, .idTokenInvalid, .oneTimeTokenInvalid, .signUpClosed, .notGuest, .identityTaken,
      .identityNotLinked, .providerEnded, .rotationKeyUsed, .notFound, .notOffered:
      throw error
    }
  }
}

extension PasskeyService.Refusal {
  /// The text on a page.
  var text: PageText {
    switch self {
    case .expired: "passkey.expired"
    case .unknown: "passkey.unknown"
    case .tooMany: "passkey.too_many"
    case .notVerified: "passkey.not_verified"
    case .invalid: "passkey.failed"
    }
  }
}
#endif
