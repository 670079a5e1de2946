#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Tokens for git, kubectl and docker: each protocol as documented, and with the real programs if they are installed.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The credential helper` {
  static func isHere(_ program: String) -> Bool {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
  }

  /// Signs in, at a server that sends an ID token with the sign-in, and none with a refresh.
  func signedIn(_ body: @Sendable (OAuthTerminal, _ token: String) async throws -> Void) async throws {
    try await OAuthTerminal.run(["--rotate"]) { terminal in
      let login = try await terminal.run("login --issuer \(terminal.server.url) --browser --client-id app")
      #expect(login.status == 0, "\(login.words)")
      try await body(terminal, String(try await terminal.run("token").out.dropLast()))
    }
  }

  func idToken(_ terminal: OAuthTerminal) async throws -> String {
    String(try await terminal.run("token --id-token").out.dropLast())
  }

  func object(_ text: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
  }

  /// Runs a shell script that knows the command and its folder. Its standard output is part of the words.
  func shell(
    _ script: String, _ terminal: OAuthTerminal, _ more: [String: String] = [:]
  ) async throws -> (status: Int32, words: String) {
    let own = [
      "PROGRAM": try Child.path(), "HANDSTAMP_HOME": terminal.home, "FOLDER": terminal.home, "HOME": terminal.home,
      "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
    ]
    return try await Shell.run(["sh", "-ec", "exec 1>&2\n" + script], environment: own.merging(more) { $1 })
  }

  // MARK: Hosts

  @Test(arguments: [
    ("git.example.org", "https://git.example.org", true), ("git.example.org", "https://git.example.org:8443", true),
    ("GIT.example.org", "https://Git.Example.Org/", true), ("git.example.org:443", "https://git.example.org", true),
    ("git.example.org:8443", "https://git.example.org:8443", true),
    ("git.example.org:8443", "https://git.example.org", false),
    ("git.example.org:8443", "https://git.example.org:8444", false),
    ("git.example.org", "http://git.example.org", false), ("git.example.org", "https://evil.git.example.org", false),
    ("git.example.org", "https://git.example.org.evil.net", false),
    ("git.example.org", "https://git.example.org@evil.net", false), ("git.example.org", "ssh://git.example.org", false),
    ("127.0.0.1", "http://127.0.0.1:3000", true), ("[::1]", "http://[::1]:3000", true),
    ("[::1]:3000", "https://[::1]:3000", true), ("[::1]", "https://[::2]", false),
    ("10.0.0.1", "http://10.0.0.1", false),
  ])
  func `releases a token only to a named host, with its port or any`(
    _ named: String, _ address: String, _ isAllowed: Bool
  ) throws {
    let destination = TokenDestination(address)
    #expect((destination?.isAllowed([try NamedHost(named)], own: nil) ?? false) == isAllowed)
  }

  @Test(arguments: [
    "https://git.example.org", "git.example.org/", "git.example.org/path", "", "a b", "me@git.example.org",
    "git.example.org:0", "git.example.org:99999", "git.example.org?a", "git.example.org#a",
  ])
  func `accepts only a host name as a host`(_ text: String) {
    #expect(throws: CommandError.self) { _ = try NamedHost(text) }
  }

  // MARK: git

  @Test(.enabled(if: isHere("git"), "needs git"))
  func `works with the real git, and replaces a token that git was refused`() async throws {
    try await signedIn { terminal, token in
      let configuration =
        #"-c credential.helper= -c "credential.helper=!'$PROGRAM' credential-helper --host git.example.org""#
      for host in ["git.example.org", "git.example.org:8443"] {
        let asked = "printf 'protocol=https\\nhost=\(host)\\npath=team/app.git\\n\\n'"
        let filled = try await shell("\(asked) | git \(configuration) credential fill", terminal)
        #expect(filled.status == 0)
        #expect(filled.words.contains("username=oauth2\npassword=\(token)\n"), "\(filled.words)")
      }
      let other = try await shell(
        "printf 'protocol=https\\nhost=evil.example.org\\n\\n' | git \(configuration) credential fill", terminal)
      #expect(other.status != 0)
      #expect(!other.words.contains(token))
      let rejected = try await shell(
        "printf 'protocol=https\\nhost=git.example.org\\nusername=oauth2\\npassword=\(token)\\n\\n' "
          + "| git \(configuration) credential reject", terminal)
      #expect(rejected.status == 0, "\(rejected.words)")
      #expect(try await terminal.run("token").out.dropLast() != token)
      let typed = try await terminal.run(
        "credential-helper --host https://git.example.org get", input: "protocol=https\nhost=git.example.org\n\n")
      #expect(typed.status == 64)
      #expect(typed.words.contains("hint: use a host without scheme and path"))
    }
  }

  // MARK: kubectl

  @Test func `prints an ExecCredential in the version that kubectl requests`() async throws {
    try await signedIn { terminal, token in
      let idToken = try await idToken(terminal)
      #expect(idToken != token && idToken.split(separator: ".").count == 3)
      for (asked, answered, option, shown) in [
        (nil, "v1", "", idToken), ("v1", "v1", "", idToken), ("v1beta1", "v1beta1", "--access-token", token),
      ] as [(String?, String, String, String)] {
        let info = asked.map {
          #"{"apiVersion":"client.authentication.k8s.io/\#($0)","kind":"ExecCredential","spec":{}}"#
        }
        // Standard input is the user's, and may never end.
        let outcome = try await terminal.run(
          "credential-helper \(option) kubectl", variables: info.map { ["KUBERNETES_EXEC_INFO": $0] } ?? [:])
        #expect(outcome.status == 0, "\(outcome.words)")
        let object = try object(outcome.out)
        #expect(object["apiVersion"] as? String == "client.authentication.k8s.io/\(answered)")
        #expect(object["kind"] as? String == "ExecCredential")
        let status = try #require(object["status"] as? [String: String])
        #expect(status["token"] == shown)
        let end = try #require(ISO8601DateFormatter().date(from: status["expirationTimestamp"] ?? ""))
        let left = end.timeIntervalSinceNow
        #expect(left > 60 && left <= 600)
      }
      for (info, words) in [
        (#"{"apiVersion":"client.authentication.k8s.io/v1alpha1"}"#, "apiVersion: client.authentication.k8s.io/v1"),
        ("no JSON", "unset KUBERNETES_EXEC_INFO"),
        (
          #"{"apiVersion":"client.authentication.k8s.io/v1","spec":{"cluster":{"server":"https://evil.example.org"}}}"#,
          "--host evil.example.org"
        ),
      ] {
        let outcome = try await terminal.run("credential-helper kubectl", variables: ["KUBERNETES_EXEC_INFO": info])
        #expect(outcome.status != 0)
        #expect(outcome.out.isEmpty)
        #expect(outcome.words.contains(words), "\(outcome.words)")
      }
      let blind = try await terminal.run("credential-helper --host k8s.example.org kubectl")
      #expect(blind.status == 64)
      #expect(blind.words.contains("provideClusterInfo: true"))
      let given = try await terminal.run("credential-helper kubectl", variables: ["HANDSTAMP_TOKEN": "t"])
      #expect(given.out.contains(#""status":{"token":"t"}"#), "\(given.out)")
      try await terminal.expireIDToken()
      let over = try await terminal.run("credential-helper kubectl")
      #expect(over.status == 4 && over.out.isEmpty)
      #expect(over.words.contains("hint: run: handstamp login --force"), "\(over.words)")
      #expect(try await terminal.run("credential-helper --access-token kubectl").status == 0, "the session goes on")
      _ = try await terminal.run("logout")
      let none = try await terminal.run("credential-helper kubectl")
      #expect(none.status == 4)
      #expect(none.words.contains("hint: run: handstamp login"))
    }
  }

  @Test(.enabled(if: isHere("kubectl") && isHere("openssl"), "needs kubectl and openssl"), arguments: [true, false])
  func `signs the real kubectl in, with the ID token or the access token`(isIDToken: Bool) async throws {
    let cluster = try Program("bearer.py")
    defer { cluster.close() }
    let port = try await line(of: cluster)
    let tokens = Gathered<String>()
    try await signedIn { terminal, token in
      tokens.add(isIDToken ? try await idToken(terminal) : token)
      let outcome = try await shell(
        """
        cat >"$FOLDER/kubeconfig" <<END
        apiVersion: v1
        kind: Config
        current-context: here
        contexts: [{name: here, context: {cluster: here, user: me}}]
        clusters: [{name: here, cluster: {server: "https://127.0.0.1:$PORT", insecure-skip-tls-verify: true}}]
        users:
        - name: me
          user:
            exec:
              apiVersion: client.authentication.k8s.io/v1
              command: $PROGRAM
              args: [credential-helper, --host, 127.0.0.1, $KIND]
              interactiveMode: IfAvailable
              provideClusterInfo: true
        END
        kubectl --kubeconfig "$FOLDER/kubeconfig" --cache-dir "$FOLDER/cache" get --raw /api
        """, terminal, ["PORT": port, "KIND": isIDToken ? "kubectl" : "--access-token, kubectl"])
      // Otherwise there is no request to wait for.
      try #require(outcome.status == 0, "\(outcome.words)")
    }
    let shown = try await authorization(to: cluster, at: "/api")
    #expect(tokens.all.map { "Bearer " + $0 } == [shown])
  }

  func line(of program: Program) async throws -> String {
    for await line in program.lines { return line }
    throw Program.Failed(description: "the server did not start")
  }

  /// The credential in the client's request to `path`.
  func authorization(to program: Program, at path: String) async throws -> String {
    while true {
      let parts = try await line(of: program).split(separator: " ", maxSplits: 1)
      if parts.count == 2, parts[0] == path, parts[1] != "nothing" { return String(parts[1]) }
    }
  }

  // MARK: docker

  @Test func `speaks docker's protocol`() async throws {
    try await signedIn { terminal, token in
      let helper = "credential-helper --host registry.example.org docker"
      for server in ["registry.example.org", "https://registry.example.org/v2/", "registry.example.org:5000"] {
        let got = try await terminal.run("\(helper) get", input: server + "\n")
        #expect(got.status == 0, "\(got.words)")
        let object = try object(got.out)
        #expect(object["ServerURL"] as? String == server)
        #expect(object["Username"] as? String == "oauth2")
        #expect(object["Secret"] as? String == token)
      }
      for server in ["https://index.docker.io/v1/", "http://registry.example.org", "registry.example.org.evil.net"] {
        let none = try await terminal.run("\(helper) get", input: server)
        #expect(none.status == 1)
        #expect(none.out == "credentials not found in native keychain\n")
      }
      let own = try await terminal.run("credential-helper docker get", input: terminal.server.url)
      #expect(try object(own.out)["Secret"] as? String == token)
      #expect(
        try object(try await terminal.run("\(helper) list").out) as? [String: String] == [
          "registry.example.org": "oauth2"
        ])
      #expect(try await terminal.run("credential-helper docker list").out == "{}\n")
      let kept = #"{"ServerURL":"registry.example.org","Username":"ada","Secret":"x"}"#
      #expect(try await terminal.run("\(helper) store", input: kept).status == 0)
      #expect(try await terminal.run("\(helper) erase", input: "registry.example.org").status == 0)
      #expect(try await terminal.run("token").out.dropLast() == token, "nothing was erased")
      // A password that cannot be kept is rejected.
      let other = try await terminal.run(
        "\(helper) store", input: #"{"ServerURL":"https://index.docker.io/v1/","Username":"ada","Secret":"x"}"#)
      #expect(other.status == 1)
      #expect(other.out.contains("cannot store credentials for"))
      #expect(try await terminal.run("\(helper) invented").status == 64)
      #expect(try await terminal.run("credential-helper docker").status == 64)
      _ = try await terminal.run("logout")
      let out = try await terminal.run("\(helper) get", input: "registry.example.org")
      #expect(out.status == 4)
      #expect(out.out.contains("run: handstamp login"), "docker shows its users stdout: \(out.out)")
      #expect(try await terminal.run("\(helper) get", input: "index.docker.io").out.hasPrefix("credentials not found"))
    }
  }

  @Test func `is a docker helper when run under docker's naming scheme`() async throws {
    try await signedIn { terminal, token in
      let outcome = try await shell(
        """
        ln -s "$PROGRAM" "$FOLDER/docker-credential-handstamp"
        PATH="$FOLDER:$PATH"
        echo "$SERVER" | docker-credential-handstamp get
        """, terminal, ["SERVER": terminal.server.url])
      #expect(outcome.status == 0)
      #expect(outcome.words.contains(#""Secret":"\#(token)""#), "\(outcome.words)")
    }
  }

  @Test(.enabled(if: isHere("docker") && isHere("openssl"), "needs docker and openssl"))
  func `signs the real docker in`() async throws {
    let registry = try Program("bearer.py")
    defer { registry.close() }
    let port = try await line(of: registry)
    let tokens = Gathered<String>()
    try await signedIn { terminal, token in
      tokens.add(token)
      let outcome = try await shell(
        """
        mkdir "$FOLDER/bin" "$FOLDER/docker"
        printf '#!/bin/sh\\nexec "%s" credential-helper --host localhost docker "$@"\\n' "$PROGRAM" \
          >"$FOLDER/bin/docker-credential-handstamp"
        chmod +x "$FOLDER/bin/docker-credential-handstamp"
        echo "{\\"credHelpers\\":{\\"localhost:$PORT\\":\\"handstamp\\"}}" >"$FOLDER/docker/config.json"
        PATH="$FOLDER/bin:$PATH"
        docker --config "$FOLDER/docker" manifest inspect --insecure "localhost:$PORT/app:latest"
        docker --config "$FOLDER/docker" logout "localhost:$PORT"
        """, terminal, ["PORT": port])
      try #require(outcome.status == 0, "\(outcome.words)")
      #expect(try await terminal.run("token").out.dropLast() == token)
    }
    let shown = try await authorization(to: registry, at: "/v2/app/manifests/latest")
    #expect(tokens.all.map { "Basic " + Data("oauth2:\($0)".utf8).base64EncodedString() } == [shown])
  }
}
#endif
