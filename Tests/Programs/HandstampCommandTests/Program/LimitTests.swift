#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `The command under limits of its process` {
    /// The output of `handstamp`, its messages included, and its exit status in the last line.
    private func run(_ words: String, under limit: String, on home: Home) async throws -> [String] {
      let program = try Child.path()
      let script = "ulimit \(limit); HANDSTAMP_HOME='\(home.path)' '\(program)' \(words) 2>&1; s=$?; echo; echo $s"
      return try await Child.outcome(of: "/bin/sh", script).split(separator: "\n").map(String.init)
    }

    @Test(arguments: ["-s 64", "-v 400000"]) func `works with a small stack, and in a small address space`(
      _ limit: String
    ) async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        for words in ["refresh", "token", "request /v1/me", "sessions", "status", "doctor"] {
          let shown = try await run(words, under: limit, on: stage.first)
          #expect(shown.last == "0", "\(words): \(shown)")
        }
      }
    }

    @Test(arguments: ["-v 200000", "-v 300000"]) func `says how much address space it needs`(_ limit: String)
      async throws
    {
      try await ProcessFixture.run { stage in
        let shown = try await run("token", under: limit, on: stage.first)
        #expect(shown.last == "1")
        #expect(shown.contains { $0.hasPrefix("handstamp: the address space is limited to ") }, "\(shown)")
        #expect(shown.contains("hint: run: ulimit -v 393216"), "\(shown)")
      }
    }
  }
}
#endif
