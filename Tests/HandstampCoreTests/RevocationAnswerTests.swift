import HandstampCore
import Testing

@Suite struct `An answer of a revocation endpoint` {
  struct Case: Sendable, CustomTestStringConvertible {
    var status: Int
    var body: String
    var isObject = false
    var error: String?
    var means: RevocationAnswer
    var testDescription: String { "\(status) \(body)" }
  }

  @Test(arguments: [
    Case(status: 200, body: "", means: .ended),
    Case(status: 200, body: " \r\n", means: .ended),
    Case(status: 200, body: "{}", isObject: true, means: .ended),
    Case(status: 200, body: "<html>please sign in</html>", means: .undecided),
    Case(status: 200, body: "[]", means: .undecided),
    Case(status: 200, body: #"{"error":"invalid_client"}"#, isObject: true, error: "invalid_client", means: .undecided),
    Case(status: 204, body: "", means: .undecided),
    Case(status: 302, body: "", means: .undecided),
    Case(status: 401, body: "", means: .undecided),
    Case(status: 404, body: "{}", isObject: true, means: .undecided),
    Case(status: 400, body: "e", isObject: true, error: "invalid_token", means: .ended),
    Case(status: 400, body: "e", isObject: true, error: "invalid_grant", means: .refused(code: "invalid_grant")),
    Case(status: 403, body: "e", isObject: true, error: "Forbidden", means: .undecided),
    Case(status: 403, body: "e", isObject: true, error: "invalid_client", means: .undecided),
    Case(status: 401, body: "e", isObject: true, error: "use_dpop_nonce", means: .undecided),
    Case(status: 401, body: "e", isObject: true, error: "invalid_client", means: .refused(code: "invalid_client")),
    Case(
      status: 400, body: "e", isObject: true, error: "unsupported_token_type",
      means: .refused(code: "unsupported_token_type")),
    Case(status: 400, body: "e", isObject: true, error: "temporarily_unavailable", means: .undecided),
    Case(status: 503, body: "e", isObject: true, error: "server_error", means: .undecided),
    Case(status: 400, body: "e", isObject: true, error: "A word\nof its own", means: .undecided),
  ])
  func `counts as delivered when the server ended the session, and not otherwise`(_ one: Case) {
    let response = TransportResponse(status: one.status, body: Array(one.body.utf8))
    #expect(RevocationAnswer(response, isJSONObject: one.isObject, error: one.error) == one.means)
  }
}
