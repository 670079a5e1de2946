#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp agent` {
    @Test func `hands out access tokens to curl and to the command, and nothing else`() async throws {
      try await AgentFixture.run { fixture in
        let stored = try await fixture.stage.storedToken(of: fixture.stage.first)
        let answer = try await fixture.curl("/token?min_validity=1m")
        #expect(answer.status == 200, "\(answer.text)")
        let document = try object(answer.text + "\n")
        #expect(document["token"] as? String == stored && document["source"] as? String == "session")
        #expect(document["server"] as? String == fixture.stage.address.text)
        #expect(document["expiresAt"] is String && document["expiresAtEpoch"] is Int)

        #expect(try await fixture.handstamp("token").out == stored + "\n")
        let shown = try object(try await fixture.handstamp("token", "--json").out)
        #expect(shown["source"] as? String == "agent" && shown["expiresAtEpoch"] is Int)
        #expect(try await fixture.handstamp("exec", "--", "sh", "-c", "echo $HANDSTAMP_TOKEN").out == stored + "\n")
        #expect(try await fixture.handstamp("request", "/v1/me").out.contains("ada@example.org"))
        let git = try await fixture.handstamp(
          "credential-helper", "--host", "git.example.org", "get", input: "protocol=https\nhost=git.example.org\n\n")
        #expect(git.out.contains("password=" + stored) && git.out.contains("password_expiry_utc="))
        try expectRefusal(
          try await fixture.handstamp(
            "credential-helper", "aws", "--role-arn", "arn:aws:iam::123456789012:role/deploy"),
          .failure, naming: "an agent hands out no ID tokens", hint: "unset HANDSTAMP_AGENT")
        let list = try await fixture.handstamp("sessions", "--json").out
        #expect(list.contains(#""current":true"#), "the agent's session is the current one: \(list)")

        #expect(!FileManager.default.fileExists(atPath: fixture.home), "no vault is made")
        #expect(try AgentFixture.mode(of: fixture.socket) == 0o600)
        #expect(try AgentFixture.mode(of: fixture.stage.folder + "/run") == 0o700)
        let words = fixture.words
        #expect(words.contains("gave user \(getuid()) a token of ada@example.org at "), "\(words)")
        #expect(!SecretScan([stored]).finds(in: Array(words.utf8)))
      }
    }

    @Test func `never sends the refresh token or the rotation key`() async throws {
      try await AgentFixture.run(accessTokenLife: "1s") { fixture in
        let queries = ["", "?min_validity=1d", "?replacing=" + String(repeating: "0", count: 64), "?refresh_token=1"]
        var answers = ""
        for query in queries + queries {
          try await fixture.stage.expiry(of: fixture.stage.first)
          answers += await UnixClient.send(
            Array("GET /token\(query) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8), to: fixture.socket)
        }
        #expect(answers.contains("200 OK") && answers.contains("400 Bad Request"))
        let sent = fixture.stage.proxy.refreshes
        #expect(sent.count >= 5)
        let secrets = sent.flatMap { [$0.token, $0.key] + ($0.successor.map { [$0] } ?? []) }
        let scan = SecretScan(secrets.filter { !$0.isEmpty })
        #expect(!scan.finds(in: Array(answers.utf8)) && !scan.finds(in: Array(fixture.words.utf8)))
      }
    }

    @Test func `lets a hundred clients share one refresh at expiry`() async throws {
      try await AgentFixture.run(accessTokenLife: "2s") { fixture in
        try await fixture.stage.expiry(of: fixture.stage.first)
        fixture.stage.proxy.forget()
        let request = Array("GET /token HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".utf8)
        let answers = await withTaskGroup(of: String.self) { group in
          for _ in 0..<100 { group.addTask { await UnixClient.send(request, to: fixture.socket) } }
          return await group.reduce(into: [String]()) { $0.append($1) }
        }
        #expect(answers.allSatisfy { $0.hasPrefix("HTTP/1.1 200 ") })
        #expect(fixture.stage.proxy.refreshes.count == 1)
      }
    }

    @Test func `replaces a token that the server refuses, once for all commands`() async throws {
      try await AgentFixture.run(accessTokenLife: "6s") { fixture in
        // The server's own clock is the one that decides; the client believes that the token lasts.
        fixture.stage.proxy.saysTokensLast(600)
        try await fixture.stage.run(["refresh"], on: fixture.stage.first)
        let old = try await fixture.stage.storedToken(of: fixture.stage.first)
        #expect(await eventually { (try? await fixture.token()) == old }, "the agent follows the vault")
        #expect(
          await eventually {
            (try? await fixture.stage.status(of: "/v1/me", with: AccessToken(old)))?.status == 401
          })
        fixture.stage.proxy.forget()
        let outcomes = try await withThrowingTaskGroup(of: Child.Outcome.self) { group in
          for _ in 0..<4 { group.addTask { try await fixture.handstamp("request", "/v1/me") } }
          return try await group.reduce(into: [Child.Outcome]()) { $0.append($1) }
        }
        #expect(outcomes.allSatisfy { $0.status == 0 && $0.out.contains("ada@example.org") }, "\(outcomes)")
        #expect(fixture.stage.proxy.refreshes.count == 1)
        #expect(try await fixture.token() != old)
      }
    }

    @Test func `does not replace a token that was just issued`() async throws {
      try await AgentFixture.run { fixture in
        // One that was issued a moment ago is not replaced.
        try await fixture.stage.run(["refresh"], on: fixture.stage.first)
        fixture.stage.proxy.forget()
        let digest = AgentSession.digest(of: AccessToken(try await fixture.token()))
        let answer = try await fixture.curl("/token?replacing=" + digest)
        #expect(answer.status == 500 && answer.text.contains("token_rejected"), "\(answer.text)")
        #expect(fixture.stage.proxy.refreshes.isEmpty)
      }
    }

    @Test func `says that the session has ended, and works again after a sign-in`() async throws {
      try await AgentFixture.run { fixture in
        _ = try await fixture.token()
        try await fixture.stage.run(["logout"], on: fixture.stage.first)
        #expect(await eventually { (try? await fixture.curl().status) == 401 })
        let refused = try await fixture.handstamp("token", "--json")
        try expectRefusal(
          refused, .signInNeeded, code: "signed_out", naming: "the agent refused", hint: "run: handstamp login")
        try await fixture.stage.login(fixture.stage.first, deviceName: "again")
        let token = try await fixture.token()
        #expect(token == (try await fixture.stage.storedToken(of: fixture.stage.first)))
        #expect(try await fixture.stage.status(of: "/v1/me", with: AccessToken(token)).status == 200)
      }
    }

    @Test func `takes the place of a vault only where none is needed`() async throws {
      try await AgentFixture.run { fixture in
        for verb in ["login", "logout", "signup", "refresh", "watch"] {
          try expectRefusal(
            try await fixture.handstamp(verb), .failure, naming: "HANDSTAMP_AGENT", hint: "unset HANDSTAMP_AGENT")
        }
        for options in [["--scope", "read"], ["--id-token"], ["--account", "ada"]] {
          let outcome = try await ProcessFixture.handstamp(
            ["token"] + options, home: fixture.home, variables: ["HANDSTAMP_AGENT": fixture.socket])
          try expectRefusal(outcome, .failure, naming: "HANDSTAMP_AGENT", hint: "unset HANDSTAMP_AGENT")
        }
        try expectRefusal(
          try await fixture.handstamp("credential-helper", "kubectl"), .failure, naming: "no ID tokens",
          hint: "--access-token")
        let both = try await ProcessFixture.handstamp(
          ["token"], home: fixture.home,
          variables: ["HANDSTAMP_AGENT": fixture.socket, "HANDSTAMP_TOKEN": "from-elsewhere"])
        #expect(both.out == "from-elsewhere\n")
        #expect(!FileManager.default.fileExists(atPath: fixture.home))
      }
    }

    @Test func `removes its socket at the end of its time and by a signal, and is replaced after a kill`() async throws
    {
      try await AgentFixture.run(["--for", "2s"]) { fixture in
        let ended = try await within(.seconds(240), "the end of its time") { try await fixture.agent.outcome() }
        #expect(ended.status == 0 && !FileManager.default.fileExists(atPath: fixture.socket))
        try expectRefusal(
          try await fixture.handstamp("token"), .network, naming: "no agent answers", hint: "handstamp agent")
        for signal in [SIGTERM, SIGINT, SIGQUIT] {
          let next = try await fixture.stage.agent(at: fixture.socket)
          _ = try await next.token()
          next.agent.send(signal)
          let over = try await within(.seconds(240), "the end by signal \(signal)") { try await next.agent.outcome() }
          #expect(over.status == 128 + signal)
          #expect(!FileManager.default.fileExists(atPath: fixture.socket))
        }
        let killed = try await fixture.stage.agent(at: fixture.socket)
        killed.agent.send(SIGKILL)
        _ = try await killed.agent.outcome()
        #expect(FileManager.default.fileExists(atPath: fixture.socket), "a stale socket is left")
        let last = try await fixture.stage.agent(at: fixture.socket)
        _ = try await last.token()
      }
    }

    @Test func `needs a session of this machine, and a policy that can be asked`() async throws {
      try await ProcessFixture.inFolder { folder in
        let none = try await ProcessFixture.handstamp(["agent", "--socket", folder + "/a"], home: folder + "/home")
        try expectRefusal(none, .signInNeeded, hint: "run: handstamp login")
        let ask = try await ProcessFixture.handstamp(
          ["agent", "--ask", "--socket", folder + "/a"], home: folder + "/home")
        try expectRefusal(ask, .usage, naming: "no terminal", hint: "--ask-program")
        let chain = try await ProcessFixture.handstamp(
          ["agent", "--socket", folder + "/a"], home: folder + "/home", variables: ["HANDSTAMP_AGENT": folder + "/b"])
        try expectRefusal(chain, .failure, naming: "HANDSTAMP_AGENT", hint: "unset")
      }
    }
  }
}
#endif
