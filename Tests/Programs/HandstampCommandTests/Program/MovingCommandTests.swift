#if Programs
import Foundation
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp-server admin import and export` {
    @Test func `take accounts in while the server runs, and give them back`() async throws {
      try await ProcessFixture.run { stage in
        let (file, out) = (stage.folder + "/in.jsonl", stage.folder + "/out.jsonl")
        // Made by Python's bcrypt.
        let hash = "$2a$06$k/t853fvFaUpM4qPr5X.tOqaF7TOb9ygzsCZGZ9xyKJvNzN0UdsIO"
        let lines =
          #"{"id":"u-1","email":"\#(stage.email)","email_verified":true,"groups":["staff"],"password_hash":"\#(hash)"}"#
          + "\n{\"id\":\"u-2\",\n{\"id\":\"u-3\",\"email\":\"eve@example.org\",\"disabled\":true}\n"
        try Data(lines.utf8).write(to: URL(fileURLWithPath: file))

        try expectRefusal(
          try await stage.refusedAdmin("import", file), .usage, naming: "system", hint: "--from handstamp")
        try expectRefusal(
          try await stage.refusedAdmin("import", file, "--from", "okta"), .usage, naming: "okta", hint: "keycloak")
        try expectRefusal(
          try await stage.refusedAdmin("import", file + "x", "--from", "handstamp"), .failure, naming: "in.jsonlx",
          hint: "stdin")

        try expectRefusal(
          try await stage.refusedAdmin("import", file, "--from", "handstamp", "--provider", "github"), .usage,
          naming: "github", hint: "issuer")

        let trial = try await stage.admin("import", file, "--from", "handstamp", "--dry-run", expecting: .failure)
        #expect(trial.words.contains("2 created, 0 merged, 0 unchanged, 1 refused"), "\(trial.words)")
        #expect(trial.out.contains("line 2") && trial.out.contains("invalid_json"), "\(trial.out)")
        #expect(try await stage.admin("accounts", "list").out.isEmpty)

        let real = try await stage.admin("import", "-", "--from", "handstamp", input: lines, expecting: .failure)
        #expect(real.words.contains("2 created") && !real.words.contains("$2a"), "\(real.words)")
        let first = try #require(lines.split(separator: "\n").first)
        let again = try await stage.adminJSON("import", "-", "--from", "handstamp", input: String(first))
        #expect(again["unchanged"] as? Int == 1 && again["refused"] as? Int == 0)
        let shown = try await stage.admin("accounts", "show", "u-1")
        #expect(shown.out.contains(stage.email) && shown.out.contains("yes"), "\(shown.out)")

        try expectRefusal(
          try await stage.refusedAdmin("export", "-", "--with-secrets"), .usage, naming: "stdout", hint: "file")
        #expect(try await !stage.admin("export", "-").out.contains("$2a"))
        try await stage.admin("export", out, "--with-secrets")
        let text = try String(contentsOfFile: out, encoding: .utf8)
        #expect(text.contains(hash) && text.split(separator: "\n").count == 2)
        let mode = try FileManager.default.attributesOfItem(atPath: out)[.posixPermissions] as? Int
        #expect(mode == 0o600)
      }
    }
  }
}
#endif
