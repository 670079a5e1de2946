#if Programs
import Foundation
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Signals during a refresh at Authlib's server, which accepts every refresh token once.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command that is asked to end` {
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `finishes a refresh on the first signal, keeps the session, and ends by that signal`(_ signal: Int32)
    async throws
  {
    try await OAuthTerminal.run(["--rotate", "--hold"]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await terminal.expire()
      let log = terminal.home + "/words"
      let child = try Child(["token"], variables: ["HANDSTAMP_HOME": terminal.home], input: "", log: log)
      #expect(try await eventually { try await terminal.count("refresh") != 0 })
      child.send(signal)
      try await RunningCommand(log: log).finishesRequest()
      try await terminal.server.release()
      #expect(try await child.outcome().status == 128 + signal)
      let token = try await terminal.run("token")
      #expect(token.status == 0, "\(token.words)")
      #expect(try await terminal.count("refresh") == 1)
      #expect(try await terminal.count("refused") == 0)
    }
  }

  /// The server has begun the session when the signal arrives, and would keep it for good.
  @Test(arguments: [SIGINT, SIGTERM])
  func `finishes the last poll of a sign-in on another device, and keeps its session`(_ signal: Int32) async throws {
    try await OAuthTerminal.run(["--rotate", "--agree", "--hold-devices"]) { terminal in
      let log = terminal.home + "-words"
      defer { try? FileManager.default.removeItem(atPath: log) }
      let login = ["login", "--issuer", terminal.server.url, "--device", "--client-id", "app"]
      let child = try Child(login, variables: ["HANDSTAMP_HOME": terminal.home], input: "", log: log)
      #expect(try await eventually { try await terminal.count("inTheAir") == 1 })
      child.send(signal)
      try await RunningCommand(log: log).finishesRequest()
      try await terminal.server.release()
      #expect(try await child.outcome().status == 128 + signal)
      let token = try await terminal.run("token")
      #expect(token.status == 0, "\(token.words)")
    }
  }

  /// `timeout` sends its signal to the program and to its group, so that the program gets it twice. Its time is over when SIGALRM says
  /// so, here once the refresh is under way. A shell has programs in the background ignore SIGINT.
  @Test(arguments: ["INT", "TERM", "HUP"])
  func `keeps the session under timeout, four times out of four`(_ signal: String) async throws {
    for _ in 1...4 {
      try await OAuthTerminal.run(["--rotate", "--hold"]) { terminal in
        let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
        #expect(login.status == 0, "\(login.words)")
        try await terminal.expire()
        let environment = [
          "PROGRAM": try Child.path(), "HANDSTAMP_HOME": terminal.home, "SERVER": terminal.server.url,
        ]
        let ended = try await Shell.run(
          [
            "sh", "-c",
            """
            timeout -s \(signal) 1h env --default-signal=\(signal) "$PROGRAM" token 2>"$HANDSTAMP_HOME/words" &
            under_way='import json, sys, urllib.request
            sys.exit(json.load(urllib.request.urlopen(sys.argv[1] + "/counts"))["inTheAir"] != 1)'
            until python3 -c "$under_way" "$SERVER"; do :; done
            kill -ALRM $!
            until grep -q "finishing a request" "$HANDSTAMP_HOME/words"; do :; done
            python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/release", b"")' "$SERVER"
            wait $!
            """,
          ], environment: environment)
        #expect(ended.status == 124, "\(ended.words)")
        let token = try await terminal.run("token")
        #expect(token.status == 0, "\(token.words)")
        #expect(try await terminal.count("refresh") == 1)
        #expect(try await terminal.count("refused") == 0)
      }
    }
  }

  @Test func `runs no program after a signal, and ends at once on a second one`() async throws {
    try await OAuthTerminal.run(["--rotate", "--hold"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      try await terminal.expire()
      func start(_ words: [String], _ log: String) async throws -> Child {
        let started = try await terminal.count("inTheAir")
        let child = try Child(words, variables: ["HANDSTAMP_HOME": terminal.home], input: "", log: log)
        #expect(try await eventually { try await terminal.count("inTheAir") != started })
        child.send(SIGTERM)
        try await RunningCommand(log: log).finishesRequest()
        return child
      }
      let log = terminal.home + "/words"
      let child = try await start(["exec", "--", "touch", terminal.home + "/ran"], log)
      try await terminal.server.release()
      #expect(try await child.outcome().status == 128 + SIGTERM)
      #expect(!FileManager.default.fileExists(atPath: terminal.home + "/ran"))
    }
    try await OAuthTerminal.run(["--rotate", "--hold"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      try await terminal.expire()
      let log = terminal.home + "/words"
      let child = try Child(["token"], variables: ["HANDSTAMP_HOME": terminal.home], input: "", log: log)
      #expect(try await eventually { try await terminal.count("inTheAir") != 0 })
      child.send(SIGTERM)
      try await RunningCommand(log: log).finishesRequest()
      // The server counts the time after which a signal is another one.
      _ = try await terminal.get("/after/0.6")
      child.send(SIGINT)
      #expect(try await child.outcome().status == 128 + SIGTERM)
      #expect(try await terminal.count("inTheAir") == 1)
      try await terminal.server.release()
    }
  }

  @Test func `leaves signals ignored that were so at its start, as under nohup`() async throws {
    try await OAuthTerminal.run(["--rotate", "--hold"]) { terminal in
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      try await terminal.expire()
      let environment = [
        "PROGRAM": try Child.path(), "HANDSTAMP_HOME": terminal.home, "SERVER": terminal.server.url,
      ]
      let ended = try await Shell.run(
        [
          "sh", "-c",
          """
          trap '' HUP
          "$PROGRAM" token &
          under_way='import json, sys, urllib.request
          sys.exit(json.load(urllib.request.urlopen(sys.argv[1] + "/counts"))["inTheAir"] != 1)'
          until python3 -c "$under_way" "$SERVER"; do :; done
          kill -HUP $!
          python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/release", b"")' "$SERVER"
          wait $!
          """,
        ], environment: environment)
      #expect(ended.status == 0, "\(ended.words)")
      #expect(!ended.words.contains("finishing"))
    }
  }
}
#endif
