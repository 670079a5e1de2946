#if Programs
import Handstamp
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `A failure of the network` {
  @Test(arguments: NetworkFailure.allCases)
  func `is known from the error, which says that nothing was sent, and has a hint`(failure: NetworkFailure) throws {
    for error in [failure.error(), failure.error("connection refused")] {
      #expect(NetworkFailure(error) == failure)
      guard case .notConnected = error else {
        Issue.record("\(error) may have been sent")
        continue
      }
      let server = try ServerAddress(parsing: "https://id.example.org")
      for refusal in [
        CommandError(.network(error), server: server), CommandError(.requestFailed(.network(error)), server: server),
      ] {
        #expect(refusal.hint == failure.hint && refusal.exit == failure.exit)
        #expect(refusal.code == (failure.exit == .network ? "not_connected" : "network_settings"))
        #expect(refusal.message.contains(failure.rawValue))
      }
    }
    let first = try #require(failure.hint.first)
    #expect(first.isLowercase && !failure.hint.hasSuffix("."))
  }

  @Test func `that only another setting can mend is none to try again`() {
    let passing: [NetworkFailure] = [.proxyUnreachable, .proxyRefuses, .proxySilent, .proxyLost]
    #expect(NetworkFailure.allCases.filter { $0.exit == .network } == passing)
  }

  @Test func `is no other failure to connect`() {
    #expect(NetworkFailure(.notConnected("connection refused")) == nil)
    #expect(NetworkFailure(.connectionLost(NetworkFailure.proxyLost.rawValue)) == nil)
  }
}
#endif
