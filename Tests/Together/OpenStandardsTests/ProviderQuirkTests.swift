#if Programs
import Foundation
import Handstamp
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// The command at providers that differ from the standards, played by `provider.py` as their documents describe them.
@Suite(.timeLimit(.minutes(10))) struct `The command at a provider of its own kind` {
  private func run(_ kind: String, _ body: @Sendable (OAuthTerminal) async throws -> Void) async throws {
    try await OAuthTerminal.run([kind], script: "provider.py", body)
  }

  private func expect(
    _ outcome: Child.Outcome, _ status: Int32, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome.status == status, "\(outcome.words)", sourceLocation: sourceLocation)
    for word in words {
      #expect(outcome.words.contains(word), "\(word): \(outcome.words)", sourceLocation: sourceLocation)
    }
  }

  /// The next sign-ins are those of this user.
  private func sign(in number: Int, _ terminal: OAuthTerminal) async throws {
    _ = try await AsyncHTTPTransport.shared.send(
      TransportRequest(method: "POST", url: terminal.server.url + "/user?number=\(number)"))
  }

  /// The fields of the requests to that path.
  private func seen(_ path: String, _ terminal: OAuthTerminal) async throws -> [[String: Any]] {
    let answer = try await AsyncHTTPTransport.shared.send(
      TransportRequest(method: "GET", url: terminal.server.url + "/seen"))
    let all = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]] ?? []
    return all.filter { $0["path"] as? String == path }
  }

  private func accounts(_ terminal: OAuthTerminal) async throws -> [String] {
    try await Home(path: terminal.home).accounts.read().get().accounts.map(\.idAtServer.rawValue)
  }

  // MARK: GitHub

  @Test func `GitHub, keeps two users apart, and sends the secret in the form`() async throws {
    try await run("github") { terminal in
      let login = "login --issuer \(terminal.server.url) --provider github --client-id app --scope repo --browser"
      expect(try await terminal.run(login), 1, "incorrect_client_credentials", "with --client-secret-file")
      expect(
        try await terminal.run(login + " --client-secret-file -", input: "s3cret\n"), 0, "signed in as ada")
      let ada = try await terminal.run("token").out
      try await sign(in: 2, terminal)
      expect(try await terminal.run("login --force"), 0, "signed in as bob")
      #expect(try await accounts(terminal) == ["583231", "583232"])
      #expect(try await terminal.run("token --account ada").out == ada, "her session is as it was")
      #expect(try await terminal.run("token --account bob").out != ada)
      expect(try await terminal.run("status --verify --account ada"), 0)
      let requests = try await seen("/login/oauth/access_token", terminal)
      #expect(requests.last?["client_secret"] as? String == "s3cret")
      #expect(requests.allSatisfy { $0["basic"] as? Bool == false })
      #expect(try await seen("/.well-known/oauth-authorization-server", terminal).isEmpty)
    }
  }

  @Test func `GitHub, signs in with a device code, refreshes, and ends with its own word for it`() async throws {
    try await run("github") { terminal in
      let login = "login --issuer \(terminal.server.url) --provider github --client-id app --scope repo --device"
      expect(try await terminal.run(login), 0, "WDJB-MJHT", "signed in as ada")
      #expect(try await seen("/login/device/code", terminal).first?["scope"] as? String == "repo")
      let first = try await terminal.run("token").out
      try await terminal.expire("583231")
      let second = try await terminal.run("token")
      expect(second, 0)
      #expect(second.out != first)
      // Another program has used the refresh token.
      try await terminal.endAll()
      try await terminal.expire("583231")
      expect(try await terminal.run("token"), 4, "the server ended this session")
      expect(try await terminal.run("token"), 4, "not signed in")
    }
  }

  // MARK: Slack

  @Test func `Slack, finds the user's token, and refreshes it`() async throws {
    try await run("slack") { terminal in
      let login = "login --issuer \(terminal.server.url) --provider slack --client-id app --scope chat:write --browser"
      expect(try await terminal.run(login), 0, "signed in as ada")
      #expect(try await seen("/oauth/v2/authorize", terminal).first?["user_scope"] as? String == "chat:write")
      expect(try await terminal.run("status --verify"), 0)
      let first = try await terminal.run("token").out
      try await terminal.expire("T1/W012A3CDE")
      let second = try await terminal.run("token")
      expect(second, 0)
      #expect(second.out != first)
      // The same user ID in another team is another user.
      try await sign(in: 2, terminal)
      expect(try await terminal.run("login --force"), 0, "signed in as bob")
      #expect(try await accounts(terminal) == ["T1/W012A3CDE", "T2/W012A3CDE"])
      try await terminal.endAll()
      try await terminal.expire("T1/W012A3CDE")
      expect(try await terminal.run("token --account ada"), 4, "the server ended this session")
      expect(
        try await terminal.run("login --issuer \(terminal.server.url) --device --force"), 1, "use --browser instead")
    }
  }

  // MARK: GitLab

  @Test func `GitLab, has a device endpoint, and repeats the redirect URI`() async throws {
    try await run("gitlab") { terminal in
      let login = "login --issuer \(terminal.server.url) --provider gitlab --client-id app --scope openid"
      expect(try await terminal.run(login + " --device"), 0, "0A44L90H", "signed in as ada")
      let port = 20_000 + Int.random(in: 0..<20_000)
      expect(try await terminal.run(login + " --redirect-port \(port) --browser --force"), 0, "signed in as ada")
      try await terminal.expire("1")
      expect(try await terminal.run("token"), 0)
      let sent = try await seen("/oauth/token", terminal).last
      #expect(sent?["grant_type"] as? String == "refresh_token")
      #expect(sent?["redirect_uri"] as? String == "http://127.0.0.1:\(port)/callback")
    }
  }

  // MARK: Keycloak

  @Test(arguments: ["--browser", "--device"])
  func `Keycloak, signs in without offline_access, and asks for the name`(_ way: String) async throws {
    try await run("keycloak") { terminal in
      let said = "does not allow the scope offline_access; signing in without it"
      let login = try await terminal.run("login --issuer \(terminal.server.url) --client-id app \(way)")
      expect(login, 0, said, "signed in as Ada Lovelace")
      #expect(login.words.components(separatedBy: said).count == 2, "it is said once")
      // The scopes that were granted are remembered.
      let again = try await terminal.run("login --force \(way)")
      expect(again, 0, "signed in as Ada Lovelace")
      #expect(!again.words.contains(said))
      // Scopes that the user names are the user's.
      let named = try await terminal.run("login --force \(way) --scope openid --scope offline_access")
      expect(named, 1, "offline tokens not allowed for the user or client")
      #expect(!named.words.contains(said))
    }
  }

  // MARK: Microsoft Entra ID

  @Test func `Entra ID, takes only the tenant's own ID tokens, and outlives a request for the user`() async throws {
    try await run("entra") { terminal in
      let issuer = terminal.server.url + "/common/v2.0"
      let login = "login --issuer \(issuer) --provider entra --client-id app --scope openid --browser"
      expect(try await terminal.run(login), 0, "signed in as Ada")
      try await terminal.expire("user-1", at: issuer)
      expect(try await terminal.run("token"), 4, "interaction_required", "handstamp login")
      #expect(try await accounts(terminal) == ["user-1"])
      let vault = Home(path: terminal.home).vault(of: ListedAccount.id(of: "user-1", at: issuer))
      guard case .value(let entry) = await vault.read() else {
        Issue.record("the vault has no session")
        return
      }
      #expect(entry.session?.refresh != nil, "the policy may be met later, or elsewhere")
      try await sign(in: 2, terminal)
      expect(try await terminal.run("login --force --browser"), 1, "the ID token is from another issuer")
      #expect(try await accounts(terminal) == ["user-1"])
    }
  }

  // MARK: A server that says nothing

  @Test func `that does not say who signed in, never takes another user's place`() async throws {
    try await run("unnamed") { terminal in
      let name = String(terminal.server.url.dropFirst("http://".count))
      let login = "login --issuer \(terminal.server.url) --client-id app --scope read --browser"
      let first = try await terminal.run(login)
      expect(first, 0, "signed in as \(name)")
      #expect(!first.words.contains("does not say who"))
      let ada = try await terminal.run("token").out
      try await sign(in: 2, terminal)
      expect(
        try await terminal.run(login + " --force"), 0, "does not say who signed in", "listed as another account",
        "signed in as \(name) 2")
      #expect(try await terminal.run(["token", "--account", terminal.server.url]).out == ada)
      #expect(try await terminal.run(["token", "--account", "\(name) 2"]).out != ada)
      // The user says whose account it is.
      let again = try await terminal.run(["login", "--account", "\(name) 2", "--force"])
      expect(again, 0, "signed in as \(name) 2")
      #expect(!again.words.contains("does not say who"))
      #expect(try await accounts(terminal).count == 2)
      // A place that a sign-out has freed.
      _ = try await terminal.run(["logout", "--account", terminal.server.url])
      expect(try await terminal.run(login + " --force"), 0, "signed in as \(name)")
      #expect(try await accounts(terminal).count == 2)
    }
  }

  @Test func `that is described by options, which are remembered`() async throws {
    try await run("unnamed") { terminal in
      let url = terminal.server.url
      let login = "login --issuer \(url) --client-id app --scope read --browser --endpoint userinfo=\(url)/people"
      expect(
        try await terminal.run(login), 1, "the user information has no subject")
      let described =
        login + " --user-id uid --parameter prompt=consent --audience api --resource https://api.example.org"
      expect(try await terminal.run(described), 0, "signed in as ada")
      try await sign(in: 2, terminal)
      expect(try await terminal.run("login --force --browser --parameter prompt="), 0, "signed in as bob")
      #expect(try await accounts(terminal) == ["u-1", "u-2"])
      let sent = try await seen("/authorize", terminal)
      #expect(sent.map { $0["prompt"] as? String } == [nil, "consent", nil])
      #expect(sent.map { $0["audience"] as? String } == [nil, "api", "api"])
      #expect(sent.last?["resource"] as? String == "https://api.example.org")
      // A member that is no text or number identifies no user.
      expect(try await terminal.run("login --force --browser --user-id user"), 1, "the user information has no subject")
      #expect(try await accounts(terminal) == ["u-1", "u-2"])
    }
  }

  @Test func `that publishes nothing is described by its endpoints`() async throws {
    try await run("github") { terminal in
      let url = terminal.server.url
      let login =
        "login --issuer \(url) --client-id app --scope repo --endpoint token=\(url)/login/oauth/access_token"
      expect(try await terminal.run(login + " --device"), 1, "name the endpoint with --endpoint device=URL")
      expect(try await terminal.run(login + " --browser"), 1, "--endpoint authorization=URL")
      expect(
        try await terminal.run(
          login
            + " --device --endpoint device=\(url)/login/device/code --endpoint userinfo=\(url)/api/v3/user --user-id id"
        ),
        0, "signed in as ada")
      #expect(try await accounts(terminal) == ["583231"])
    }
  }

  @Test(arguments: [
    ("--endpoint device", "must be NAME=URL"), ("--endpoint page=https://a.example", "with one of the names"),
    ("--endpoint device=http://a.example", "must be an https URL"),
    ("--endpoint token=https://a.example/#x", "must be an https URL"), ("--client-secret-in body", "form or header"),
    ("--provider nowhere", "must be one of"), ("--parameter prompt", "must be NAME=VALUE"),
    ("--parameter state=1", "cannot set state"), ("--parameter =1", "must be NAME=VALUE"),
    ("--resource api", "absolute URI"),
  ])
  func `refuses what no server could mean`(_ option: String, _ words: String) async throws {
    let child = try Child(
      ["login", "--issuer", "https://id.example.org"] + option.split(separator: " ").map(String.init),
      variables: [:], input: "")
    expect(try await child.outcome(), 64, words)
  }
}
#endif
