#if Programs
import Foundation
import Testing

@testable import HandstampCommand

extension Processes {
  @Suite struct `The tour` {
    /// In a folder of its own, so that what it leaves behind is seen.
    private func tour(_ body: (Child) async throws -> Void) async throws {
      try await Rig.inFolder { folder in
        let child = try Child(["tour"], variables: ["TMPDIR": folder])
        try await body(child)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "it leaves nothing behind")
      }
    }

    @Test func `shows ten steps, each as it should be, and cleans up`() async throws {
      try await tour { child in
        let outcome = try await within(.seconds(240), "the tour") { try await child.outcome() }
        #expect(outcome.status == 0, "\(outcome.out)")
        #expect(outcome.out.contains("all as it should be"))
        for step in Step.all { #expect(outcome.out.contains(step.title)) }
        #expect(!outcome.out.contains("FAILED"))
      }
    }

    @Test func `fails when its server dies, and cleans up`() async throws {
      try await tour { child in
        let line = try await child.line()
        let server = try #require(line.split(separator: " ").lazy.compactMap { Int32($0.prefix { $0.isNumber }) }.first)
        kill(server, SIGKILL)
        let outcome = try await within(.seconds(240), "the tour") { try await child.outcome() }
        #expect(outcome.status == 1)
        #expect(outcome.out.contains("FAILED") && outcome.out.contains("not reached"))
      }
    }

    @Test func `takes its server along when it is interrupted, and cleans up`() async throws {
      try await tour { child in
        let line = try await child.line()
        let server = try #require(line.split(separator: " ").lazy.compactMap { Int32($0.prefix { $0.isNumber }) }.first)
        child.send(SIGINT)
        let outcome = try await within(.seconds(240), "the tour") { try await child.outcome() }
        #expect(outcome.status == 2)
        try await Step.until("the server's end") { kill(server, 0) != 0 }
      }
    }
  }
}
#endif
