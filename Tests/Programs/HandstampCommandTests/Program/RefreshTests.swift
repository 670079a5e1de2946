#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp refresh` {
    @Test func `gets a new token however young the old one is, and shows the status`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let old = try await stage.storedToken(of: stage.first)
        let outcome = try await stage.run(["refresh"], on: stage.first)
        #expect(outcome.out.contains("signed in") && outcome.out.contains("valid for"))
        let new = try await stage.storedToken(of: stage.first)
        #expect(new != old && !outcome.out.contains(new))
        let json = try object(try await stage.run(["refresh", "--json"], on: stage.first).out)
        #expect(json["state"] as? String == "signed_in")
        #expect(stage.proxy.refreshes.count == 2)
        try await stage.server.stop()
        let before = try await stage.storedToken(of: stage.first)
        try expectRefusal(
          try await stage.run(["refresh", "--json"], on: stage.first, expecting: .network), .network,
          code: "connection_lost", hint: "try again")
        #expect(try await stage.run(["token"], on: stage.first).out == before + "\n", "the old one is still used")
      }
    }
  }
}
#endif
