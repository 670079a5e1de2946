#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `The tour` {
    /// Runs in its own folder, so that leftover files are found.
    private func tour(_ body: (Child) async throws -> Void) async throws {
      try await ProcessFixture.inFolder { folder in
        let child = try Child(program: "HandstampTour", [], variables: ["TMPDIR": folder])
        try await body(child)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "it leaves nothing behind")
      }
    }

    @Test func `passes ten steps, and cleans up`() async throws {
      try await tour { child in
        let outcome = try await within(.seconds(1200), "the tour") { try await child.outcome() }
        #expect(outcome.status == 0, "\(outcome.out)")
        #expect(outcome.out.contains("all steps passed"))
        for step in Step.all { #expect(outcome.out.contains(step.title)) }
        #expect(!outcome.out.contains("FAILED"))
      }
    }

    @Test func `fails when its server dies, and cleans up`() async throws {
      try await tour { child in
        let line = try await child.line()
        let server = try #require(line.split(separator: " ").lazy.compactMap { Int32($0.prefix { $0.isNumber }) }.first)
        kill(server, SIGKILL)
        let outcome = try await within(.seconds(1200), "the tour") { try await child.outcome() }
        #expect(outcome.status == 1)
        #expect(outcome.out.contains("FAILED") && outcome.out.contains("not reached"))
      }
    }

    @Test func `stops its server when interrupted, and cleans up`() async throws {
      try await tour { child in
        let line = try await child.line()
        let server = try #require(line.split(separator: " ").lazy.compactMap { Int32($0.prefix { $0.isNumber }) }.first)
        child.send(SIGINT)
        let outcome = try await within(.seconds(1200), "the tour") { try await child.outcome() }
        #expect(outcome.status == 2)
        try await Step.until("the server's end") { kill(server, 0) != 0 }
      }
    }
  }
}
#endif
