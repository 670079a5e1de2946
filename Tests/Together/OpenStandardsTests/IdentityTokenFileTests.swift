#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// `handstamp exec --env NAME=id-token-file`, at Authlib's server.
@Suite(.timeLimit(.minutes(10))) struct `A file with the ID token` {
  private func signedIn(
    _ options: [String] = [], _ body: @Sendable (OAuthTerminal) async throws -> Void
  ) async throws {
    try await OAuthTerminal.run(["--rotate", "--refresh-id-token"] + options) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await body(terminal)
    }
  }

  private func child(_ script: String, _ terminal: OAuthTerminal) throws -> Child {
    try Child(
      ["exec", "--env", "FILE=id-token-file", "--env", "TOKEN", "--", "sh", "-c", script],
      variables: ["HANDSTAMP_HOME": terminal.home])
  }

  private func files(_ terminal: OAuthTerminal) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: terminal.home).filter { $0.hasPrefix("id-token-") }
  }

  @Test func `is the owner's alone, and is removed after the program, whose exit it repeats`() async throws {
    try await signedIn { terminal in
      let token = String(try await terminal.run("token --id-token").out.dropLast())
      let access = String(try await terminal.run("token").out.dropLast())
      let old = terminal.home + "/id-token-old"
      try Data("x".utf8).write(to: URL(fileURLWithPath: old))
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -90_000)], ofItemAtPath: old)
      let script = #"ls -l "$FILE" | cut -c 1-10; cat "$FILE"; echo; echo "$TOKEN"; cat; exit 7"#
      let outcome = try await terminal.run(
        ["exec", "--env", "FILE=id-token-file", "--env", "TOKEN", "--", "sh", "-c", script], input: "in")
      #expect(outcome.status == 7)
      #expect(outcome.out == "-rw-------\n\(token)\n\(access)\nin", "\(outcome.words)")
      #expect(try files(terminal).isEmpty, "also one that a killed handstamp left")
      #expect(try await child("kill -KILL $$", terminal).outcome().status == 128 + SIGKILL)
      let missing = try await terminal.run(["exec", "--env", "FILE=id-token-file", "--", "no-such-program"])
      #expect(missing.status == 127 && missing.words.contains("hint: check its name and PATH"), "\(missing.words)")
      #expect(try files(terminal).isEmpty)
    }
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGUSR1])
  func `stays while signals go to the program`(signal: Int32) async throws {
    try await signedIn { terminal in
      let running = try child(
        "trap 'kill -KILL $!; cat \"$FILE\" >&2; exit 7' TERM HUP USR1; sleep 60 >/dev/null 2>&1 & echo ready; wait",
        terminal)
      #expect(try await running.line() == "ready")
      running.send(signal)
      let outcome = try await running.outcome()
      #expect(outcome.status == 7 && outcome.words.split(separator: ".").count == 3, "\(outcome.words)")
      #expect(try files(terminal).isEmpty)
    }
  }

  @Test func `leaves handling of signals and files as it was`() async throws {
    try await signedIn { terminal in
      let script = "grep Sig[BI] /proc/self/status | grep -oE '^...|[0-9a-f]{7}$'; ls /proc/self/fd | wc -l"
      // As it is in place of this program.
      let other = try await terminal.run(["exec", "--env", "TOKEN", "--", "sh", "-c", script])
      let outcome = try await child(script, terminal).outcome()
      #expect(outcome.status == 0 && outcome.out == other.out, "\(outcome.words)")
    }
  }

  @Test func `gets another token before it expires`() async throws {
    try await signedIn(["--id-token-life", "12"]) { terminal in
      let running = try child(
        #"first=$(cat "$FILE"); while [ "$(cat "$FILE")" = "$first" ]; do :; done; cat "$FILE""#, terminal)
      let outcome = try await running.outcome()
      #expect(outcome.status == 0 && outcome.out.split(separator: ".").count == 3, "\(outcome.words)")
      #expect(try await terminal.count("refresh") ?? 0 >= 1)
    }
  }

  @Test func `is removed by a sign-out in another process`() async throws {
    try await signedIn { terminal in
      let running = try child(#"echo "$FILE"; while [ -e "$FILE" ]; do :; done; exit 3"#, terminal)
      #expect(try await running.line().hasPrefix(terminal.home + "/id-token-"))
      _ = try await terminal.run("logout")
      #expect(try await running.outcome().status == 3)
    }
  }

  @Test(arguments: ["logout", "logout --erase", "doctor --fix"])
  func `of a killed handstamp is removed`(command: String) async throws {
    try await signedIn { terminal in
      let running = try child(#"echo "$FILE"; exec sleep 10 >/dev/null 2>&1"#, terminal)
      #expect(try await running.line().hasPrefix(terminal.home + "/id-token-"))
      running.send(SIGKILL)
      _ = try await running.outcome()
      // The kill may also have left a file that was about to replace it.
      #expect(try !files(terminal).isEmpty, "nothing could remove it")
      let outcome = try await terminal.run(command)
      #expect(try files(terminal).isEmpty, "\(outcome.words)")
    }
  }

  @Test func `needs a session with an ID token`() async throws {
    try await signedIn { terminal in
      let given = try await terminal.run(
        ["exec", "--env", "F=id-token-file", "--", "true"], variables: ["HANDSTAMP_TOKEN": "t"])
      #expect(given.status == 1 && given.words.contains("unset HANDSTAMP_TOKEN"), "\(given.words)")
      _ = try await terminal.run("logout")
      let none = try await terminal.run(["exec", "--env", "F=id-token-file", "--", "true"])
      #expect(none.status == 4 && none.words.contains("hint: run: handstamp login"), "\(none.words)")
      #expect(try files(terminal).isEmpty)
    }
  }
}
#endif
