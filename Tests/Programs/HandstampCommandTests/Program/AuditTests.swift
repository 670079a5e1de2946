#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp audit` {
    @Test func `shows changes but not reads, and detects tampering`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.run(["token"], on: stage.first)
        try await stage.run(["refresh"], on: stage.first)
        try await stage.run(["logout"], on: stage.first)
        let shown = try object(try await stage.run(["audit", "show", "--json"], on: stage.first).out)
        let records = try #require(shown["records"] as? [[String: Any]])
        #expect(records.map { $0["action"] as? String } == ["sign_in", "refresh", "end"])
        #expect(records.map { $0["method"] as? String } == ["sign_up", nil, nil])
        #expect(records.allSatisfy { $0["account"] is String })
        #expect(records.allSatisfy { $0["program"] as? String == "handstamp" && $0["intact"] as? Bool == true })
        let last = try await stage.run(["audit", "show", "--last", "1"], on: stage.first).out
        #expect(try await stage.run(["audit", "--last", "1"], on: stage.first).out == last, "show is what audit does")
        #expect(last.contains("end") && last.split(separator: "\n").count == 1)
        #expect(try await stage.run(["audit", "verify"], on: stage.first).out == "intact, 3 record(s)\n")

        let folder = stage.first.vaultFolder
        let name = try #require(
          try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".audit") })
        let text = String(
          decoding: try #require(FileManager.default.contents(atPath: "\(folder)/\(name)")), as: UTF8.self)
        try text.replacing("\"refresh\"", with: "\"restore\"").write(
          toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        let outcome = try await stage.run(["audit", "verify", "--json"], on: stage.first, expecting: .failure)
        let verdict = try object(outcome.out)
        #expect(verdict["verdict"] as? String == "broken" && verdict["at"] as? Int == 2)
        #expect(verdict["reason"] as? String == "altered")
        try expectJSONRefusal(
          outcome, .failure, code: "failed", naming: "record 2", hint: "handstamp audit show")
        let doubted = try await stage.run(["audit", "show"], on: stage.first)
        #expect(doubted.out.contains("unverified") && doubted.words.contains("verify"))
      }
    }
  }
}
#endif
