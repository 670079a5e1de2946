#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `A refusal` {
    @Test(arguments: [
      (["bogus"], "bogus", "handstamp --help"), (["token", "--min-validity", "5"], "'5'", "token --help"),
      (["login", "a@b.c", "--password", "x"], "'--password'", "login --help"),
      (["request"], "'<place>'", "request --help"),
      (["login", "a@b.c", "--server", "ftp://x"], "\"ftp://x\"", "http://127.0.0.1"),
      (["login", "a@b.c", "--server", "http://example.org"], "plain HTTP", "https"),
      (["login", "a@b.c", "--server", "https://u:p@example.org"], "user", "https"),
      (["login", "a@b.c"], "server", "--server"),
    ])
    func `for wrong usage exits with 64 and names the argument`(
      arguments: [String], part: String, hint: String
    ) async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(arguments, home: folder + "/home")
        try expectRefusal(outcome, .usage, naming: part, hint: hint)
      }
    }

    @Test(arguments: ["token", "request", "sessions", "revoke", "status"])
    func `without a session exits with 4`(command: String) async throws {
      try await ProcessFixture.inFolder { folder in
        let arguments = ["request": ["/v1/me", "--json"], "revoke": ["--all"], "status": ["--check"]]
        let outcome = try await ProcessFixture.handstamp(
          [command] + (arguments[command] ?? ["--json"]), home: folder + "/home")
        #expect(outcome.status == 4)
        if command != "status" {
          try expectRefusal(
            outcome, .signInNeeded, code: command == "revoke" ? nil : "signed_out", hint: "handstamp login")
        }
        #expect(!FileManager.default.fileExists(atPath: folder + "/home"), "reading creates nothing")
      }
    }

    @Test func `of a password reveals neither which part was wrong nor the password`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        for email in [stage.email, "nobody@example.org"] {
          let outcome = try await stage.run(
            ["login", email, "--server", stage.address.text], on: stage.second, input: "wrong password\n",
            expecting: .failure)
          try expectRefusal(outcome, .failure, hint: "try again, or run: handstamp signup")
          #expect(!outcome.words.contains("wrong password\n"))
        }
        let empty = try await stage.run(
          ["login", stage.email, "--server", stage.address.text], on: stage.second, expecting: .usage)
        try expectRefusal(empty, .usage, naming: "stdin", hint: "pipe the password in")
        let taken = try await stage.run(
          ["signup", stage.email, "--server", stage.address.text], on: stage.second, input: stage.password,
          expecting: .failure)
        try expectRefusal(taken, .failure, hint: "run: handstamp login")
        let weak = try await stage.run(
          ["signup", "b@example.org", "--server", stage.address.text], on: stage.second, input: "short",
          expecting: .failure)
        try expectRefusal(weak, .failure, hint: "8 to 1024")
      }
    }

    @Test func `for a network failure exits with 6 and keeps the session`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.server.stop()
        try expectRefusal(
          try await stage.run(["request", "/v1/me", "--json"], on: stage.first, expecting: .network), .network,
          code: "connection_lost", naming: stage.address.text, hint: "try again")
        let login = try await stage.run(
          ["login", stage.email, "--server", "http://127.0.0.1:9"], on: stage.second, input: "password\n",
          expecting: .network)
        try expectRefusal(login, .network, naming: "http://127.0.0.1:9", hint: "try again")
        let token = try await stage.run(["token"], on: stage.first)
        #expect(!token.out.isEmpty, "a valid token needs no network")
      }
    }

    @Test func `for an unusable vault exits with 5 and erases nothing`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let folder = stage.first.vaultFolder
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder)
        try expectRefusal(
          try await stage.run(["token", "--json"], on: stage.first, expecting: .vault), .vault,
          code: "storage_permissions", hint: "run: handstamp doctor --fix")
        let status = try await stage.run(["status", "--json"], on: stage.first, expecting: .vault)
        #expect(try object(status.out)["state"] as? String == "unavailable")
        #expect(status.words.contains("hint: run: handstamp doctor --fix"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder)
        try await stage.run(["token"], on: stage.first)

        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
        let vault = try #require(names.first { $0.hasSuffix(".vault") })
        let content = try #require(FileManager.default.contents(atPath: "\(folder)/\(vault)"))
        try content.dropLast(40).write(to: URL(fileURLWithPath: "\(folder)/\(vault)"))
        try expectRefusal(
          try await stage.run(["token", "--json"], on: stage.first, expecting: .vault), .vault,
          code: "storage_corrupt", hint: "run: handstamp login")
        try await stage.login(stage.first, deviceName: "healed")
        try await stage.run(["request", "/v1/me"], on: stage.first)
        #expect(
          try FileManager.default.contentsOfDirectory(atPath: folder).contains { $0.contains("corrupt") },
          "the damaged file was set aside")
      }
    }

    @Test func `never replaces help`() async throws {
      try await ProcessFixture.inFolder { folder in
        try Data("not json".utf8).write(to: URL(fileURLWithPath: folder + "/settings.json"))
        for arguments in [["--help"], ["help", "login"], ["token", "--help"]] {
          let outcome = try await ProcessFixture.handstamp(arguments, home: folder)
          #expect(outcome.status == 0 && !outcome.out.isEmpty)
        }
        for columns in ["0", "-1", "26", "39"] {
          let narrow = try await ProcessFixture.handstamp(
            ["token", "--help"], home: folder, variables: ["COLUMNS": columns])
          #expect(narrow.status == 0 && narrow.out.contains("--min-validity"), "\(columns)")
        }
        let help = try await ProcessFixture.handstamp(["--help"], home: folder)
        for code in ["4   sign-in needed", "5   vault locked", "6   no answer", "64  usage error"] {
          #expect(help.out.contains(code))
        }
        try expectRefusal(
          try await ProcessFixture.handstamp(["status", "--json"], home: folder), .failure, code: "failed",
          naming: "settings.json", hint: "run: handstamp doctor --fix")
      }
    }

    @Test func `keeps the token at its own origin, and protects its header`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let other = "http://127.0.0.1:\(try #require(stage.server.address?.split(separator: ":").last))"
        for place in [other + "/v1/me", "http://example.org/", "https" + stage.address.text.dropFirst(4) + "/v1/me"] {
          try expectRefusal(
            try await stage.run(["request", place, "--json"], on: stage.first, expecting: .usage), .usage,
            code: "usage", naming: stage.address.text, hint: "curl")
        }
        try expectRefusal(
          try await stage.run(
            ["request", "-H", "Authorization: Bearer x", "/v1/me", "--json"], on: stage.first, expecting: .usage),
          .usage, code: "usage", hint: "HANDSTAMP_TOKEN")
        try await stage.run(["request", stage.address.text + "/v1/me"], on: stage.first)
        let missing = try await stage.run(["request", "/none"], on: stage.first, expecting: .failure)
        let problem = try JSONSerialization.jsonObject(with: Data(missing.out.utf8)) as? [String: Any]
        #expect(problem?["code"] as? String == "not_found", "the body is data")
        #expect(missing.words.contains("404"))
        let posted = try await stage.run(
          ["request", "/v1/sessions/end-others", "-d", "-"], on: stage.first, input: "{}")
        #expect(posted.out.contains(#""ended":0"#), "data means POST")
      }
    }
  }
}
#endif
