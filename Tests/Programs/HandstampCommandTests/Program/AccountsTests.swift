#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension TourFixture {
  /// Creates another account.
  func signUp(_ home: Home, email: String, _ more: String...) async throws {
    try await run(["signup", email, "--server", address.text] + more, on: home, input: password + "\n")
  }

  /// The email address of the account that a command uses.
  func person(_ home: Home, _ arguments: String..., variables: [String: String] = [:]) async throws -> String {
    let outcome = try await ProcessFixture.handstamp(
      ["request", "/v1/me"] + arguments, home: home.path, variables: variables)
    #expect(outcome.status == 0, "\(outcome.words)")
    return try #require(try JSONDecoder().decode(WhoAmI.self, from: Data(outcome.out.utf8)).email)
  }
}

extension Processes {
  @Suite struct `Several accounts` {
    private let ada = "ada@example.org"
    private let bob = "bob@example.org"

    @Test func `coexist; one is active, and any can be named`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let second = try await stage.run(
          ["signup", bob, "--tag", "work"], on: stage.first, input: stage.password + "\n")
        #expect(second.words.contains("it is now the active account; to go back, run: handstamp switch \(ada)"))
        #expect(try await stage.person(stage.first) == bob)
        for name in [ada, "ADA@example.org", "ada"] {
          #expect(try await stage.person(stage.first, "--account", name) == ada)
        }
        #expect(try await stage.person(stage.first, variables: ["HANDSTAMP_ACCOUNT": "ada"]) == ada)
        #expect(
          try await stage.person(stage.first, "--account", "work", variables: ["HANDSTAMP_ACCOUNT": "ada"]) == bob,
          "the command line takes precedence")
        #expect(try await stage.person(stage.first) == bob, "naming one does not make it the active one")

