#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `An account set for a folder` {
    private let bob = "bob@example.org"

    /// Runs with two accounts, ada and bob (active), and two nested folders.
    private func run(_ body: @escaping @Sendable (TourFixture, _ outer: String, _ inner: String) async throws -> Void)
      async throws
    {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.signUp(stage.first, email: bob, "--tag", "work")
        try FileManager.default.createDirectory(
          atPath: stage.folder + "/outer/inner", withIntermediateDirectories: true)
        let outer = URL(fileURLWithPath: stage.folder).resolvingSymlinksInPath().path + "/outer"
        try await body(stage, outer, outer + "/inner")
      }
    }

    private func run(
      _ arguments: [String], in folder: String, of stage: TourFixture, variables: [String: String] = [:]
    ) async throws -> Child.Outcome {
      let child = try Child(
        arguments, in: folder, variables: variables.merging(["HANDSTAMP_HOME": stage.first.path]) { $1 }, input: "")
      return try await within(.seconds(240), arguments.joined(separator: " ")) { try await child.outcome() }
    }

    private func handstamp(_ arguments: String..., in folder: String, of stage: TourFixture) async throws
      -> Child.Outcome
    {
      try await run(arguments, in: folder, of: stage)
    }

    private func person(
      in folder: String, of stage: TourFixture, _ more: [String] = [], variables: [String: String] = [:]
    ) async throws -> String? {
      let outcome = try await run(["request", "/v1/me"] + more, in: folder, of: stage, variables: variables)
      return try? JSONDecoder().decode(WhoAmI.self, from: Data(outcome.out.utf8)).email
    }

    @Test func `is used there and in subfolders, and nowhere else`() async throws {
      try await run { stage, outer, inner in
        let set = try await handstamp("switch", "ada", "--here", in: outer, of: stage)
        #expect(set.status == 0 && set.words.contains("\(outer) and its subfolders now use"), "\(set.words)")
        #expect(try await person(in: outer, of: stage) == stage.email)
        #expect(try await person(in: inner, of: stage) == stage.email)
        #expect(try await person(in: stage.folder, of: stage) == bob)
        #expect(try await person(in: inner, of: stage, ["--account", "work"]) == bob)
        #expect(try await person(in: inner, of: stage, variables: ["HANDSTAMP_ACCOUNT": "work"]) == bob)
        let link = stage.folder + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: inner)
        #expect(try await person(in: link, of: stage) == stage.email, "symbolic links are resolved")
        let status = try object(try await handstamp("status", "--json", in: inner, of: stage).out)
        #expect(status["folder"] as? String == outer)
        #expect(status["name"] as? String == stage.email)
        let elsewhere = try object(try await handstamp("status", "--json", in: stage.folder, of: stage).out)
        #expect(elsewhere["folder"] == nil && elsewhere["name"] as? String == bob)
        let accounts = try await handstamp("accounts", in: inner, of: stage)
        #expect(accounts.words.contains("\(outer) and its subfolders use \(stage.email)"), "\(accounts.words)")
      }
    }

    @Test func `yields to that of a nearer folder, and can be cleared`() async throws {
      try await run { stage, outer, inner in
        _ = try await handstamp("switch", "ada", "--here", in: outer, of: stage)
        _ = try await handstamp("switch", "work", "--here", in: inner, of: stage)
        #expect(try await person(in: inner, of: stage) == bob)
        #expect(try await person(in: outer, of: stage) == stage.email)
        let switched = try await handstamp("switch", "work", in: outer, of: stage)
        #expect(switched.words.contains("\(outer) uses another account"), "\(switched.words)")
        let forgot = try await handstamp("switch", "--here", in: inner, of: stage)
        #expect(forgot.words.contains("cleared the account for \(inner)"), "\(forgot.words)")
        #expect(forgot.words.contains("now uses \(stage.email) at \(stage.address.text)"), "\(forgot.words)")
        #expect(try await person(in: inner, of: stage) == stage.email)
        let twice = try await handstamp("switch", "--here", in: inner, of: stage)
        #expect(twice.status == 0 && twice.words.contains("no account is set for \(inner)"), "\(twice.words)")
        let erased = try await handstamp("logout", "--erase", in: inner, of: stage)
        #expect(erased.words.contains("removed \(stage.email)"), "logout uses the folder's account, too")
        #expect(try await person(in: outer, of: stage) == bob, "the setting for an erased account is cleared")
        try expectRefusal(
          try await handstamp("switch", in: inner, of: stage), .usage, naming: "account",
          hint: "switch")
      }
    }

    @Test func `that is gone or unreadable is never replaced by another account`() async throws {
      try await run { stage, outer, inner in
        let rules = FolderRules(of: stage.first)
        try rules.set(FolderRules.Rule(folder: outer, account: AccountID("gone")))
        for command in ["token", "logout", "status"] {
          try expectRefusal(
            try await handstamp(command, in: inner, of: stage), .failure, naming: outer, hint: "handstamp switch --here"
          )
        }
        #expect(try await person(in: inner, of: stage, ["--account", "work"]) == bob)
        let doctor = try await handstamp("doctor", in: stage.folder, of: stage)
        #expect(doctor.out.contains("the account set for \(outer)"), "\(doctor.out)")
        let file = try #require(
          try FileManager.default.contentsOfDirectory(atPath: stage.first.path + "/folders").first)
        try Data("{".utf8).write(to: URL(fileURLWithPath: "\(stage.first.path)/folders/\(file)"))
        try expectRefusal(
          try await handstamp("token", "--json", in: inner, of: stage), .failure, code: "failed", naming: file,
          hint: "switch --here")
        #expect(try await handstamp("switch", "--here", in: outer, of: stage).status == 0)
        #expect(try await person(in: inner, of: stage) == bob)
      }
    }
  }
}
#endif
