#if Programs
import Foundation
import Handstamp
import HandstampTransports
import NIOCore
import NIOPosix
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The command at Authlib's server, which is as strict as real servers are, and has none of Handstamp's API.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The command at another kind of server` {
  /// Occupies a local port for as long as it lives.
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
  func `that compares the whole redirect URI signs in, and later without a flag`(
    _ flag: String, _ registered: String
  ) async throws {
    let port = String(try await OwnServer.freePort())
    let flag = flag.replacingOccurrences(of: "PORT", with: port)
    let registered = registered.replacingOccurrences(of: "PORT", with: port)
    try await OAuthTerminal.run(["--redirect", registered]) { terminal in
      let url = terminal.server.url
      // The server shows an error page, and the browser does not return.
      let lost = try await terminal.run("login --issuer \(url) --browser --client-id app --timeout 1s")
      expect(
        lost, 2, "the sign-in in the browser was not completed within 1 s",
        "register the redirect URI http://127.0.0.1/callback (with any port) for the client app at \(url)",
        "; or use --device")
      #expect(!lost.words.contains("run the same command again"))

      let login = try await terminal.run("login --issuer \(url) --browser --client-id app \(flag)")
      expect(login, 0, "signed in as Ada Lovelace at \(url)")
      expect(try await terminal.run("logout"), 0)
      // At once: the port may still be in TIME_WAIT. No flag is needed.
      let again = try await terminal.run("login")
      expect(again, 0, "client_id=app", "signed in as Ada Lovelace at \(url)")
      expect(try await terminal.run("login --force"), 0, "signed in as Ada Lovelace at \(url)")
      #expect(try await terminal.run("token").status == 0)
      let others = try await terminal.paths().filter { !$0.contains("/.well-known/") }
      #expect(Set(others) == ["GET /authorize", "POST /token", "POST /revoke"])
    }
  }

  @Test func `is told of the server's overlap without another sign-in`() async throws {
    try await OAuthTerminal.run(["--rotate"]) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      func repeats() async throws -> String {
        try await terminal.run("status").words + (try await terminal.run("status").out)
      }
      #expect(try await repeats().contains("login --overlap SECONDS"))
      expect(
        try await terminal.run("login --client-id other"), 1, "is signed in by the client app, not by other",
        "--client-id other --force")
      let told = try await terminal.run("login --overlap 30")
      expect(told, 0, "already signed in")
      #expect(try await repeats().contains("cost nothing within the server's overlap"))
    }
  }

  @Test func `keeps how an erased account signed in until its session is revoked`() async throws {
    try await OAuthTerminal.run(["--bare-401"]) { terminal in
      let home = Home(path: terminal.home)
      let ada = ListedAccount.id(of: AccountID("user-1"), at: terminal.server.url)
      _ = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(try home.oauth(of: ada) != nil)
      expect(try await terminal.run("logout --erase"), 0, "cannot revoke the session at")
      expect(try await terminal.run("accounts"), 0, "no accounts on this device")
      #expect(try await home.accounts.read().get().leaving == [ada])
      #expect(try home.oauth(of: ada)?.client == "app")
      guard case .value(let entry) = await home.vault(of: ada).read(), let ended = entry.tombstones.first,
        let handle = ended.revocation
      else {
        Issue.record("no pending revocation")
        return
      }
      _ = await home.vault(of: ada).edit(.delivered(ended.session, with: handle))
      expect(try await terminal.run("accounts"), 0, "no accounts on this device")
      #expect(try await home.accounts.read().get().leaving == [])
      #expect(try home.oauth(of: ada) == nil)
    }
  }

  @Test func `does not sign in through another program's port`() async throws {
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

  @Test func `refuses conflicting flags, and unusable redirect addresses`() async throws {
    try await OAuthTerminal.run { terminal in
      let url = terminal.server.url
      for (flags, words) in [
        ("--redirect-port 8085 --redirect-uri http://127.0.0.1/", "cannot be combined"),
        ("--device --redirect-port 8085", "only for signing in with a browser"),
        ("--device --redirect-uri http://127.0.0.1/", "only for signing in with a browser"),
        ("--redirect-port 0", "between 1 and 65535"), ("--redirect-port 65536", "between 1 and 65535"),
        ("--redirect-uri https://127.0.0.1/", "its scheme is not http"),
        ("--redirect-uri http://example.org/back", "its host is not this machine"),
        ("--redirect-uri http://127.0.0.1.example.org/", "its host is not this machine"),
        ("--redirect-uri http://127.0.0.1/back?a=b", "it has a user, a query or a fragment"),
        ("--redirect-uri http://127.0.0.1/back#a", "it has a user, a query or a fragment"),
        ("--redirect-uri http://127.0.0.1:99999/", "its port is not between 1 and 65535"),
        ("--redirect-uri 8085", "not a valid URL"),
      ] {
        let login = try await terminal.run("login --issuer \(url) --client-id app \(flags)")
        expect(login, 64, words, "hint: ")
      }
      #expect(try await terminal.paths().isEmpty)
    }
  }

  // MARK: The client

  @Test(arguments: [([], "basic"), (["--post"], "post")])
  func `sends the client secret by the metadata's method, and stores it only sealed`(
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
        try await terminal.run(login), 7, "rejected the client service", "--client-secret-file", "--client-id",
        "http://127.0.0.1/callback")
      try write(secret + "\n", mode: 0o644)
      expect(
        try await terminal.run(login + " --client-secret-file \(file)"), 1, "readable by other users",
        "chmod 600 \(file)")
      try write("another\n")
      expect(
        try await terminal.run(login + " --client-secret-file \(file)"), 7,
        "rejected the secret of client service", "--client-secret-file")
      try write(secret + "\n")
      expect(try await terminal.run(login + " --client-secret-file \(file)"), 0, "signed in as Ada Lovelace")
      try FileManager.default.removeItem(atPath: file)

      try await terminal.expire()
      expect(try await terminal.run("token"), 0)
      expect(try await terminal.run("logout"), 0, "signed out")
      #expect(try await terminal.count("revoke") == 1)
      // The secret is remembered, and sealed.
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
      expect(try await terminal.run("logout --erase"), 0, "removed ")
      let rest = FileManager.default.enumerator(atPath: terminal.home)?.compactMap { $0 as? String } ?? []
      #expect(!rest.contains { $0.hasSuffix(".client") }, "\(rest)")
      expect(try await terminal.run(login + " --client-secret-file -", input: secret + "\n"), 0)
      // Another client does not get it.
      expect(try await terminal.run("login --force --browser --client-id app"), 0)
      let others = FileManager.default.enumerator(atPath: terminal.home)?.compactMap { $0 as? String } ?? []
      #expect(!others.contains { $0.hasSuffix(".client") }, "\(others)")
      try await terminal.expire()
      expect(try await terminal.run("token"), 0)
    }
  }

  @Test func `keeps a session whose client secret cannot be read, and reports it`() async throws {
    try await OAuthTerminal.run { terminal in
      let login = "login --issuer \(terminal.server.url) --browser --client-id service --client-secret-file -"
      expect(try await terminal.run(login, input: "s3cret-without_specials\n"), 0)
      let folder = terminal.home + "/vault/"
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".client") })
      try Data("damaged".utf8).write(to: URL(fileURLWithPath: folder + name))
      #expect(try await terminal.run("token").status == 0, "the access token needs no secret")
      try await terminal.expire()
      expect(try await terminal.run("token"), 5, "cannot read the client secret")
      expect(
        try await terminal.run("login --force"), 5, "cannot read the secret of client service",
        "again with --client-secret-file")
      #expect(try await terminal.count("refresh") == 0)
      expect(try await terminal.run(login + " --force", input: "s3cret-without_specials\n"), 0)
      expect(try await terminal.run("token"), 0)
    }
  }

  @Test(arguments: [
    ("unauthorized_client", "does not allow this sign-in method for the client app", "--device"),
    ("invalid_request", "refused the sign-in", "register the redirect URI http://127.0.0.1/callback"),
    ("invalid_client", "rejected the client app", "--client-id"),
  ])
  func `that redirects with an error is quoted, with a hint on the registration`(
    _ code: String, _ message: String, _ hint: String
  ) async throws {
    try await OAuthTerminal.run(["--refuse-code", code]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      expect(login, 1, code, message, hint)
      #expect(!login.words.contains("run the same command again"))
    }
  }

  @Test func `that serves HTML at every path is found nevertheless`() async throws {
    try await OAuthTerminal.run(["--catch-all"]) { terminal in
      let url = terminal.server.url
      expect(
        try await terminal.run("login --issuer \(url)/x --browser --client-id app"), 1,
        "/.well-known/oauth-authorization-server/x: not a metadata document",
        "/x/.well-known/openid-configuration: not a metadata document", "hint: use the issuer as published")
      expect(try await terminal.run("login --issuer \(url) --browser --client-id app"), 0, "signed in")
      #expect(try await terminal.paths().contains("GET /.well-known/oauth-authorization-server"))
    }
  }

  // MARK: Its API

  @Test func `is distinguished from Handstamp's own server`() async throws {
    func access(_ issuer: String) -> OAuthAccess {
      OAuthAccess(
        OAuthRecord(issuer: issuer, client: "app", scopes: []), home: Home(path: "/nowhere"), account: AccountID("a"),
        over: CommandTransport.shared)
    }
    try await OwnServer.run { server async throws in
      #expect(try await ForeignServer(access(server.url)) == nil)
    }
    try await IndependentServer.run(["--userinfo"]) { server async throws in
      #expect(try await ForeignServer(access(server.url)) != nil)
    }
  }

  @Test(arguments: [[], ["--catch-all"]])
  func `gets no request that its metadata does not name`(_ options: [String]) async throws {
    try await OAuthTerminal.run(options) { terminal in
      let url = terminal.server.url
      expect(try await terminal.run("login --issuer \(url) --browser --client-id app"), 0)
      expect(
        try await terminal.run("sessions"), 1, "is a third-party OAuth server, which does not support listing sessions")
      for words in ["revoke --all", "revoke --others", "revoke abc"] {
        expect(try await terminal.run(words), 1, "does not support ending other sessions", "handstamp logout")
      }
      expect(try await terminal.run("watch"), 1, "does not support session events")
      expect(
        try await terminal.run("login ada@example.org --force", input: "correct horse\n"), 1,
        "does not support signing in with a password", "handstamp login --issuer \(url)")
      expect(try await terminal.run("login ada@example.org", input: "correct horse\n"), 1, "with a password")
      expect(try await terminal.run("login --with-token --force", input: "t\n"), 1, "with an access token")
      expect(try await terminal.run("status --verify"), 0)
      let doctor = try await terminal.run("doctor")
      #expect(doctor.status == 0, "\(doctor.out)")
      #expect(doctor.out.contains("\(url) answers in "))
      #expect(doctor.out.contains("as an OAuth server"))
      #expect(doctor.out.contains("matches \(url)"), "the clocks are compared: \(doctor.out)")
      let token = String(try await terminal.run("token").out.dropLast())
      _ = try await terminal.run("sessions", variables: ["HANDSTAMP_TOKEN": token])
      let logout = try await terminal.run("logout --everywhere")
      expect(logout, 1, "signed out Ada Lovelace", "not on other devices", "end them on your account page there")
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
  func `verifies the session in the way that it supports`(
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

  @Test func `that cannot verify a session is not reported as accepting it`() async throws {
    try await OAuthTerminal.run(["--no-refresh-token"]) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      let status = try await terminal.run("status --verify")
      expect(status, 1, "has no way to verify the session")
      #expect(status.out.hasPrefix("signed in "))
      #expect(!status.out.contains("accepts it"))
    }
  }

  @Test(arguments: [
    (["--no-refresh-token"], Int32(1), "this session has no refresh token"),
    (["--refuse-refresh", "temporarily_unavailable"], 6, "is valid for"),
    (["--refuse-refresh", "unauthorized_client"], 7, "is valid for"),
    (["--same-token"], 1, "issued the same access token again"),
  ])
  func `that returns no new token leaves the valid one, which is not reported as expired`(
    _ options: [String], _ status: Int32, _ words: String
  ) async throws {
    try await OAuthTerminal.run(options) { terminal in
      expect(try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app"), 0)
      let token = try await terminal.run("token")
      let refresh = try await terminal.run("refresh")
      expect(refresh, status, words, "the current access token is valid for")
      #expect(!refresh.words.contains("has expired"))
      let after = try await terminal.run("token")
      #expect(after.out == token.out && after.status == 0)
    }
  }
}
#endif
