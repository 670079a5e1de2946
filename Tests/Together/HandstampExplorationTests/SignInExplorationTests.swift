#if Exploration
import HandstampExploration
import Testing

@Suite(.longComputation, .timeLimit(.minutes(10))) struct `Sign-ins, explored exhaustively` {
  /// With limits that take seconds; `scripts/dev explore` goes further.
  @Test(arguments: SignInExploration.Client.allCases)
  func `sign no client out, and strand no session`(_ client: SignInExploration.Client) async throws {
    let found = try await SignInExploration(client, depth: 7)
    #expect(found.findings.isEmpty, "\(found.states) states: \(found.findings.prefix(3))")
    #expect(found.states > 50)
  }

  @Test(arguments: [SignInExploration.Client.password, .guest])
  func `sign a client out if the previous session ends at the commit`(_ client: SignInExploration.Client) async throws {
    let found = try await SignInExploration(client, planting: .previousEndsAtCommit, depth: 7)
    #expect(!found.findings.isEmpty, "\(found.states) states")
  }

  @Test(arguments: [SignInExploration.Fault.previousEndsAtCommit, .cookiesEndAtOnce])
  func `sign a browser out if a cookie ends before its response has arrived`(
    _ fault: SignInExploration.Fault
  ) async throws {
    let found = try await SignInExploration(.signedInBrowser, planting: fault, depth: 8)
    #expect(!found.findings.isEmpty, "\(found.states) states")
  }
}
#endif
