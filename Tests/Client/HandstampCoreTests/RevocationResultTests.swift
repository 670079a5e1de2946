import HandstampCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A revocation endpoint's response` {
  struct Case: Sendable, CustomTestStringConvertible {
    var status: Int
    var body: String
    var error: String?
    var type: String?
    /// `nil` for no decision.
    var means: RevocationResult?
    var testDescription: String { "\(status) \(body)" }
  }

  @Test(arguments: [
    Case(status: 200, body: "", means: .ended),
    Case(status: 200, body: " \r\n", means: .ended),
    Case(status: 200, body: "", type: "text/html; charset=utf-8", means: .ended),
    Case(status: 200, body: "\n", type: "text/html", means: .ended),
    Case(status: 200, body: "Sign in", type: "text/html", means: nil),
    Case(status: 302, body: "", type: "text/html", means: nil),
    Case(status: 200, body: "{}", means: .ended),
    Case(status: 200, body: "<html>please sign in</html>", means: nil),
    Case(status: 200, body: "[]", means: .ended), Case(status: 200, body: "OK", means: .ended),
    Case(status: 202, body: "null", means: .ended), Case(status: 204, body: "", means: .ended),
    Case(status: 200, body: "e", error: "invalid_client", means: .refused(code: "invalid_client")),
    Case(status: 200, body: "e", error: "invalid_token", means: .ended),
    Case(status: 200, body: "e", error: "server_error", means: nil),
    Case(status: 302, body: "", means: nil),
    Case(status: 401, body: "", means: nil),
    Case(status: 404, body: "{}", means: nil),
    Case(status: 400, body: "e", error: "invalid_token", means: .ended),
    Case(status: 400, body: "e", error: "invalid_grant", means: .refused(code: "invalid_grant")),
    Case(status: 403, body: "e", error: "Forbidden", means: nil),
    Case(status: 403, body: "e", error: "invalid_client", means: nil),
    Case(status: 401, body: "e", error: "use_dpop_nonce", means: nil),
    Case(status: 401, body: "e", error: "invalid_client", means: .refused(code: "invalid_client")),
    Case(
      status: 400, body: "e", error: "unsupported_token_type",
      means: .refused(code: "unsupported_token_type")),
    Case(status: 400, body: "e", error: "temporarily_unavailable", means: nil),
    Case(status: 503, body: "e", error: "server_error", means: nil),
    Case(status: 400, body: "e", error: "A word\nof its own", means: nil),
  ])
  func `counts as delivered only if the server ended the session`(_ one: Case) {
    let response = TransportResponse(
      status: one.status, headers: one.type.map { [HeaderField("Content-Type", $0)] } ?? [], body: Array(one.body.utf8))
    let result = RevocationResult(response, error: one.error)
    switch result {
    case .ended, .refused: #expect(result == one.means)
    case .noDecision(let failure):
      #expect(one.means == nil)
      let response = RequestError.ServerResponse(status: one.status, error: one.error)
      #expect(failure == .server(response) || failure == .configuration(response))
    }
  }
}
