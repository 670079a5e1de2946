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
    case .page: page(for: problem(for: error, logger: logger), request, logger)
    }
  }

  func problem(for error: any Error, logger: Logger) -> ProblemError {
    var problem = cause(of: error, logger: logger)
    if let challenge = problem.challenge {
      problem.headers[.wwwAuthenticate] = challenge.field(metadata: resource?.url)
    }
    return problem
  }

  private func cause(of error: any Error, logger: Logger) -> ProblemError {
    switch error {
    case let problem as ProblemError: return problem
    case let error as RegistryError:
      report(error, logger: logger)
      return ProblemError(error)
    case let error as PasswordHashError:
      if error != .busy {
        logger.error("Password hashing failed", metadata: ["handstamp.cause": "\(error)"])
      }
      return .busy
    case let refusal as PasskeyService.VerificationError: return ProblemError(refusal)
    case let error as AccountDirectoryError: return problem(for: error, logger: logger)
    case let error as TokenError: return problem(for: error, logger: logger)
    case let error as UpstreamError:
      logger.notice("Sign-in at a provider failed", metadata: ["handstamp.cause": "\(error)"])
      if case .unavailable = error { return .unavailable }
      metrics.update { $0.refusedSignIns += 1 }
      return .badIDToken
    case let error as OAuthError where error == .parameterRepeated || error == .formMalformed:
      return .invalidRequest("The form is not valid.")
    case is CancellationError: return .unavailable
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
    case TokenError.proofInvalid: return OAuthError("invalid_dpop_proof")
    case TokenError.proofWantsNonce(let nonce): return OAuthError("use_dpop_nonce", headers: [.dpopNonce: nonce])
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

  private func page(for problem: ProblemError, _ request: Request, _ logger: Logger) -> Response {
    let reader = pages.reader(of: request)
    let again = PageAction(text: "action.try_again", href: reader.here)
    let home = PageAction(text: "action.to_account", href: pages.base + "/account", isPrimary: false)
    var page: Page
    switch (problem.status, problem.code) {
    case (.notFound, _): page = .error("not_found", to: [home])
    case (_, "form_expired"): page = .error("form_expired", to: [again])
    case (_, "form_elsewhere"):
      let there = PageAction(text: "action.open_there", href: pages.address(of: request))
      page = .error("elsewhere", ["issuer": .text(pages.issuer)], to: [there])
    case (_, "cookie_missing"): page = .error("cookie_missing", to: [again])
    case (_, "sign_up_closed"): page = .error("sign_up_closed", to: [home])
    case (_, "account_disabled"): page = .error("disabled", to: [home])
    case (_, "provider_ended"):
      page = .error("provider_ended", to: [PageAction(text: "sign_in.submit", href: pages.base + "/sign-in")])
    case (_, "identity_not_linked"):
      let signIn = PageAction(text: "sign_in.submit", href: pages.base + "/sign-in?next=/account/security")
      page = .error("identity_not_linked", to: [signIn])
    case (.tooManyRequests, _):
      page = .error("too_many", ["wait": pages.wait(after: problem, in: reader.language)], to: [again])
    case (.serviceUnavailable, _): page = .error("unavailable", to: [again])
    case (_, _) where problem.status.kind == .clientError:
      page = .error("request_invalid", reason: problem.detail ?? problem.title, to: [home])
    case (_, _): page = .error("general", to: [again, home])
    }
    page.status = problem.status
    if case .string(let id)? = logger[metadataKey: "hb.request.id"] { page.context["reference"] = .text(ifPresent: id) }
    var response = pages.response(page, to: reader)
    for field in problem.headers { response.headers[field.name] = field.value }
    if let retryAfter = problem.retryAfter { response.headers[.retryAfter] = String(retryAfter) }
    return response
  }

  private func problem(for error: AccountDirectoryError, logger: Logger) -> ProblemError {
    switch error {
    case .emailTaken: return .emailTaken
    case .busy: return .busy
    case .unavailable(let cause):
      logger.error("Account directory unavailable", metadata: ["handstamp.cause": "\(cause)"])
      return .unavailable
    }
  }

  private func problem(for error: TokenError, logger: Logger) -> ProblemError {
    switch error {
    case .invalid, .expired, .assertion, .event:
      metrics.update { $0.refusedSignIns += 1 }
      logger.info("Sign-in with Apple refused")
      return .badIDToken
    case .keysUnavailable(let cause):
      logger.error("Keys of a provider unavailable", metadata: ["handstamp.cause": "\(cause)"])
      return .unavailable
    // RFC 9449 section 7.1.
    case .proofInvalid:
      return ProblemError(
        .unauthorized, "proof_invalid", "The proof of possession is not valid",
        challenge: AccessChallenge(to: .dpop, error: "invalid_dpop_proof"))
    case .proofWantsNonce(let nonce):
      return ProblemError(
        .unauthorized, "proof_invalid", "The proof must contain the server's nonce", headers: [.dpopNonce: nonce],
        challenge: AccessChallenge(to: .dpop, error: "use_dpop_nonce"))
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
  init(_ error: RegistryError) {
    self =
      switch error {
      case .emailTaken: .emailTaken
      case .identityTaken: .identityTaken
      case .notFound: .notFound
      case .oneTimeTokenInvalid: .oneTimeTokenInvalid
      case .notGuest: .notGuest
      case .nonceUsed: .badIDToken
      case .keyUsed: .rotationKeyUsed
      case .upstreamEnded: .signInEndedAtProvider
      case .accountClosed: .accountDisabled
      // The password may have changed in the meantime; it must be checked again.
      case .accountChanged, .unavailable, .unknownKey: .unavailable
      }
  }

  static let identityTaken = ProblemError(
    .conflict, "identity_taken", "An account with this identity at the other provider already exists",
    detail: "Sign in to that account.")
  static let rotationKeyUsed = ProblemError(
    .conflict, "rotation_key_used", "A session that this key began is in use, or has ended",
    detail: "Sign in again with another rotation_key.")
  static let signInEndedAtProvider = ProblemError(
    .forbidden, "provider_ended", "The sign-in at the provider has ended",
    detail: "Sign in at the provider again.")
}
#endif
