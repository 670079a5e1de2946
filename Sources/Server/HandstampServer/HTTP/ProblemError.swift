#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import NIOCore

/// An error response of the JSON API (RFC 9457). It never repeats data from the request.
struct ProblemError: Error, HTTPResponseError {
  var status: HTTPResponse.Status
  /// The code for clients to act on; stable, unlike the texts.
  var code: String
  var title: String
  var detail: String?
  /// Why the session ended, if that is the cause.
  var reason: String?
  /// The name of the provider where it ended, if it did.
  var provider: String?
  /// The page where a person can do something about it.
  var page: String?
  /// The least strength of a proof that would be enough, if one factor is not.
  var context: AuthenticationContext?
  /// Seconds after which the same request may succeed.
  var retryAfter: Int?
  var headers: HTTPFields
  /// For requests with access tokens. ``ErrorMapper`` adds it to the header fields, for it knows the resource.
  var challenge: AccessChallenge?

  init(
    _ status: HTTPResponse.Status, _ code: String, _ title: String, detail: String? = nil, reason: String? = nil,
    page: String? = nil, retryAfter: Int? = nil, headers: HTTPFields = [:], challenge: AccessChallenge? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.reason = reason
    self.page = page
    self.retryAfter = retryAfter
    self.headers = headers
    self.challenge = challenge
  }

  func response(from request: Request, context: some RequestContext) -> Response { response }

  /// The JSON object.
  private var content: JSONText {
    var json = JSONText(problem: status, code, title, detail: detail)
    json.add("reason", ifPresent: reason)
    json.add("provider", ifPresent: provider)
    json.add("page", ifPresent: page)
    json.add("acr_values", ifPresent: context?.rawValue)
    return json
  }

  var response: Response {
    var headers = headers
    if let retryAfter { headers[.retryAfter] = String(retryAfter) }
    return .problem(content, status, headers: headers)
  }
}

extension ProblemError {
  static func invalidRequest(_ detail: String) -> ProblemError {
    ProblemError(.badRequest, "invalid_request", "The request is not valid", detail: detail)
  }

  static let notFound = ProblemError(.notFound, "not_found", "Not found")

  static func methodNotAllowed(_ allowed: String) -> ProblemError {
    ProblemError(.methodNotAllowed, "method_not_allowed", "This method is not allowed here", headers: [.allow: allowed])
  }

  static func unsupportedMediaType(_ expected: String) -> ProblemError {
    ProblemError(
      .unsupportedMediaType, "unsupported_media_type", "The content type of the body is not supported",
      detail: "Send \(expected).")
  }

  static func tooLarge(_ limit: Int) -> ProblemError {
    ProblemError(.contentTooLarge, "too_large", "The body is too large", detail: "At most \(limit) bytes are accepted.")
  }

  /// The store is unavailable. No change was made, or it is not known whether it was.
  static let unavailable = ProblemError(
    .serviceUnavailable, "unavailable", "The server is temporarily unavailable", detail: "Try again later.",
    retryAfter: 1)

  static let busy = ProblemError(
    .serviceUnavailable, "busy", "The server is busy", detail: "Try again in a moment.", retryAfter: 1)

  static let tooManyStreams = ProblemError(
    .tooManyRequests, "too_many_streams", "Too many event streams are open", detail: "Close one, or try again later.",
    retryAfter: 30)

  /// Does not reveal whether the ID or the secret of an OAuth client is wrong.
  static let invalidClient = ProblemError(
    .unauthorized, "invalid_client", "The client's credentials are not valid",
    headers: [.wwwAuthenticate: "Basic realm=\"oauth\""])

  /// `handstamp-server serve` sends them, unless its build lacks that.
  static let noWebhooks = ProblemError(
    .forbidden, "not_offered", "This server sends no webhooks",
    detail: "Serve its store with handstamp-server serve; \(BuildPart.hint(building: "handstamp-server"))")

  static func notOffered(_ title: String) -> ProblemError { ProblemError(.forbidden, "not_offered", title) }

  /// A request without a token (RFC 6750 section 3.1: no error code then).
  static let tokenMissing = ProblemError(
    .unauthorized, "token_missing", "Sign-in required", challenge: AccessChallenge())

  /// The access token is invalid or expired, or its session has ended.
  static func invalidToken(
    _ scheme: AccessScheme, code: String, _ title: String, reason: EndReason? = nil
  ) -> ProblemError {
    var problem = ProblemError(
      .unauthorized, code, title, reason: reason?.rawValue,
      challenge: AccessChallenge(to: scheme, error: "invalid_token"))
    problem.provider = reason?.provider
    return problem
  }

  /// The token belongs to another client, which was not granted this access (RFC 6750 section 3.1).
  static func insufficientScope(_ scheme: AccessScheme, detail: String? = nil) -> ProblemError {
    ProblemError(
      .forbidden, "insufficient_scope", "The access token does not allow this", detail: detail,
      challenge: AccessChallenge(to: scheme, error: "insufficient_scope"))
  }

  /// The token is a client's own: no user has signed in (RFC 6749 section 4.4).
  static func noAccount(_ scheme: AccessScheme) -> ProblemError {
    insufficientScope(scheme, detail: "It is a client's own, and belongs to no account.")
  }

  static let `internal` = ProblemError(.internalServerError, "internal", "Internal server error")
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
      case .invalid(let flaw): .invalidRequest(flaw.rawValue)
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
            "Sign in with a passkey, or with the code of an authenticator app. "
            + "To set one up, open \(page) in a browser.",
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

  init(_ form: FormError) {
    self =
      switch form {
      case .expired:
        ProblemError(
          .forbidden, "form_expired", "This form has expired", detail: "Go back, reload the page, and try again.")
      case .elsewhere(let issuer):
        ProblemError(.forbidden, "form_elsewhere", "This page has another address", detail: "Open \(issuer) instead.")
      case .cookieMissing:
        ProblemError(
          .forbidden, "cookie_missing", "The browser sent no cookie",
          detail: "Allow cookies for this site. Some browsers take none over http: use https.")
      }
  }

  /// RFC 9449 section 7.1.
  init(_ proof: ProofError) {
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
