#if Programs
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird
import NIOCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `An error of a route` {
  private struct Unforeseen: Error { let text = "select * from secrets" }

  private let logs = LogCapture()
  private let errors: ErrorMapper

  init() throws {
    let pages = try PageWriter(PageSettings(), issuer: "https://id.example.org", mountPath: "")
    errors = ErrorMapper(metrics: ServerMetrics(), pages: pages)
  }

  private func answer(_ error: any Error, _ format: ErrorMapper.Format) -> Response {
    let request = Request(
      head: HTTPRequest(method: .get, scheme: "https", authority: "id.example.org", path: "/device"),
      body: RequestBody(buffer: ByteBuffer()))
    return errors.response(to: error, of: request, as: format, logger: logs.logger)
  }

  /// An OAuth client ends its session at `invalid_grant`.
  @Test(arguments: [
    RegistryError.unavailable("disk"), .unknownKey(KeyID("k2")), .accountChanged, .accountClosed, .notFound,
    .oneTimeTokenInvalid, .notGuest, .nonceUsed, .emailTaken,
  ])
  func `of the registry never looks like a refusal at an OAuth endpoint`(error: RegistryError) {
    let oauth = errors.oauth(for: error, logger: logs.logger)
    #expect(oauth.error == "temporarily_unavailable")
    #expect(answer(error, .oauth).status == .serviceUnavailable)
    #expect(answer(error, .oauth).headers[.retryAfter] == "1")
  }

  @Test func `has the format of its routes`() {
    let types = [ErrorMapper.Format.problem, .oauth, .page].map { format in
      let response = answer(RegistryError.unavailable("disk"), format)
      #expect(response.status == .serviceUnavailable)
      #expect(response.headers[.cacheControl] == "no-store")
      return response.headers[.contentType]
    }
    #expect(types == ["application/problem+json", "application/json", "text/html; charset=utf-8"])
    #expect(errors.metrics.snapshot.storeFailures == 3)
    #expect(logs.lines.count { $0.contains("Store unavailable") } == 3)
  }

  @Test func `that was not foreseen reveals nothing, neither to the client nor in the log`() {
    for format in [ErrorMapper.Format.problem, .oauth, .page] {
      #expect(answer(Unforeseen(), format).status == .internalServerError)
    }
    #expect(errors.problem(for: Unforeseen(), logger: logs.logger).detail == nil)
    let oauth = errors.oauth(for: Unforeseen(), logger: logs.logger)
    #expect(oauth.error == "server_error" && oauth.description == nil)
    #expect(logs.text.contains("Unforeseen") && !logs.text.contains("secrets"))
  }

  @Test func `in a body is a bad request at an OAuth endpoint, whatever is wrong with it`() {
    for (error, status) in [
      (ProblemError.unsupportedMediaType("application/json"), HTTPResponse.Status.badRequest),
      (.tooLarge(10), .contentTooLarge), (.invalidRequest("x"), .badRequest),
    ] {
      #expect(errors.oauth(for: error, logger: logs.logger).error == "invalid_request")
      #expect(answer(error, .oauth).status == status)
    }
    #expect(
      errors.oauth(for: OAuthError.parameterRepeated, logger: logs.logger).description == "a parameter is repeated")
  }

  @Test func `of a proof brings the nonce, in either format`() {
    #expect(answer(ProofError.nonceNeeded("n"), .oauth).headers[.dpopNonce] == "n")
    #expect(answer(ProofError.nonceNeeded("n"), .oauth).status == .badRequest)
    #expect(answer(ProofError.nonceNeeded("n"), .problem).headers[.dpopNonce] == "n")
    #expect(answer(ProofError.nonceNeeded("n"), .problem).status == .unauthorized)
  }

  @Test func `of an issuer's keys names the issuer, and blames no other`() {
    let error = KeysUnavailable(issuer: "https://sso.example.com", cause: "https://sso.example.com/keys returned 500")
    for format in [ErrorMapper.Format.problem, .oauth, .page] {
      #expect(answer(error, format).status == .serviceUnavailable)
    }
    #expect(logs.lines.count { $0.contains("https://sso.example.com") } == 3)
    #expect(!logs.text.contains("Apple"))
    #expect(errors.metrics.snapshot.refusedSignIns == 0)
  }

  /// The cases of ``AccountError``, without their values: a new one does not compile before it is here, and fails until it has a row.
  private enum Case: CaseIterable {
    case wrongCredentials, wrongPassword, invalid, weakPassword, passkey, secondFactorRequired, secondFactorWrong
    case secondFactorMissing, reauthenticationRequired, idTokenInvalid, oneTimeTokenInvalid, disabled, signUpClosed
    case notGuest, emailTaken, identityTaken, identityNotLinked, providerEnded, rotationKeyUsed, notFound, notOffered
    case rateLimited, busy, unavailable

    init(_ error: AccountError) {
      self =
        switch error {
        case .wrongCredentials: .wrongCredentials
        case .wrongPassword: .wrongPassword
        case .invalid: .invalid
        case .weakPassword: .weakPassword
        case .passkey: .passkey
        case .secondFactorRequired: .secondFactorRequired
        case .secondFactorWrong: .secondFactorWrong
        case .secondFactorMissing: .secondFactorMissing
        case .reauthenticationRequired: .reauthenticationRequired
        case .idTokenInvalid: .idTokenInvalid
        case .oneTimeTokenInvalid: .oneTimeTokenInvalid
        case .disabled: .disabled
        case .signUpClosed: .signUpClosed
        case .notGuest: .notGuest
        case .emailTaken: .emailTaken
        case .identityTaken: .identityTaken
        case .identityNotLinked: .identityNotLinked
        case .providerEnded: .providerEnded
        case .rotationKeyUsed: .rotationKeyUsed
        case .notFound: .notFound
        case .notOffered: .notOffered
        case .rateLimited: .rateLimited
        case .busy: .busy
        case .unavailable: .unavailable
        }
    }
  }

  private static let refusals: [(AccountError, HTTPResponse.Status, code: String, title: String)] = [
    (.wrongCredentials, .unauthorized, "wrong_credentials", cannotContinue),
    (.wrongPassword, .forbidden, "wrong_credentials", cannotContinue),
    (.invalid(.passwordTooLong), .badRequest, "invalid_request", cannotContinue),
    (.weakPassword(.common, least: 8), .badRequest, "weak_password", cannotContinue),
    (.weakPassword(.uncheckable, least: 8), .serviceUnavailable, "unavailable", later),
    (.passkey(.expired), .unauthorized, "passkey_expired", cannotContinue),
    (.passkey(.unknown), .unauthorized, "passkey_unknown", cannotContinue),
    (.passkey(.tooMany), .conflict, "passkey_limit", cannotContinue),
    (.passkey(.notVerified), .unauthorized, "passkey_unverified", cannotContinue),
    (.passkey(.invalid), .unauthorized, "passkey_refused", cannotContinue),
    (.secondFactorRequired(), .unauthorized, "second_factor_required", cannotContinue),
    (.secondFactorRequired(isSignedIn: true), .forbidden, "second_factor_required", cannotContinue),
    (.secondFactorWrong(), .unauthorized, "second_factor_wrong", cannotContinue),
    (.secondFactorWrong(isSignedIn: true), .forbidden, "second_factor_wrong", cannotContinue),
    (.secondFactorMissing(page: "https://id.example.org"), .forbidden, "second_factor_missing", cannotContinue),
    (.reauthenticationRequired(nil), .forbidden, "reauthentication_required", cannotContinue),
    (.reauthenticationRequired(.multiFactor), .forbidden, "reauthentication_required", cannotContinue),
    (.idTokenInvalid, .forbidden, "id_token_invalid", cannotContinue),
    (.oneTimeTokenInvalid, .badRequest, "link_invalid", cannotContinue),
    (.disabled, .forbidden, "account_disabled", "This account is disabled"),
    (.signUpClosed, .forbidden, "sign_up_closed", "Sign-up is closed"),
    (.notGuest, .conflict, "not_anonymous", cannotContinue),
    (.emailTaken, .conflict, "email_taken", cannotContinue),
    (.identityTaken, .conflict, "identity_taken", cannotContinue),
    (.identityNotLinked, .conflict, "identity_not_linked", "You already have an account"),
    (.providerEnded, .forbidden, "provider_ended", "This sign-in has ended"),
    (.rotationKeyUsed, .conflict, "rotation_key_used", cannotContinue),
    (.notFound, .notFound, "not_found", "Page not found"),
    (.notOffered(.mail), .forbidden, "not_offered", cannotContinue),
    (
      .rateLimited(LimitReached(name: "mails", limit: RateLimit(burst: 1, every: .seconds(9)), wait: .seconds(9))),
      .tooManyRequests, "rate_limited", "Too many attempts"
    ),
    (.busy, .serviceUnavailable, "busy", later), (.unavailable, .serviceUnavailable, "unavailable", later),
  ]
  private static let (cannotContinue, later) = ("This sign-in can’t continue", "Back in a moment")

  /// Collects the body of a response.
  private final class Content: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()

    func write(_ buffer: ByteBuffer) { bytes.writeImmutableBuffer(buffer) }
    func finish(_ trailingHeaders: HTTPFields?) {}
  }

  @Test func `of a use case has one status for apps and on pages, and a page for each`() async throws {
    #expect(Set(Self.refusals.map { Case($0.0) }) == Set(Case.allCases))
    for (error, status, code, title) in Self.refusals {
      #expect(errors.problem(for: error, logger: logs.logger).code == code)
      for format in [ErrorMapper.Format.problem, .page] {
        let response = answer(error, format)
        #expect(response.status == status, "\(error)")
        // RFC 9110 section 15.5.2; a signed-in user's token is valid.
        #expect(response.headers[.wwwAuthenticate] == nil || status == .unauthorized, "\(error)")
        guard format == .page else { continue }
        let content = Content()
        try await response.body.write(content)
        let page = Browser.BrowserResponse(status: 0, headers: [], text: String(buffer: content.bytes))
        #expect(page.title == title, "\(error)")
      }
    }
  }

  @Test func `of a store is that of the use case`() {
    for (error, refusal) in [
      (RegistryError.accountClosed, AccountError.disabled), (.nonceUsed, .idTokenInvalid),
      (.upstreamEnded, .providerEnded), (.accountChanged, .unavailable), (.keyUsed, .rotationKeyUsed),
    ] {
      #expect(errors.refusal(of: error, logger: logs.logger) == refusal)
    }
    #expect(errors.refusal(of: ProblemError.notFound, logger: logs.logger) == nil)
  }
}
#endif
