#if Programs
import Foundation
import HandstampAsyncHTTP
import HandstampCore
import HandstampVaults
import Testing

@testable import HandstampCommand

/// The command as a client of Authlib's server, each step as at a terminal.
@Suite(.serialized) struct `The command at an OAuth server of others` {
  private struct Terminal: Sendable {
    let home: String
    let server: IndependentServer

    func run(
      _ words: String, input: String = "", variables: [String: String] = [:]
    ) async throws -> Child.Outcome {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Independent")
      let all = ["HANDSTAMP_HOME": home, "BROWSER": folder.appendingPathComponent("browser.py").path]
      let child = try Child(
        words.split(separator: " ").map(String.init), variables: all.merging(variables) { $1 }, input: input)
      return try await child.outcome()
    }

    func get(_ path: String, token: String? = nil) async throws -> (status: Int, object: [String: Any]) {
      let headers = token.map { [HeaderField("Authorization", "Bearer \($0)")] } ?? []
      let answer = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + path, headers: headers))
      let object = (try? JSONSerialization.jsonObject(with: Data(answer.body))) as? [String: Any] ?? [:]
      return (answer.status, object)
    }

    func count(_ name: String) async throws -> Int? { try await get("/counts").object[name] as? Int }

    /// Lets the access token in the vault be over, as if its life had passed.
    func expire() async throws {
      let issuer = try ServerAddress(parsing: server.url)
      let vault = Home(path: home).vault(of: Account.id(of: AccountID("user-1"), at: issuer))
      guard case .value(let entry) = await vault.read(), let session = entry.session, let token = session.refresh,
        let access = session.access
      else { throw Program.Failed(description: "nobody is signed in") }
      let over = StoredAccess(token: access.token, lifetime: Lifetime(start: SystemClock().now(), duration: .zero))
      let outcome = await vault.edit(.advance(session.id, sent: token, to: token, access: over, profile: nil))
      guard case .done = outcome else { throw Program.Failed(description: "\(outcome)") }
    }
  }

  private func atTerminal(
    _ options: [String], _ body: @Sendable (Terminal) async throws -> Void
  ) async throws {
    let home = NSTemporaryDirectory() + "handstamp-oauth-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: home) }
    try await IndependentServer.run(options) { try await body(Terminal(home: home, server: $0)) }
  }

  @Test(arguments: ["--rotate", "--replace"])
  func `signs in by the browser, gives tokens, refreshes once for twenty, and signs out`(_ option: String) async throws
  {
    try await atTerminal([option]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      #expect(login.out.isEmpty)
      #expect(login.words.contains("open \(terminal.server.url)/authorize?response_type=code"))
      #expect(login.words.contains("signed in as Ada Lovelace at \(terminal.server.url)"))
      let first = try await terminal.run("token")
      let token = String(first.out.dropLast())
      #expect(try await terminal.get("/me", token: token).status == 200)

      try await terminal.expire()
      let outcomes = try await withThrowingTaskGroup(of: Child.Outcome.self) { group in
        for _ in 0..<20 { group.addTask { try await terminal.run("token") } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes.map(\.words))")
      #expect(Set(outcomes.map(\.out)).count == 1)
      #expect(outcomes.first?.out != first.out)
      #expect(try await terminal.count("refresh") == 1)
      #expect(try await terminal.count("refused") == 0)

      let newest = String(outcomes.first?.out.dropLast() ?? "")
      let logout = try await terminal.run("logout")
      #expect(logout.status == 0)
      #expect(logout.words.contains("signed out Ada Lovelace"))
      #expect(try await terminal.count("revoke") == 1)
      #expect(try await terminal.get("/me", token: newest).status == 401)
      #expect(try await terminal.run("token").status == 4)
    }
  }

  @Test(.timeLimit(.minutes(5))) func `finishes a refresh on the first Ctrl-C, and keeps the session`() async throws {
    try await atTerminal(["--rotate", "--delay", "2"]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await terminal.expire()
      let child = try Child(["token"], variables: ["HANDSTAMP_HOME": terminal.home], input: "")
      while try await terminal.count("refresh") == 0 { await Task.yield() }
      child.send(SIGINT)
      let outcome = try await child.outcome()
      // Its own end may come before that of the signal.
      #expect([0, 128 + SIGINT].contains(outcome.status))
      #expect(outcome.words.contains("finishing a refresh"))
      let token = try await terminal.run("token")
      #expect(token.status == 0, "\(token.words)")
      #expect(try await terminal.count("refresh") == 1)
      #expect(try await terminal.count("refused") == 0)
    }
  }

  @Test func `tells a server that answers 401 and no more once, not with each of nine commands`() async throws {
    try await atTerminal(["--rotate", "--bare-401"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let logout = try await terminal.run("logout")
      #expect(logout.words.contains("could not be told"), "\(logout.words)")
      for _ in 0..<9 { #expect(try await terminal.run("token").status == 4) }
      #expect(try await terminal.count("revoke") == 1)
    }
  }

  @Test func `signs in by a code on another device`() async throws {
    try await atTerminal(["--agree"]) { terminal in
      let login = try await terminal.run(
        "login --issuer \(terminal.server.url) --device --client-id app --scope profile")
      #expect(login.status == 0, "\(login.words)")
      #expect(login.words.contains("open \(terminal.server.url)/device on any device and type: "))
      let token = try await terminal.run("token").out.dropLast()
      #expect(try await terminal.get("/me", token: String(token)).object["scope"] as? String == "profile")
    }
  }

  @Test func `gives git a token, keeps nothing that git stores, and signs nobody out when git erases`() async throws {
    try await atTerminal(["--rotate"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let host = terminal.server.url.dropFirst("http://".count)
      let asked = "protocol=http\nhost=\(host)\n\n"
      let first = try await terminal.run("credential-helper get", input: asked)
      let token = try await terminal.run("token").out.dropLast()
      #expect(first.status == 0)
      #expect(first.out.hasPrefix("username=oauth2\npassword=\(token)\npassword_expiry_utc="))
      let kinds = try await terminal.run("credential-helper get", input: "capability[]=authtype\n" + asked)
      #expect(kinds.out.hasPrefix("capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\n"))

      for other in [
        "protocol=https\nhost=evil.example.org\n\n", "protocol=http\nhost=127.0.0.1:1\n\n", "", "host=\(host)\n\n",
      ] {
        let nothing = try await terminal.run("credential-helper get", input: other)
        #expect(nothing.status == 0)
        #expect(nothing.out.isEmpty)
      }
      let named = try await terminal.run(
        "credential-helper --host git.example.org get", input: "protocol=https\nhost=git.example.org\n\n")
      #expect(named.out.contains("password=\(token)"))
      let clear = try await terminal.run(
        "credential-helper --host git.example.org get", input: "protocol=http\nhost=git.example.org\n\n")
      #expect(clear.out.isEmpty)

      let stored = try await terminal.run("credential-helper store", input: asked.dropLast() + "password=other\n\n")
      #expect(stored.status == 0)
      // Another password than ours is none of our business; ours is replaced.
      _ = try await terminal.run("credential-helper erase", input: asked.dropLast() + "password=other\n\n")
      #expect(try await terminal.count("refresh") == 0)
      let erased = try await terminal.run("credential-helper erase", input: asked.dropLast() + "password=\(token)\n\n")
      #expect(erased.status == 0)
      #expect(try await terminal.count("refresh") == 1)
      let next = try await terminal.run("credential-helper get", input: asked)
      #expect(next.out.hasPrefix("username=oauth2\npassword="))
      #expect(!next.out.contains(token))
      #expect(try await terminal.run("credential-helper invented", input: asked).status == 0)
    }
  }

  @Test func `says what is wrong, and what to do`() async throws {
    try await atTerminal([]) { terminal in
      let url = terminal.server.url
      for (words, status, message) in [
        ("login --issuer \(url) --browser --device", Int32(64), "do not go together"),
        ("login --issuer \(url) --server \(url)", 64, "do not go together"),
        ("login --issuer http://id.example.org --device", 64, "without encryption"),
        ("login --issuer \(url) --device --client-id nobody", 1, "invalid_client"),
        ("login --issuer \(url)/elsewhere --device", 1, "no metadata"),
        ("login ada@example.org --issuer \(url)", 64, "password"),
        ("login --device", 64, "login --issuer https://id.example.org --device"),
        ("login --with-token", 64, "login --with-token --server https://id.example.org"),
        ("login --issuer \(url)/ --device", 1, "write the issuer exactly as the server does"),
        ("login --issuer \(url) --device --client-id nobody", 1, "name it by --client-id"),
        ("login --issuer \(url) --device --client-id app --timeout 100ms", 2, "nobody answered in time"),
      ] {
        let outcome = try await terminal.run(words)
        #expect(outcome.status == status, "\(words): \(outcome.words)")
        #expect(outcome.words.contains(message), "\(words): \(outcome.words)")
        #expect(outcome.words.contains("hint: "))
        #expect(outcome.out.isEmpty)
      }
      let hidden = try await terminal.run(
        "login --issuer \(url) --device", variables: ["HANDSTAMP_TOKEN": "t"])
      #expect(hidden.status == 1)
      #expect(hidden.words.contains("unset HANDSTAMP_TOKEN"))
      let given = try await terminal.run(
        "credential-helper --host git.example.org get", input: "protocol=https\nhost=git.example.org\n\n",
        variables: ["HANDSTAMP_TOKEN": "t"])
      #expect(given.out == "username=oauth2\npassword=t\nquit=1\n")
    }
  }
}
#endif
