#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `Forty processes, some of them killed` {
    @Test func `rotate once per expiry, and stay signed in`() async throws {
      try await Storm.run(rounds: 3)
    }
  }
}

/// Runs in `make check-deep`: it takes minutes, so it is not in a suite with a time limit.
@Suite(
  .serialized, .enabled(if: ProcessInfo.processInfo.environment["HANDSTAMP_DEEP"] != nil), .timeLimit(.minutes(60)))
struct `Forty processes and fifty expiries` {
  @Test func `rotate fifty times, and stay signed in`() async throws {
    try await Storm.run(rounds: 50)
  }
}

extension Storm {
  static func run(rounds: Int) async throws {
    try await ProcessFixture.run(limit: .seconds(3600)) { stage in
      try await stage.signUp(stage.first)
      let session = try await stage.session(of: stage.first).id
      let storm = Storm(stage: stage, processes: 40)
      var (killed, repeats) = (0, 0)
      for _ in 0..<rounds {
        let round = try await storm.round()
        killed += round.killed
        repeats += round.requests - 1
      }
      #expect(killed > 0, "no process was killed in \(rounds) rounds")
      #expect(try await stage.session(of: stage.first).id == session)
      try await stage.run(["request", "/v1/me"], on: stage.first)
      let log = stage.server.log()
      #expect(!log.contains("Copied refresh token"), "a process was mistaken for a thief")
      print("\(rounds) expiries, 40 processes each: \(rounds) rotations, \(repeats) repeats, \(killed) killed")
    }
  }
}
#endif
