#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `A session at a terminal` {
    @Test func `goes from sign-up to sign-out, each step in its own process`() async throws {
      try await ProcessFixture.run { stage in
        let begun = try await stage.run(
          ["signup", stage.email, "--server", stage.address.text, "--name", "Ada L", "--device-name", "my laptop"],
          on: stage.first, input: stage.password + "\n")
        #expect(begun.out.isEmpty)
        let words = begun.words.split(separator: "\n")
        #expect(words.first ?? "" == "signed in as Ada L at \(stage.address.text)")
        #expect(words.count == 2 && words[1].contains("vault key is in a file"), "once: \(words)")
        let token = try await stage.run(["token"], on: stage.first)
        #expect(token.out == (try await stage.storedToken(of: stage.first)) + "\n")
        #expect(token.words.isEmpty)
        let answer = try await stage.run(["request", "/v1/me"], on: stage.first)
        #expect(answer.out.contains(#""email":"ada@example.org""#))
        let sessions = try await stage.run(["sessions"], on: stage.first)
        #expect(sessions.out.contains("my laptop"))
        #expect(sessions.out.split(separator: "\n").count == 2)
        let over = try await stage.run(["logout"], on: stage.first)
        #expect(over.out.isEmpty && over.words == "signed out Ada L\n")
        try expectRefusal(
          try await stage.run(["token", "--json"], on: stage.first, expecting: .signInNeeded), .signInNeeded,
          code: "signed_out", hint: "handstamp login")
        let again = try await stage.run(["login", stage.email], on: stage.first, input: stage.password + "\n")
        #expect(again.words == "signed in as Ada L at \(stage.address.text)\n", "the server is remembered")
      }
    }

    @Test func `prints JSON with a version, lists, both time formats, and a token only on request`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await stage.storedToken(of: stage.first)
        for command in ["status", "token", "sessions"] {
          let text = try await stage.run([command, "--json"], on: stage.first).out
          let json = try object(text)
          #expect(json["schemaVersion"] as? Int == 1)
          #expect(text.contains(token) == (command == "token"))
        }
        let status = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect(status["state"] as? String == "signed_in")
        #expect(status["pendingEnds"] as? Int == 0)
        #expect((status["account"] as? [String: String])?["name"] == "ada")
        let access = try #require(status["accessToken"] as? [String: Any])
        #expect(access["state"] as? String == "valid")
        let epoch = try #require(access["expiresAtEpoch"] as? Int)
        #expect(abs(Double(epoch) - Date.now.timeIntervalSince1970 - 600) < 60)
        let text = try #require(access["expiresAt"] as? String)
        #expect(try Date(text, strategy: .iso8601).timeIntervalSince1970 == Double(epoch))
        let list = try object(try await stage.run(["sessions", "--json"], on: stage.first).out)
        let items = try #require(list["sessions"] as? [[String: Any]])
        #expect(items.map { $0["current"] as? Bool } == [true])
        #expect(items.first?["createdAt"] is String && items.first?["createdAtEpoch"] is Int)
        let answer = try object(try await stage.run(["request", "/v1/me", "--json"], on: stage.first).out)
        #expect(answer["status"] as? Int == 200)
        #expect(answer["headers"] is [[String: String]])
        #expect((answer["body"] as? String)?.contains("ada@example.org") == true)
      }
    }

    @Test func `lists every device, and ends one, the others, or all`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.login(stage.second, deviceName: "other")
        let second = try await stage.session(of: stage.second).id.rawValue
        #expect(try await stage.run(["sessions"], on: stage.first).out.contains(second))
        try await stage.run(["revoke", second], on: stage.first)
        try expectRefusal(
          try await stage.run(["request", "/v1/me", "--json"], on: stage.second, expecting: .signInNeeded),
          .signInNeeded, code: "session_ended", hint: "handstamp login")
        try expectRefusal(
          try await stage.run(["revoke", "nobody"], on: stage.first, expecting: .failure), .failure,
          naming: "nobody", hint: "handstamp sessions")
        for id in ["-zLijXEnP5rIyuVHXGqpzw", "-hLijXEnP5rIyuVHXGqpzg", "--others_5rIyuVHXGqpzw"] {
          try expectRefusal(
            try await stage.run(["revoke", id, "--account", "ada"], on: stage.first, expecting: .failure), .failure,
            naming: id, hint: "handstamp sessions")
        }
        try await stage.login(stage.second, deviceName: "other")
        #expect(try await stage.run(["revoke", "--others"], on: stage.first).words.contains("ended 1 other"))
        try await stage.login(stage.second, deviceName: "other")
        #expect(try await stage.run(["revoke", "--all"], on: stage.first).words.contains("ended 2"))
        #expect(try await stage.entry(of: stage.first).session == nil)
        try await stage.run(["status", "--check"], on: stage.first, expecting: .signInNeeded)
        for wrong in [["revoke"], ["revoke", "x", "--all"], ["revoke", "--others", "--all"]] {
          try expectRefusal(
            try await stage.run(wrong, on: stage.second, expecting: .usage), .usage, naming: "--others",
            hint: "handstamp sessions")
        }
      }
    }

    @Test func `can be started twice and ended twice`() async throws {
      try await ProcessFixture.run { stage in
        let none = try await stage.run(["logout"], on: stage.first)
        #expect(none.words == "not signed in\n")
        try await stage.signUp(stage.first)
        let session = try await stage.session(of: stage.first).id
        let again = try await stage.run(["login", "ADA@example.org"], on: stage.first)
        #expect(again.words.contains("already"), "it does not ask for a password")
        #expect(try await stage.run(["login"], on: stage.first).words.contains("already"))
        #expect(try await stage.session(of: stage.first).id == session)
        try await stage.run(["login", stage.email, "--force"], on: stage.first, input: stage.password + "\n")
        #expect(try await stage.session(of: stage.first).id != session)
        let sessions = try await stage.run(["sessions"], on: stage.first)
        #expect(sessions.out.split(separator: "\n").count == 2, "the same device has one session")
        try await stage.run(["logout"], on: stage.first)
        try await stage.run(["logout"], on: stage.first)
      }
    }

    @Test func `says that its folder is missing if there ever was one`() async throws {
      try await ProcessFixture.run { stage in
        let state = stage.folder + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: true)
        let server = stage.address.text
        let (email, password) = (stage.email, stage.password)
        func handstamp(_ arguments: String..., input: String = "") async throws -> Child.Outcome {
          let child = try Child(arguments, variables: ["HOME": state, "XDG_STATE_HOME": state], input: input)
          return try await within(.seconds(240), arguments.joined(separator: " ")) { try await child.outcome() }
        }
        try expectRefusal(
          try await handstamp("token", "--json"), .signInNeeded, code: "signed_out", hint: "handstamp login")
        let begun = try await handstamp("signup", email, "--server", server, input: password + "\n")
        #expect(begun.status == 0, "\(begun.words)")
        // Its disk is unmounted.
        try FileManager.default.moveItem(atPath: state + "/handstamp", toPath: state + "/elsewhere")
        try expectRefusal(
          try await handstamp("token", "--json"), .vault, code: "storage_unavailable", naming: "is missing",
          hint: "handstamp doctor")
        #expect(!FileManager.default.fileExists(atPath: state + "/handstamp"))
        try FileManager.default.moveItem(atPath: state + "/elsewhere", toPath: state + "/handstamp")
        #expect(try await handstamp("token").status == 0)
        // Lost for good: the message says what to do.
        try FileManager.default.removeItem(atPath: state + "/handstamp")
        let refused = try await handstamp("login", email, "--server", server, input: password + "\n")
        #expect(refused.words.contains("remove \(state)/.handstamp.vault if it is lost"), "\(refused.words)")
        try FileManager.default.removeItem(atPath: state + "/.handstamp.vault")
        let again = try await handstamp("login", email, "--server", server, input: password + "\n")
        #expect(again.status == 0, "\(again.words)")
        #expect(try await handstamp("token").status == 0)
      }
    }

    @Test func `keeps two homes apart, and leaves nothing outside of them`() async throws {
      try await ProcessFixture.run { stage in
        let user = stage.folder + "/user"
        try FileManager.default.createDirectory(atPath: user, withIntermediateDirectories: true)
        let elsewhere = ["HOME": user, "XDG_STATE_HOME": user + "/state"]
        for (home, arguments) in [(stage.first, ["signup"]), (stage.second, ["login"])] {
          let outcome = try await ProcessFixture.handstamp(
            arguments + [stage.email, "--server", stage.address.text], home: home.path,
            input: stage.password + "\n", variables: elsewhere)
          #expect(outcome.status == 0)
        }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: user).isEmpty)
        #expect(try stage.first.device() != stage.second.device(), "two homes are two devices")
        let mode = try FileManager.default.attributesOfItem(atPath: stage.first.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        try await stage.run(["logout"], on: stage.first)
        try await stage.run(["request", "/v1/me"], on: stage.second)
        let device = try stage.first.device()
        try await stage.login(stage.first, deviceName: "again")
        #expect(try stage.first.device() == device, "a device ID is created once")
      }
    }
  }
}
#endif