        try await stage.run(["switch", "ada"], on: stage.first)
        #expect(try await stage.person(stage.first) == ada)
        let list = try object(try await stage.run(["accounts", "--json"], on: stage.first).out)
        let items = try #require(list["accounts"] as? [[String: Any]])
        #expect(items.map { $0["name"] as? String } == [ada, bob])
        #expect(items.map { $0["tag"] as? String } == [nil, "work"])
        #expect(items.map { $0["active"] as? Bool } == [true, false])
        #expect(items.map { $0["state"] as? String } == ["signed_in", "signed_in"])
        #expect(list["active"] as? String == items.first?["id"] as? String)
        let id = try #require((items.last?["account"] as? [String: String])?["id"])
        #expect(try await stage.person(stage.first, "--account", id) == bob)
        #expect(try await stage.person(stage.first, "--account", try #require(items.last?["id"] as? String)) == bob)
        let shown = try await stage.run(["accounts"], on: stage.first).out.split(separator: "\n")
        #expect(shown.count == 3)
        #expect(shown.filter { $0.hasPrefix("*") }.map { $0.contains(ada) } == [true])
        let status = try object(try await stage.run(["status", "--json", "--account", "work"], on: stage.first).out)
        #expect(status["name"] as? String == bob && status["tag"] as? String == "work")
      }
    }

    @Test func `are described as JSON by signup and login, as by status`() async throws {
      try await ProcessFixture.run { stage in
        let created = try await stage.run(
          ["signup", ada, "--server", stage.address.text, "--json"], on: stage.first, input: stage.password + "\n")
        let status = try await stage.run(["status", "--json"], on: stage.first)
        #expect(try Set(object(created.out).keys) == Set(object(status.out).keys))
        #expect(created.words.contains("signed in as"), "messages stay on stderr")
        #expect((try object(created.out)["account"] as? [String: String])?["id"]?.isEmpty == false)
        let known = try await stage.run(["login", ada, "--tag", "work", "--json"], on: stage.first)
        #expect(try object(known.out)["tag"] as? String == "work", "already signed in")
        let again = try await stage.run(
          ["login", ada, "--force", "--json"], on: stage.first, input: stage.password + "\n")
        let entry = try object(again.out)
        #expect(entry["state"] as? String == "signed_in" && entry["name"] as? String == ada)
        let refused = try await stage.run(
          ["login", ada, "--force", "--json"], on: stage.first, input: "wrong password\n", expecting: .failure)
        try expectRefusal(refused, .failure, code: "wrong_credentials", naming: "wrong", hint: "try again")
      }
    }

    @Test func `of which another has a revocation pending get it delivered by any command`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        try await stage.signUp(stage.first, email: bob)
        try await stage.server.stop()
        try await stage.run(["logout", "--account", "ada"], on: stage.first)
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        let next = try await stage.run(["token"], on: stage.first)
        #expect(next.words.contains("revoked an ended session at \(stage.address.text)"))
        #expect(try await stage.status(of: "/v1/me", with: token).reason == "signed_out")
        #expect(try await stage.run(["token"], on: stage.first).words.isEmpty, "nothing is left to deliver")
      }
    }

    @Test func `get a pending revocation delivered although the settings are damaged`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        try await stage.server.stop()
        try await stage.run(["logout"], on: stage.first)
        try Data("{".utf8).write(to: URL(fileURLWithPath: stage.first.settingsPath))
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        let next = try await stage.run(["token"], on: stage.first, expecting: .failure)
        #expect(next.words.contains("revoked an ended session at \(stage.address.text)"))
        #expect(try await stage.status(of: "/v1/me", with: token).reason == "signed_out")
      }
    }

    @Test func `that are missing or ambiguous are refused with the choices`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try expectRefusal(
          try await stage.run(["token", "--account", "eve", "--json"], on: stage.first, expecting: .usage), .usage,
          code: "usage", naming: "eve", hint: "choose one of: \(ada)")
        try await stage.signUp(stage.first, email: "ada@example.com", "--tag", "other")
        try expectRefusal(
          try await stage.run(["switch", "ada"], on: stage.first, expecting: .usage), .usage, naming: "ada",
          hint: "\(ada), other")
        let hidden = try await ProcessFixture.handstamp(
          ["switch", ada], home: stage.first.path, variables: ["HANDSTAMP_ACCOUNT": "other"])
        try expectRefusal(hidden, .failure, naming: "HANDSTAMP_ACCOUNT", hint: "unset HANDSTAMP_ACCOUNT")
        for tag in ["two words", "-x", "\u{1B}[2J"] {
          let outcome = try await stage.run(["login", "--tag=\(tag)"], on: stage.first, expecting: .usage)
          try expectRefusal(outcome, .usage, naming: "tag", hint: "single word")
        }
      }
    }

    @Test func `at several servers share one home, and no token goes to the wrong server`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let other = try Child(
          ["serve", "--data", stage.folder + "/other", "--port", "0", "--until-stdin-ends"],
          log: stage.folder + "/other.log")
        let address = try await other.line()
        try await stage.run(["signup", ada, "--server", address], on: stage.first, input: stage.password + "\n")
        try expectRefusal(
          try await stage.run(["token", "--account", ada, "--json"], on: stage.first, expecting: .usage), .usage,
          code: "usage", naming: ada, hint: "choose one of")
        try expectRefusal(
          try await stage.run(
            ["request", stage.address.text + "/v1/me", "--json"], on: stage.first, expecting: .usage),
          .usage, code: "usage", naming: address, hint: "curl")
        let list = try object(try await stage.run(["accounts", "--json"], on: stage.first).out)
        let ids = try #require(list["accounts"] as? [[String: Any]]).compactMap { $0["id"] as? String }
        try await stage.run(["switch", ids[0]], on: stage.first)
        try await stage.run(["request", stage.address.text + "/v1/me"], on: stage.first)
        #expect(try await stage.run(["token", "--account", ids[1]], on: stage.first).out.isEmpty == false)
      }
    }

    @Test func `can be signed in to again by name, without switching, and tagged by a redundant sign-in`()
      async throws
    {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.signUp(stage.first, email: bob, "--no-switch")
        #expect(try await stage.person(stage.first) == ada)
        try await stage.run(["logout", "--account", "bob"], on: stage.first)
        #expect(try await stage.person(stage.first) == ada, "no other account was signed out")
        try expectRefusal(
          try await stage.run(["token", "--account", "bob", "--json"], on: stage.first, expecting: .signInNeeded),
          .signInNeeded, code: "signed_out", hint: "run: handstamp login --account bob")
        try await stage.run(
          ["login", "--account", "bob", "--no-switch"], on: stage.first, input: stage.password + "\n")
        #expect(try await stage.person(stage.first, "--account", "bob") == bob)
        #expect(try await stage.person(stage.first) == ada)
        let known = try await stage.run(["login", bob, "--tag", "b"], on: stage.first)
        #expect(known.words.contains("already"))
        #expect(try await stage.person(stage.first) == bob, "signing in makes it the active account")
        #expect(try await stage.person(stage.first, "--account", "b") == bob)
        try expectRefusal(
          try await stage.run(["login", "--tag", "home"], on: stage.first, expecting: .usage), .usage, naming: "email",
          hint: "handstamp login EMAIL")
        #expect(
          try await stage.person(stage.first, "--account", "b") == bob, "a new tag without an address is another's")
        try expectRefusal(
          try await stage.run(["login", bob, "--force"], on: stage.first, input: "wrong\n", expecting: .failure),
          .failure, hint: "try again, or run: handstamp signup")
        #expect(try await stage.person(stage.first) == bob, "a failed sign-in changes nothing")
      }
    }

    @Test func `can be signed out singly or together, erased, or ended on every device`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.signUp(stage.first, email: bob)
        try await stage.login(stage.second, as: bob, deviceName: "other")
        let ended = try await stage.run(["logout", "--everywhere"], on: stage.first)
        #expect(ended.words.contains("ended 1 other session(s)") && ended.words.contains("signed out bob"))
        try expectRefusal(
          try await stage.run(["request", "/v1/me", "--json"], on: stage.second, expecting: .signInNeeded),
          .signInNeeded, code: "session_ended", hint: "login")
        let erased = try await stage.run(["logout", "--account", "bob", "--erase"], on: stage.first)
        #expect(erased.words.contains("removed \(bob) at"))
        #expect(!(try await stage.run(["accounts"], on: stage.first).out.contains("bob")))
        try expectRefusal(
          try await stage.run(["token", "--json"], on: stage.first, expecting: .signInNeeded), .signInNeeded,
          code: "sign_in_needed", naming: ada, hint: "handstamp switch NAME")
        #expect(try await stage.person(stage.first, "--account", ada) == ada)
        try await stage.signUp(stage.first, email: "carol@example.org")
        try await stage.run(["logout", "--all"], on: stage.first)
        let list = try object(try await stage.run(["accounts", "--json"], on: stage.first).out)
        let items = try #require(list["accounts"] as? [[String: Any]])
        #expect(items.map { $0["state"] as? String } == ["signed_out", "signed_out"])
        #expect(items.map { $0["reason"] as? String } == ["signed_out", "signed_out"])
        try expectRefusal(
          try await stage.run(["logout", "--all", "--account", "ada"], on: stage.first, expecting: .usage), .usage,
          naming: "--all", hint: "drop")
      }
    }

    @Test func `erased offline are revoked later`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        try await stage.server.stop()
        let outcome = try await stage.run(["logout", "--erase"], on: stage.first)
        #expect(outcome.words.contains("cannot revoke the session at"))
        #expect(try await stage.run(["accounts"], on: stage.first).words.contains("no accounts on this device"))
        #expect(try await stage.first.accounts.read().get().leaving.count == 1, "its revocation is still pending")
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        #expect(try await stage.status(of: "/v1/me", with: token).status == 200)
        #expect(try await stage.run(["accounts"], on: stage.first).words.contains("revoked an ended session at"))
        #expect(try await stage.status(of: "/v1/me", with: token).reason == "signed_out")
        #expect(try await stage.first.accounts.read().get().leaving.isEmpty)
      }
    }

    @Test(arguments: ["damaged", "missing"])
    func `erased offline are revoked even if the list of accounts is damaged or gone`(state: String) async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        try await stage.server.stop()
        try await stage.run(["logout", "--erase"], on: stage.first)
        let doctor = try await stage.run(["doctor"], on: stage.first)
        #expect(doctor.out.contains("1 removed account(s) may still have a revocation pending"))
        let path = "\(stage.first.vaultFolder)/\(FileAccountsStore.fileName)"
        if state == "missing" {
          try FileManager.default.removeItem(atPath: path)
        } else {
          var list = try String(contentsOfFile: path, encoding: .utf8)
          list.removeLast(2)
          try Data(list.utf8).write(to: URL(fileURLWithPath: path))
        }
        _ = try await ProcessFixture.handstamp(["doctor", "--fix"], home: stage.first.path)
        let rebuilt = try await stage.first.accounts.read().get()
        #expect(rebuilt.accounts.isEmpty && rebuilt.leaving.count == 1)
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        #expect(try await stage.run(["accounts"], on: stage.first).words.contains("revoked an ended session at"))
        #expect(try await stage.status(of: "/v1/me", with: token).reason == "signed_out")
        #expect(try await stage.first.accounts.read().get().leaving.isEmpty)
      }
    }

    #if os(Linux)
    @Test func `signed in to while being erased stay on the list, with the new session`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        // Meanwhile it waits for the server, after changing the vault and before changing the list.
        stage.server.send(SIGSTOP)
        let erasing = try Child(["logout", "--erase"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
        try await within(.seconds(240), "the sign-out") {
          while try await stage.entry(of: stage.first).session != nil {}
        }
        try await stop(erasing, in: stage.first)
        stage.server.send(SIGCONT)
        try await stage.login(stage.first, deviceName: "laptop")
        erasing.send(SIGCONT)
        let outcome = try await within(.seconds(240), "logout") { try await erasing.outcome() }
        #expect(outcome.status == 0 && outcome.words.contains("was signed in to again meanwhile"), "\(outcome.words)")
        #expect(try await stage.person(stage.first) == stage.email)
      }
    }

    /// Stops a process where it holds no lock that others need.
    private func stop(_ child: Child, in home: Home) async throws {
      let names = try FileManager.default.contentsOfDirectory(atPath: home.vaultFolder)
      try await within(.seconds(240), "a moment without a lock") {
        while true {
          child.send(SIGSTOP)
          try await Step.until("the stop") { LockHolder.isStopped(child.id) }
          let holders = names.flatMap { LockHolder.all(of: "\(home.vaultFolder)/\($0)") ?? [] }
          if !holders.contains(where: { $0.process == child.id }) { return }
          child.send(SIGCONT)
        }
      }
    }
    #endif
  }
}
#endif
