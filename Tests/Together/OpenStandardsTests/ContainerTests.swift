#if Programs
import Foundation
import HandstampCore
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Programs in process namespaces of their own, as containers are, on one home.
@Suite(
  .timeLimit(.minutes(10)), .enabled("needs process namespaces: unshare is not allowed here") { await Shell.mayPart() })
struct `Two containers on one home` {
  /// Runs `script` beside a server at which the home is signed in, and whose access token has expired.
  private static func run(_ options: [String], _ script: String) async throws -> (words: String, times: [Double]) {
    let folder = NSTemporaryDirectory() + "handstamp-containers-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await IndependentServer.run(options) { server async throws in
      let terminal = OAuthTerminal(home: folder, server: server)
      let login = try await terminal.run("login --issuer \(server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await terminal.expire()
      let outcome = try await Shell.run(
        ["sh", "-ec", tools + script],
        environment: ["PROGRAM": try Child.path(), "HANDSTAMP_HOME": folder, "SERVER": server.url])
      #expect(outcome.status == 0, "\(outcome.words)")
      #expect(try await terminal.count("refused") == 0)
      let answer = try await AsyncHTTPTransport.shared.send(
        TransportRequest(method: "GET", url: server.url + "/presented"))
      let presented = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]]
      return (outcome.words, try #require(presented).compactMap { $0["at"] as? Double })
    }
  }

  /// `$APART PROGRAM` is killed with its program.
  private static let tools = """
    APART="unshare \(getuid() == 0 ? "" : "-r") --pid --fork --kill-child --mount-proc"
    get() { python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read())' "$SERVER$1"; }
    presented() { get /presented | grep -o token | wc -l; }

    """

  @Test func `repeat a refresh within an overlap of ten seconds after its sender was killed`() async throws {
    let (_, times) = try await Self.run(
      ["--overlap", "10", "--hold"],
      """
      $APART "$PROGRAM" token &
      tries=200; until [ "$(presented)" = 1 ]; do tries=$((tries - 1)); [ $tries -gt 0 ]; done
      kill -KILL $!
      until flock -n "$HANDSTAMP_HOME"/vault/*.attempt true; do :; done
      python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/release", b"")' "$SERVER"
      $APART "$PROGRAM" token
      ls "$HANDSTAMP_HOME"/vault | grep attempt >&2 && exit 1 || true
      """)
    #expect(times.count == 2)
    #expect(times[1] - times[0] < 10)
  }
}

extension Shell {
  static func mayPart() async -> Bool {
    (try? await run(["unshare"] + (getuid() == 0 ? [] : ["-r"]) + ["--pid", "--fork", "--mount-proc", "true"]))?
      .status == 0
  }
}
#endif
