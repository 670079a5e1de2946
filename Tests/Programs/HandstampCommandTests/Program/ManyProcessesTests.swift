#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `Many processes on one vault` {
    @Test func `rotate once, however many ask at expiry`() async throws {
      try await ProcessFixture.run(accessTokenLife: "2s") { stage in
        try await stage.signUp(stage.first)
        _ = try await Step.twentyProcesses(stage)
      }
    }

    @Test func `carry on after one was killed between the server's commit and its own`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        _ = try await Step.lostAnswer(stage)
        _ = try await Step.killedClient(stage)
      }
    }

    @Test func `keep the session that the server keeps when two of them sign in at once`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let signIn = ["login", stage.email, "--server", stage.address.text, "--force"]
        let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
        stage.proxy.nextSignIn(.waits(isHere: isHere, goOn: goOn))
        let first = try Child(
          signIn, variables: ["HANDSTAMP_HOME": stage.first.path], input: stage.password + "\n")
        try await within(.seconds(240), "the server's response") { try await isHere.value() }
        let second = try Child(
          signIn, variables: ["HANDSTAMP_HOME": stage.first.path], input: stage.password + "\n")
        let isOver = Locked(false)
        let ending = Task {
          defer { isOver.withLock { $0 = true } }
          return try await second.outcome()
        }
        // The second one waits for its turn; otherwise, the held response would contain a session that the server has ended.
        #expect(await eventually { isOver.withLock { $0 } || has(second.id, open: ".sign-in") })
        goOn.set(())
        #expect(try await first.outcome().status == 0)
        #expect(try await ending.value.status == 0)
        let token = AccessToken(try await stage.storedToken(of: stage.first))
        #expect(try await stage.status(of: "/v1/me", with: token).status == 200)
        let sessions = try await stage.run(["sessions", "--json"], on: stage.first)
        #expect(sessions.out.split(separator: "\n").count == 1)
      }
    }

    private func has(_ process: Int32, open ending: String) -> Bool {
      let folder = "/proc/\(process)/fd"
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      return names.contains {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasSuffix(ending) == true
      }
    }

    @Test func `can sign in after one was killed between the server's response and the vault`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let signIn = ["login", stage.email, "--server", stage.address.text, "--force"]
        let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
        stage.proxy.nextSignIn(.waits(isHere: isHere, goOn: goOn))
        let killed = try Child(
          signIn, variables: ["HANDSTAMP_HOME": stage.first.path], input: stage.password + "\n")
        try await within(.seconds(240), "the server's response") { try await isHere.value() }
        let waiting = try Child(
          signIn, variables: ["HANDSTAMP_HOME": stage.first.path], input: stage.password + "\n")
        killed.send(SIGKILL)
        #expect(try await killed.outcome().status == 128 + SIGKILL)
        #expect(try await within(.seconds(240), "a sign-in") { try await waiting.outcome() }.status == 0)
        #expect(
          try await stage.status(of: "/v1/me", with: AccessToken(stage.storedToken(of: stage.first))).status == 200)
      }
    }

    @Test func `notice when one of them signs out and in again`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let client = try await stage.client(stage.first)
        #expect(try await client.controller.token().secret.count > 0)
        var states = client.controller.states.makeAsyncIterator()
        func wait(for wanted: @escaping (SessionState) -> Bool) async -> Bool {
          while let state = await states.next(isolation: nil) { if wanted(state) { return true } }
          return false
        }
        try await stage.run(["logout"], on: stage.first)
        #expect(await wait { $0 == .signedOut(.signedOut) })
        #expect(client.controller.authorizationHeader == nil)
        try await stage.login(stage.first, deviceName: "again")
        #expect(await wait { if case .signedIn = $0 { true } else { false } })
      }
    }

    @Test func `revoke a session later that could not be revoked at sign-out`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        try await stage.server.stop()
        let outcome = try await stage.run(["logout"], on: stage.first)
        #expect(outcome.words.contains("yet; the next command"))
        let status = try await stage.run(["status", "--json"], on: stage.first)
        #expect(try object(status.out)["pendingEnds"] as? Int == 1)
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        #expect(try await stage.status(of: "/v1/me", with: token).status == 200)
        let next = try await stage.run(["token"], on: stage.first, expecting: .signInNeeded)
        #expect(next.words.contains("revoked an ended session at"))
        let answer = try await stage.status(of: "/v1/me", with: token)
        #expect(answer.status == 401 && answer.reason == "signed_out")
        let entry = try await stage.entry(of: stage.first)
        #expect(entry.tombstones.allSatisfy { $0.revocation == nil })
      }
    }

    @Test func `revoke a session at a former server, and only there`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try #require(try await stage.session(of: stage.first).access?.token)
        let log = stage.folder + "/other.log"
        let other = try Child(
          ["serve", "--data", stage.folder + "/other", "--port", "0", "--until-stdin-ends"], log: log)
        let address = try await other.line()
        try await stage.server.stop()
        try await stage.run(["logout"], on: stage.first)
        try await stage.run(
          ["signup", stage.email, "--server", address], on: stage.first, input: stage.password + "\n")
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        let next = try await stage.run(["token"], on: stage.first)
        #expect(next.words.contains("revoked an ended session at \(stage.address.text)"))
        #expect(try await stage.status(of: "/v1/me", with: token).reason == "signed_out")
        #expect(try await stage.run(["token"], on: stage.first).words.isEmpty)
      }
    }
  }
}
#endif
