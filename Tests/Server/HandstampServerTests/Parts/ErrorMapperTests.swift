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
    #expect(answer(TokenError.proofWantsNonce("n"), .oauth).headers[.dpopNonce] == "n")
    #expect(answer(TokenError.proofWantsNonce("n"), .oauth).status == .badRequest)
    #expect(answer(TokenError.proofWantsNonce("n"), .problem).headers[.dpopNonce] == "n")
    #expect(answer(TokenError.proofWantsNonce("n"), .problem).status == .unauthorized)
  }
}
#endif
