#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The command as a client of Authlib's server, each step as in a terminal.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command at a third-party OAuth server` {
  @Test(arguments: ["--rotate", "--replace"])
  func `signs in by browser, prints tokens, refreshes once for twenty processes, and signs out`(_ option: String)
    async throws
  {
    try await OAuthTerminal.run([option]) { terminal in
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

  @Test func `revokes once at a server that answers a bare 401, not with each of nine commands`() async throws {
    try await OAuthTerminal.run(["--rotate", "--bare-401"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let logout = try await terminal.run("logout")
      #expect(logout.words.contains("cannot revoke the session at"), "\(logout.words)")
      for _ in 0..<9 { #expect(try await terminal.run("token").status == 4) }
      #expect(try await terminal.count("revoke") == 1)
    }
  }

  @Test func `signs in with a code on another device`() async throws {
    try await OAuthTerminal.run(["--agree"]) { terminal in
      let login = try await terminal.run(
        "login --issuer \(terminal.server.url) --device --client-id app --scope profile")
      #expect(login.status == 0, "\(login.words)")
      #expect(login.words.contains("open \(terminal.server.url)/device on any device and enter the code "))
      let token = try await terminal.run("token").out.dropLast()
      #expect(try await terminal.get("/me", token: String(token)).object["scope"] as? String == "profile")
    }
  }

  @Test func `gives git a token, stores nothing from git, and stays signed in when git erases`() async throws {
    try await OAuthTerminal.run(["--rotate"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      let host = terminal.server.url.dropFirst("http://".count)
      let asked = "protocol=http\nhost=\(host)\n\n"
      let first = try await terminal.run("credential-helper get", input: asked)
      let token = try await terminal.run("token").out.dropLast()
      #expect(first.status == 0)
      #expect(first.out.hasPrefix("username=oauth2\npassword=\(token)\npassword_expiry_utc="))
      let kinds = try await terminal.run("credential-helper get", input: "capability[]=authtype\n" + asked)
      #expect(kinds.out.hasPrefix("capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\n"))

      for (other, status) in [
        ("protocol=https\nhost=evil.example.org\n\n", 0), ("protocol=http\nhost=127.0.0.1:1\n\n", 0),
        // As for the password of a client certificate, which another helper has.
        ("protocol=cert\npath=/a\n\n", 0), ("", 64), ("host=\(host)\n\n", 64),
      ] as [(String, Int32)] {
        let nothing = try await terminal.run("credential-helper get", input: other)
        #expect(nothing.status == status, "\(nothing.words)")
        #expect(nothing.out.isEmpty)
      }
      let named = try await terminal.run(
        "credential-helper --host git.example.org get", input: "protocol=https\nhost=git.example.org\n\n")
      #expect(named.out.contains("password=\(token)"))
      let clear = try await terminal.run(
        "credential-helper --host git.example.org get", input: "protocol=http\nhost=git.example.org\n\n")
      #expect(clear.status == 0 && clear.out.isEmpty)
      #expect(clear.words.contains("the token is not for git.example.org\nhint: use https\n"), "\(clear.words)")
      let other = try await terminal.run(
        "credential-helper get", input: "protocol=https\nhost=git.example.org\n\n")
      #expect(other.status == 0 && other.out.isEmpty)
      #expect(
        other.words.contains("the token is not for git.example.org\nhint: add --host git.example.org\n"),
        "\(other.words)")

      let stored = try await terminal.run("credential-helper store", input: asked.dropLast() + "password=other\n\n")
      #expect(stored.status == 0)
      // A different password is ignored; the current token is replaced.
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

  @Test func `reports errors with hints`() async throws {
    try await OAuthTerminal.run([]) { terminal in
      let url = terminal.server.url
      for (words, status, message) in [
        ("login --issuer \(url) --browser --device", Int32(64), "cannot be combined"),
        ("login --issuer \(url) --server \(url)", 64, "cannot be combined"),
        ("login --issuer http://id.example.org --device", 64, "over plain HTTP"),
        ("login --issuer \(url) --device --client-id nobody", 7, "invalid_client"),
        (
          "login --issuer \(url)/elsewhere --device", 1,
          "no OAuth server at \(url)/elsewhere: it publishes no metadata\nhint: check the address; if it is right, name the endpoints with --endpoint "
        ),
        ("login ada@example.org --issuer \(url)", 64, "password"),
        ("login --device", 64, "login --issuer https://id.example.org --device"),
        ("login --with-token", 64, "login --with-token --server https://id.example.org"),
        ("login --issuer \(url)/ --device --client-id nobody", 7, "invalid_client"),
        ("login --issuer \(url) --device --client-id nobody", 7, "pass another with --client-id"),
        ("login --issuer \(url) --device --client-id app --timeout 100ms", 2, "the code was not entered within 100 ms"),
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
