#if Programs
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The log of a request` {
  private static let trace = "0af7651916cd43dd8448eb211c80319c"
  private static let span = "b7ad6b7169203331"

  /// The examples of W3C Trace Context section 3.2.
  @Test(arguments: [
    ("00-\(trace)-\(span)-01", true), ("01-\(trace)-\(span)-01-more", true), ("cc-\(trace)-\(span)-00", true),
    ("00-\(trace)-\(span)-01-more", false), ("ff-\(trace)-\(span)-01", false), ("00-\(trace)-\(span)", false),
    ("00-\(trace.uppercased())-\(span)-01", false), ("00-00000000000000000000000000000000-\(span)-01", false),
    ("00-\(trace)-0000000000000000-01", false), ("00-\(trace)0-\(span)-01", false), ("", false), ("---", false),
  ])
  func `names a trace only if the field is valid`(field: String, isValid: Bool) {
    let parsed = TraceParent(field)
    #expect((parsed != nil) == isValid)
    if let parsed { #expect(parsed.trace == Self.trace && parsed.span == Self.span) }
  }

  @Test func `has the caller's trace, and the ID that the answer names`() async throws {
    try await TestServer.run { test async throws in
      let answer = try await test.client.send(
        "POST", "/v1/sign-up",
        headers: ["traceparent": "00-\(Self.trace)-\(Self.span)-01", "Content-Type": "application/json"],
        body: Array(TestServer.signUpBody("ada@example.org").utf8))
      let id = try #require(answer.headers["x-request-id"])
      let lines = test.logs.lines.filter { $0.contains(Self.trace) }
      #expect(!lines.isEmpty)
      #expect(lines.allSatisfy { $0.contains(id) && $0.contains(Self.span) }, "\(lines)")
    }
  }

  @Test(arguments: [(true, "edge-17", true), (false, "edge-17", false), (true, "edge 17", false), (true, "", false)])
  func `takes the ID of a trusted proxy alone`(isTrusted: Bool, id: String, isTaken: Bool) async throws {
    try await TestServer.run {
      if isTrusted { $0.trustedProxies = TrustedProxies([AddressRange("127.0.0.0/8")].compactMap(\.self)) }
    } body: { test in
      let answer = try await test.client.get("/health", headers: ["x-request-id": id])
      #expect((answer.headers["x-request-id"] == id) == isTaken)
      #expect(answer.headers["x-request-id"]?.isEmpty == false)
    }
  }
}
#endif
