#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp exec` {
    @Test func `puts the token into the program's environment, and into no argument`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let token = try await stage.storedToken(of: stage.first)
        let shown = try await stage.run(
          [
            "exec", "--", "sh", "-c", #"printf "%s|%s|" "$HANDSTAMP_TOKEN" "$*"; tr "\0" " " < /proc/self/cmdline"#,
            "x", "a b",
          ],
          on: stage.first)
        let parts = shown.out.split(separator: "|", omittingEmptySubsequences: false)
        #expect(parts.first.map(String.init) == token)
        #expect(parts.dropFirst().first == "a b")
        #expect(!parts.dropFirst(2).joined().contains(token), "the arguments contain no token")
        #expect(shown.words.isEmpty)
        let other = try await stage.run(
          ["exec", "--env", "MY_TOKEN", "--", "sh", "-c", #"echo "$MY_TOKEN,$HANDSTAMP_TOKEN""#], on: stage.first)
        #expect(other.out == token + ",\n")
        // A nested handstamp uses the same account, whichever account is active.
        try await stage.signUp(stage.first, email: "bob@example.org")
        let nested = try await stage.run(
          ["exec", "--account", "ada", "--env", "X", "--", try Child.path(), "request", "/v1/me"], on: stage.first)
        #expect(nested.out.contains("ada@example.org"))
      }
    }

    @Test func `passes through exit code, signals, input and files`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        func run(_ script: String, input: String = "") async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(["exec", "--", "sh", "-c", script], home: stage.first.path, input: input)
        }
        #expect(try await run("exit 42").status == 42)
        let killed = try await run("kill -TERM $$")
        #expect(killed.status == 128 + SIGTERM)
        #expect(try await run("cat", input: "in and out").out == "in and out")
        // Signals and files of libraries must not be inherited. Only the standard signals are compared: the C library uses
        // the others.
        let script = "grep Sig[BI] /proc/self/status | grep -oE '^...|[0-9a-f]{7}$'; ls /proc/self/fd | wc -l"
        #expect(try await run(script).out == (try await Child.outcome(of: "/bin/sh", script)))

        let child = try Child(
          [
            "exec", "--", "sh", "-c", "trap 'kill -KILL $!; exit 7' TERM; sleep 60 > /dev/null 2>&1 & echo ready; wait",
          ],
          variables: ["HANDSTAMP_HOME": stage.first.path])
        #expect(try await child.line() == "ready")
        child.send(SIGTERM)
        #expect(try await within(.seconds(240), "the end") { try await child.outcome() }.status == 7)
      }
    }

    @Test func `exits like a shell if the program cannot be run, and needs a session`() async throws {
      try await ProcessFixture.run { stage in
        try expectRefusal(
          try await stage.run(["exec", "--", "true"], on: stage.first, expecting: .signInNeeded), .signInNeeded,
          hint: "run: handstamp login")
        try await stage.signUp(stage.first)
        try expectRefusal(
          try await stage.run(["exec", "--", "no-such-program"], on: stage.first, expecting: .notFound), .notFound,
          naming: "no-such-program", hint: "PATH")
        try expectRefusal(
          try await stage.run(["exec", "--", "/etc/passwd"], on: stage.first, expecting: .notRunnable), .notRunnable,
          naming: "/etc/passwd", hint: "mode")
        try expectRefusal(
          try await stage.run(["exec"], on: stage.first, expecting: .usage), .usage,
          naming: "program", hint: "exec --")
        try expectRefusal(
          try await stage.run(["exec", "--env", "1X", "--", "true"], on: stage.first, expecting: .usage), .usage,
          naming: "variable", hint: "letters")
        try expectRefusal(
          try await stage.run(["exec", "--env", "X=id", "--", "true"], on: stage.first, expecting: .usage), .usage,
          naming: "kind of token", hint: "--env X=id-token")
        // Handstamp's own protocol has none.
        try expectRefusal(
          try await stage.run(["exec", "--env", "X=id-token", "--", "true"], on: stage.first, expecting: .failure),
          .failure, naming: "no ID token", hint: "handstamp login --issuer")
      }
    }
  }
}

extension Child {
  /// Returns the output of a script in a shell that is started like this program.
  static func outcome(of program: String, _ script: String) async throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-c", script]
    process.standardOutput = pipe
    process.standardInput = Pipe()
    process.standardError = Pipe()
    let ended = OneShot<Void>()
    process.terminationHandler = { _ in ended.set(()) }
    try Child.withUsualSignals { try process.run() }
    try await ended.value()
    return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }
}
#endif
