#if Programs
import Foundation
import HandstampCore
import HandstampLoopback
import NIOCore
import NIOPosix
import Testing

@testable import HandstampCommand

/// The command at Authlib's server, which is strict in the ways in which servers are, and has none of Handstamp's API.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The command at a server of another kind` {
  /// Holds a port of this machine for as long as it lives.
  private final class HeldPort: Sendable {
    let port: Int
    private let channel: any Channel

    init() async throws {
      channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: 0).get()
      port = channel.localAddress?.port ?? 0
    }

    func release() async throws { try await channel.close() }
  }

  private func freePort() async throws -> Int {
    let held = try await HeldPort()
    try await held.release()
    return held.port
  }

  private func expect(
    _ outcome: Child.Outcome, _ status: Int32, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome.status == status, "\(outcome.words)", sourceLocation: sourceLocation)
    for word in words {
      #expect(outcome.words.contains(word), "\(word): \(outcome.words)", sourceLocation: sourceLocation)
    }
  }

  // MARK: Redirects

  @Test(arguments: [
    ("--redirect-port PORT", "http://127.0.0.1:PORT/callback"),
    ("--redirect-uri http://127.0.0.1:PORT/oauth/back", "http://127.0.0.1:PORT/oauth/back"),
    ("--redirect-uri http://127.0.0.1:PORT", "http://127.0.0.1:PORT"),
    ("--redirect-uri http://localhost:PORT/", "http://localhost:PORT/"),
  ])
  func `that compares the whole redirect address is signed in at, and later without a flag`(
    _ flag: String, _ registered: String
  ) async throws {
    let port = String(try await freePort())
    let flag = flag.replacingOccurrences(of: "PORT", with: port)
    let registered = registered.replacingOccurrences(of: "PORT", with: port)
    try await OAuthTerminal.run(["--redirect", registered]) { terminal in
      let url = terminal.server.url
      // Its page shows an error, and no browser comes back.
      let lost = try await terminal.run("login --issuer \(url) --browser --client-id app --timeout 1s")
      expect(
        lost, 2, "the browser did not come back within 1 s",
        "register the redirect address http://127.0.0.1/callback (with any port) for the client app at \(url)",
        "--redirect-uri")
      #expect(!lost.words.contains("run the same command again"))

      let login = try await terminal.run("login --issuer \(url) --browser --client-id app \(flag)")
      expect(login, 0, "signed in as Ada Lovelace at \(url)")
      expect(try await terminal.run("logout"), 0)
      // At once: its port may still be in TIME_WAIT. Nothing is asked for but the command.
      let again = try await terminal.run("login")
      expect(again, 0, "client_id=app", "signed in as Ada Lovelace at \(url)")
      expect(try await terminal.run("login --force"), 0, "signed in as Ada Lovelace at \(url)")
      #expect(try await terminal.run("token").status == 0)
      let others = try await terminal.paths().filter { !$0.contains("/.well-known/") }
      #expect(Set(others) == ["GET /authorize", "POST /token", "POST /revoke"])
    }
  }

  @Test func `is not signed in at through a port that another program has`() async throws {
    let held = try await HeldPort()
    try await OAuthTerminal.run { terminal in
      for flag in [
        "--redirect-port \(held.port)", "--redirect-uri http://localhost:\(held.port)/callback",
      ] {
        let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app \(flag)")
        expect(login, 1, "port \(held.port) of this machine is in use by another program", "hint: ", "--redirect-uri")
      }
      #expect(!(try await terminal.paths().contains("GET /authorize")))
    }
    try await held.release()
  }

  @Test func `refuses flags that do not go together, and addresses that cannot be listened on`() async throws {
    try await OAuthTerminal.run { terminal in
      let url = terminal.server.url
      for (flags, words) in [
        ("--redirect-port 8085 --redirect-uri http://127.0.0.1/", "do not go together"),
        ("--device --redirect-port 8085", "for the sign-in by a browser"),
        ("--device --redirect-uri http://127.0.0.1/", "for the sign-in by a browser"),
        ("--redirect-port 0", "between 1 and 65535"), ("--redirect-port 65536", "between 1 and 65535"),
        ("--redirect-uri https://127.0.0.1/", "its scheme is not http"),
        ("--redirect-uri http://example.org/back", "its host is not this machine"),
        ("--redirect-uri http://127.0.0.1.example.org/", "its host is not this machine"),
        ("--redirect-uri http://127.0.0.1/back?a=b", "it has a user, a query or a fragment"),
        ("--redirect-uri http://127.0.0.1/back#a", "it has a user, a query or a fragment"),
        ("--redirect-uri http://127.0.0.1:99999/", "its port is not between 1 and 65535"),
        ("--redirect-uri 8085", "it is not a URL"),
      ] {
        let login = try await terminal.run("login --issuer \(url) --client-id app \(flags)")
        expect(login, 64, words, "hint: ")
      }
      #expect(try await terminal.paths().isEmpty)
    }
  }

  // MARK: The client

  @Test(arguments: [([], "basic"), (["--post"], "post")])
  func `takes a client's secret as its metadata says, from a file, and no other file has it`(
    _ options: [String], _ way: String
  ) async throws {
    try await OAuthTerminal.run(options + ["--agree", "--userinfo"]) { terminal in
      let (url, secret) = (terminal.server.url, "s3cret-without_specials")
      let file = terminal.home + "-secret"
      defer { try? FileManager.default.removeItem(atPath: file) }
      func write(_ text: String, mode: Int = 0o600) throws {
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
      }
      let login = "login --issuer \(url) --browser --client-id service"
      expect(
        try await terminal.run(login), 1, "does not accept the client service", "--client-secret-file", "--client-id",
        "http://127.0.0.1/callback")
      try write(secret + "\n", mode: 0o644)
      expect(
        try await terminal.run(login + " --client-secret-file \(file)"), 1, "others can read", "chmod 600 \(file)")
      try write("another\n")
      expect(
        try await terminal.run(login + " --client-secret-file \(file)"), 1,
        "does not accept the client service with this secret", "--client-secret-file")
      try write(secret + "\n")
      expect(try await terminal.run(login + " --client-secret-file \(file)"), 0, "signed in as Ada Lovelace")
      try FileManager.default.removeItem(atPath: file)

      try await terminal.expire()
      expect(try await terminal.run("token"), 0)
      expect(try await terminal.run("logout"), 0, "signed out")
      #expect(try await terminal.count("revoke") == 1)
      // Remembered, and sealed.
      expect(try await terminal.run("login"), 0, "signed in as Ada Lovelace")
      expect(try await terminal.run("login --force --device"), 0, "signed in as Ada Lovelace")
      let shown = try await terminal.authentication()
      #expect(shown.isSuperset(of: ["/token \(way)", "/revoke \(way)", "/device_authorization \(way)"]), "\(shown)")
      #expect(shown.subtracting(["/token none"]).allSatisfy { $0.hasSuffix(way) }, "\(shown)")
      let files = FileManager.default.enumerator(atPath: terminal.home)?.compactMap { $0 as? String } ?? []
      #expect(files.contains { $0.hasSuffix(".client") })
      for name in files {
        let content = FileManager.default.contents(atPath: terminal.home + "/" + name) ?? Data()
        #expect(content.range(of: Data(secret.utf8)) == nil, "\(name)")
      }
      // With the account goes its secret.
      expect(try await terminal.run("logout --erase"), 0, "off the list")
      let rest = FileManager.default.enumerator(atPath: terminal.home)?.compactMap { $0 as? String } ?? []
      #expect(!rest.contains { $0.hasSuffix(".client") }, "\(rest)")
      expect(try await terminal.run(login + " --client-secret-file -", input: secret + "\n"), 0)
      // Another client has nothing of it.
      expect(try await terminal.run("login --force --browser --client-id app"), 0)
      let others = FileManager.default.enumerator(atPath: terminal.home)?.compactMap { $0 as? String } ?? []
      #expect(!others.contains { $0.hasSuffix(".client") }, "\(others)")
      try await terminal.expire()
      expect(try await terminal.run("token"), 0)
    }
  }

  @Test func `keeps a session whose client's secret cannot be read, and says so`() async throws {
    try await OAuthTerminal.run { terminal in
      let login = "login --issuer \(terminal.server.url) --browser --client-id service --client-secret-file -"
      expect(try await terminal.run(login, input: "s3cret-without_specials\n"), 0)
      let folder = terminal.home + "/vault/"
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".client") })
      try Data("damaged".utf8).write(to: URL(fileURLWithPath: folder + name))
      #expect(try await terminal.run("token").status == 0, "the access token needs no secret")
      try await terminal.expire()
      expect(try await terminal.run("token"), 5, "the client's secret cannot be read")
      expect(
        try await terminal.run("login --force"), 5, "the secret of the client service cannot be read",
        "anew by --client-secret-file")
      #expect(try await terminal.count("refresh") == 0)
      expect(try await terminal.run(login + " --force", input: "s3cret-without_specials\n"), 0)
      expect(try await terminal.run("token"), 0)
    }
  }

  @Test(arguments: [
    ("unauthorized_client", "does not let the client app sign in in this way", "--device"),
    ("invalid_request", "refuses the sign-in", "register the redirect address http://127.0.0.1/callback"),
    ("invalid_client", "does not accept the client app", "--client-id"),
  ])
  func `that sends the browser back with an error is quoted, with what has to be registered`(
    _ code: String, _ message: String, _ hint: String
  ) async throws {
    try await OAuthTerminal.run(["--refuse-code", code]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      expect(login, 1, code, message, hint)
      #expect(!login.words.contains("run the same command again"))
    }
  }

  @Test func `whose every path has a page of HTML is found nevertheless`() async throws {
    try await OAuthTerminal.run(["--catch-all"]) { terminal in
      let url = terminal.server.url
      expect(
        try await terminal.run("login --issuer \(url)/x --browser --client-id app"), 1,
        "/.well-known/oauth-authorization-server/x: the answer is not metadata",
        "/x/.well-known/openid-configuration: the answer is not metadata", "hint: write the issuer exactly")
      expect(try await terminal.run("login --issuer \(url) --browser --client-id app"), 0, "signed in")
      #expect(try await terminal.paths().contains("GET /.well-known/oauth-authorization-server"))
    }
  }

  // MARK: Its API

  @Test func `is not what Handstamp's own is taken for`() async throws {
    func access(_ issuer: String) -> OAuthAccess {
      OAuthAccess(
        OAuthRecord(issuer: issuer, client: "app", scopes: []), home: Home(path: "/nowhere"), account: AccountID("a"))
    }
    try await OwnServer.run { server async throws in
      #expect(try await ForeignServer(access(server.url)) == nil)
    }
    try await IndependentServer.run(["--userinfo"]) { server async throws in
      #expect(try await ForeignServer(access(server.url)) != nil)
    }
  }

  @Test(arguments: [[], ["--catch-all"]])
  func `is asked for nothing that its metadata does not name`(_ options: [String]) async throws {
    try await OAuthTerminal.run(options) { terminal in
      let url = terminal.server.url
      expect(try await terminal.run("login --issuer \(url) --browser --client-id app"), 0)
      expect(
        try await terminal.run("sessions"), 1, "is an OAuth server of another kind, which offers no list of sessions")
      for words in ["revoke --all", "revoke --others", "revoke abc"] {
        expect(try await terminal.run(words), 1, "offers no way to end sessions of other devices", "handstamp logout")
      }
      expect(try await terminal.run("watch"), 1, "offers no news of sessions")
      expect(
        try await terminal.run("login ada@example.org --force", input: "correct horse\n"), 1,
        "offers no sign-in with a password here", "handstamp login --issuer \(url)")
      expect(try await terminal.run("login ada@example.org", input: "correct horse\n"), 1, "with a password")
      expect(try await terminal.run("login --with-token --force", input: "t\n"), 1, "with an access token")
      expect(try await terminal.run("status --verify"), 0)
      let doctor = try await terminal.run("doctor")
      #expect(doctor.status == 0, "\(doctor.out)")
      #expect(doctor.out.contains("\(url) answers in "))
      #expect(doctor.out.contains("as an OAuth server"))
      #expect(doctor.out.contains("as that of \(url)"), "the clocks are compared: \(doctor.out)")
      let token = String(try await terminal.run("token").out.dropLast())
      _ = try await terminal.run("sessions", variables: ["HANDSTAMP_TOKEN": token])
      let logout = try await terminal.run("logout --everywhere")
      expect(logout, 1, "signed out Ada Lovelace", "not on other devices", "end them on the account's page there")
      #expect(try await terminal.count("revoke") == 1)
      let allowed: Set = [
        "GET /.well-known/oauth-authorization-server", "GET /.well-known/openid-configuration", "GET /authorize",
        "POST /token", "POST /revoke",
      ]
      let asked = Set(try await terminal.paths())
      #expect(asked.isSubset(of: allowed), "\(asked)")
    }
  }

  @Test(arguments: [(["--userinfo"], 0), (["--introspect"], 0), ([], 1)])
  func `is asked whether it accepts the session in the way that it offers`(
    _ options: [String], _ refreshes: Int
  ) async throws {
    try await OAuthTerminal.run(options) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      let good = try await terminal.run("status --verify --json")
      expect(good, 0)
      #expect(good.out.contains(#""verified":true"#), "\(good.out)")
      #expect(try await terminal.count("refresh") == refreshes)
      try await terminal.endAll()
      let over = try await terminal.run("status --verify --check")
      expect(over, 4)
      #expect(over.out.contains("does not accept it"), "\(over.out)")
    }
  }

  @Test func `that offers no way to ask is not said to accept anything`() async throws {
    try await OAuthTerminal.run(["--no-refresh-token"]) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      let status = try await terminal.run("status --verify")
      expect(status, 1, "offers no way to find out whether it accepts the session")
      #expect(status.out.hasPrefix("signed in "))
      #expect(!status.out.contains("accepts it"))
    }
  }

  @Test(arguments: [
    (["--no-refresh-token"], Int32(1), "there is no refresh token"),
    (["--refuse-refresh", "temporarily_unavailable"], 6, "is good for"),
    (["--refuse-refresh", "unauthorized_client"], 4, "is good for"),
    (["--same-token"], 1, "issues the same access token again"),
  ])
  func `that brings no newer token leaves the good one, which is not called over`(
    _ options: [String], _ status: Int32, _ words: String
  ) async throws {
    try await OAuthTerminal.run(options) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      let token = try await terminal.run("token")
      let refresh = try await terminal.run("refresh")
      expect(refresh, status, words, "the access token that is here is good for")
      #expect(!refresh.words.contains("is over"))
      let after = try await terminal.run("token")
      #expect(after.out == token.out && after.status == 0)
    }
  }
}
#endif
