#if Programs
import Foundation
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Programs that ask for a token in a protocol of their own, unmodified.
extension `The credential helper` {
  /// Runs the body next to an index that asks for credentials, and returns those it got at `path`.
  private func atIndex(
    showing path: String, _ body: @Sendable (OAuthTerminal, _ token: String, _ port: String) async throws -> Void
  ) async throws -> (token: String, shown: String) {
    let index = try Program("index.py")
    defer { index.close() }
    let port = try await line(of: index)
    let tokens = Gathered<String>()
    try await signedIn { terminal, token in
      tokens.add(token)
      try await body(terminal, token, port)
    }
    let shown = try await authorization(to: index, at: path)
    return (try #require(tokens.all.first), shown)
  }

  /// A program named keyring, as [the documents](docs/recipes.md) say.
  private static let keyring = """
    mkdir "$FOLDER/bin"
    printf '#!/bin/sh\\nexec "%s" credential-helper --host 127.0.0.1 keyring "$@"\\n' "$PROGRAM" >"$FOLDER/bin/keyring"
    chmod +x "$FOLDER/bin/keyring"
    PATH="$FOLDER/bin:$PATH"

    """

  private func basic(_ token: String) -> String { "Basic " + Data("oauth2:\(token)".utf8).base64EncodedString() }

  // MARK: pip and uv

  @Test func `speaks keyring's protocol`() async throws {
    try await signedIn { terminal, token in
      let helper = "credential-helper --host pypi.example.org keyring"
      for service in ["https://pypi.example.org/simple/", "pypi.example.org", "pypi.example.org:8443"] {
        #expect(try await terminal.run("\(helper) get \(service) oauth2").out == token + "\n")
        #expect(try await terminal.run("\(helper) --mode creds get \(service)").out == "oauth2\n\(token)\n")
        let json = try await terminal.run("\(helper) --mode=creds --output=json get \(service) ada")
        #expect(try object(json.out) as? [String: String] == ["username": "ada", "password": token])
      }
      for (service, hint) in [
        ("https://pypi.org/simple/", "add --host pypi.org"), ("https://u:hidden@pypi.org/", "add --host pypi.org"),
        ("http://pypi.example.org", "use https"), ("pypi.example.org.evil.net", "add --host pypi.example.org.evil.net"),
      ] {
        let none = try await terminal.run("\(helper) get \(service) oauth2")
        #expect(none.status == 1 && none.out.isEmpty)
        #expect(none.words.contains("hint: \(hint)") && !none.words.contains("hidden"), "\(none.words)")
      }
      #expect(try await terminal.run("\(helper) set https://pypi.example.org ada", input: "x\n").status == 0)
      #expect(try await terminal.run("\(helper) set https://pypi.org ada", input: "x\n").status == 1)
      #expect(try await terminal.run("\(helper) del https://pypi.example.org ada").status == 0)
      #expect(try await terminal.run("token").out == token + "\n", "nothing was erased")
      #expect(
        try await terminal.run("\(helper) get pypi.example.org u", variables: ["HANDSTAMP_TOKEN": "t"]).out == "t\n")
      let linked = try await shell(
        #"ln -s "$PROGRAM" "$FOLDER/keyring"; "$FOLDER/keyring" get "$SERVER" oauth2"#, terminal,
        ["SERVER": terminal.server.url])
      #expect(linked.status == 0 && linked.words.contains(token), "\(linked.words)")
    }
  }

  private static func hasKeyringOption() async -> Bool {
    (try? await Shell.run(["sh", "-c", "pip install --help | grep -q keyring-provider"]))?.status == 0
  }

  @Test(.enabled("needs pip 23.1") { await hasKeyringOption() })
  func `signs the real pip in`() async throws {
    let (token, shown) = try await atIndex(showing: "/simple/demo/") { terminal, _, port in
      let outcome = try await shell(
        `The credential helper`.keyring + """
          pip download --isolated --no-input --no-deps --no-cache-dir --disable-pip-version-check -d "$FOLDER/new" \
            --keyring-provider subprocess --index-url "http://oauth2@127.0.0.1:$PORT/simple/" demo
          ls "$FOLDER/new"
          """, terminal, ["PORT": port])
      try #require(outcome.status == 0, "\(outcome.words)")
    }
    #expect(shown == basic(token))
  }

  @Test(.enabled(if: isHere("uv"), "needs uv"))
  func `signs the real uv in`() async throws {
    let (token, shown) = try await atIndex(showing: "/simple/demo/") { terminal, _, port in
      let outcome = try await shell(
        `The credential helper`.keyring + """
          echo demo | uv --no-cache --no-config pip compile --keyring-provider subprocess \
            --index-url "http://oauth2@127.0.0.1:$PORT/simple/" -
          """, terminal, ["PORT": port])
      try #require(outcome.status == 0, "\(outcome.words)")
    }
    #expect(shown == basic(token))
  }

  // MARK: cargo

  private func request(_ kind: String, _ url: String, _ args: String = "") -> String {
    #"{"v":1,"registry":{"index-url":"\#(url)","name":"x"},"kind":"\#(kind)","operation":"read","args":[\#(args)]}"#
      + "\n"
  }

  @Test func `speaks cargo's protocol`() async throws {
    try await signedIn { terminal, token in
      let config = #""credential-helper","cargo","--host","cargo.example.org""#
      let served = "sparse+https://cargo.example.org/index/"
      // As cargo runs it, with several requests.
      let answered = try await terminal.run(
        "--cargo-plugin",
        input: request("get", served, config) + request("get", "sparse+https://index.crates.io/", config)
          + request("get", "sparse+http://cargo.example.org/", config) + request("logout", served, config)
          + request("get", served) + request("get", served, #""--colour""#))
      #expect(answered.status == 0, "\(answered.words)")
      let lines = answered.out.split(separator: "\n").map(String.init)
      try #require(lines.count == 7, "\(lines)")
      #expect(lines[0] == #"{"v":[1]}"#)
      let given = try #require(try object(lines[1])["Ok"] as? [String: Any])
      #expect(given["kind"] as? String == "get" && given["token"] as? String == token)
      #expect(given["cache"] as? String == "expires" && given["operation_independent"] as? Bool == true)
      let end = try #require(given["expiration"] as? Double)
      #expect((60...600).contains(end - Date().timeIntervalSince1970))
      for (line, kind) in zip(
        lines[2...],
        ["url-not-supported", "url-not-supported", "operation-not-supported", "url-not-supported", "other"])
      {
        let refused = try #require(try object(line)["Err"] as? [String: Any], "\(line)")
        #expect(refused["kind"] as? String == kind)
        #expect(!line.contains(token))
      }
      #expect(lines[6].contains("credential-provider = "))
      let typed = try await terminal.run(
        "credential-helper --host cargo.example.org cargo", input: request("get", "https://cargo.example.org/git"))
      #expect(typed.out.contains(token), "\(typed.out) \(typed.words)")
      let own = try await terminal.run(
        "credential-helper cargo", input: request("get", "sparse+\(terminal.server.url)/"))
      #expect(own.out.contains(token))
      _ = try await terminal.run("logout")
      let out = try await terminal.run("--cargo-plugin", input: request("get", served, config))
      #expect(out.status == 0 && out.out.contains("run: handstamp login"), "cargo shows it: \(out.out)")
    }
  }

  @Test(.enabled(if: isHere("cargo"), "needs cargo"))
  func `signs the real cargo in`() async throws {
    let own = ProcessInfo.processInfo.environment
    let rustup = own["RUSTUP_HOME"] ?? (own["HOME"] ?? "") + "/.rustup"
    let (token, shown) = try await atIndex(showing: "/api/v1/crates/demo/owners") { terminal, _, port in
      let outcome = try await shell(
        """
        mkdir -p "$FOLDER/crate/.cargo"
        cd "$FOLDER/crate"
        cat >.cargo/config.toml <<END
        [registries.example]
        index = "sparse+http://127.0.0.1:$PORT/index/"
        credential-provider = ["$PROGRAM", "credential-helper", "cargo", "--host", "127.0.0.1"]
        END
        cargo owner --list demo --registry example
        """, terminal, ["PORT": port, "CARGO_HOME": terminal.home + "/cargo", "RUSTUP_HOME": rustup])
      try #require(outcome.status == 0, "\(outcome.words)")
    }
    #expect(shown == token)
  }

  // MARK: aws

  @Test(.enabled(if: isHere("aws") && isHere("moto_server"), "needs aws and moto"))
  func `signs the real aws in, by process and by file`() async throws {
    try await signedIn { terminal, token in
      let idToken = try await idToken(terminal)
      let outcome = try await shell(
        """
        moto_server -H 127.0.0.1 -p 0 >"$FOLDER/moto" 2>&1 & MOTO=$!
        trap 'kill -9 $MOTO' EXIT
        until URL=$(grep -o 'http://127[^ ]*' "$FOLDER/moto" 2>/dev/null); do kill -0 $MOTO; done
        export AWS_ENDPOINT_URL="$URL" AWS_CONFIG_FILE="$FOLDER/aws" AWS_EC2_METADATA_DISABLED=true AWS_REGION=eu-central-1
        export AWS_DEFAULT_REGION=eu-central-1
        role=arn:aws:iam::123456789012:role/deploy
        printf '[profile work]\\ncredential_process = "%s" credential-helper aws --role-arn %s --duration 15m\\n' \
          "$PROGRAM" $role >"$AWS_CONFIG_FILE"
        aws --profile work sts get-caller-identity --query Arn --output text
        export AWS_ROLE_ARN=$role AWS_ROLE_SESSION_NAME=by-file
        "$PROGRAM" exec --env AWS_WEB_IDENTITY_TOKEN_FILE=id-token-file -- \
          aws sts get-caller-identity --query Arn --output text
        ls "$HANDSTAMP_HOME"
        """, terminal)
      #expect(outcome.status == 0, "\(outcome.words)")
      #expect(outcome.words.contains("assumed-role/deploy/handstamp\n"), "\(outcome.words)")
      #expect(outcome.words.contains("assumed-role/deploy/by-file\n"), "\(outcome.words)")
      #expect(!outcome.words.contains("id-token-"), "the file is gone: \(outcome.words)")
      #expect(!outcome.words.contains(token) && !outcome.words.contains(idToken))
    }
  }

  // MARK: Bad input

  /// A word, what the program writes, its environment, and the exit status.
  private struct Bad {
    var words: [String]
    var input = ""
    var variables: [String: String] = [:]
    var status: Int32 = 64
  }

  @Test func `answers bad input with an exit status and a hint, and without a secret`() async throws {
    let huge = String(repeating: "a", count: HelperInput.limit + 1)
    let garbage = "\u{1}\u{7F}\u{FFFD}{\"\n"
    let role = ["aws", "--role-arn", "arn:aws:iam::123456789012:role/deploy"]
    let info = "KUBERNETES_EXEC_INFO"
    try await signedIn { terminal, token in
      let idToken = try await idToken(terminal)
      let table: [Bad] = [
        Bad(words: ["get"], input: garbage), Bad(words: ["get"]), Bad(words: ["get"], input: huge),
        Bad(words: ["get"], input: "protocol=https\nhost=host.exam"), Bad(words: ["erase"], input: garbage),
        Bad(words: ["docker", "get"], input: garbage), Bad(words: ["docker", "get"]),
        Bad(words: ["docker", "get"], input: huge), Bad(words: ["docker", "store"], input: garbage),
        Bad(words: ["docker", "store"], input: #"{"ServerURL":"host.example.org","User"#),
        Bad(words: ["docker", "store"], input: huge),
        Bad(words: ["kubectl"], variables: [info: garbage]),
        Bad(words: ["kubectl"], variables: [info: #"{"apiVersion":"client.authentication.k8s.io/v9"}"#]),
        Bad(words: ["kubectl"], variables: [info: String(huge.prefix(100_000))]),
        Bad(words: ["keyring"]), Bad(words: ["keyring", "get"]),
        Bad(words: ["keyring", "get", garbage, "u"], status: 1),
        Bad(words: ["keyring", "get", String(huge.prefix(100_000)), "u"], status: 1),
        Bad(words: ["cargo"], input: garbage), Bad(words: ["cargo"]), Bad(words: ["cargo"], input: huge),
        Bad(words: ["cargo"], input: request("get", "https://host.example.org").replacing("\n", with: "")),
        Bad(words: ["cargo"], input: request("get", "https://host.example.org").replacing(":1,", with: ":2,")),
        Bad(words: ["aws"]), Bad(words: ["aws", "--role-arn", garbage]),
        Bad(words: role + ["--duration", "1m"]), Bad(words: role + ["--session-name", "a b"]),
        Bad(words: role + ["--region", "evil.example.org/"]),
        Bad(words: role, variables: ["AWS_ENDPOINT_URL": "http://evil.example.org"]),
        // Another server than AWS's.
        Bad(words: role, variables: ["AWS_ENDPOINT_URL": terminal.server.url], status: 6),
        Bad(words: role, variables: ["AWS_ENDPOINT_URL_STS": "http://127.0.0.1:1"], status: 6),
      ]
      for bad in table {
        let outcome = try await terminal.run(
          ["credential-helper", "--host", "host.example.org"] + bad.words, input: bad.input, variables: bad.variables)
        let about = "\(bad.words) \(bad.input.prefix(40)): \(outcome.status) \(outcome.words.prefix(500))"
        #expect(outcome.status == bad.status, "\(about)")
        #expect(outcome.words.contains("\nhint: "), "\(about)")
        #expect(outcome.words.utf8.count < 1000, "\(about)")
        for secret in [token, idToken] { #expect(!(outcome.out + outcome.words).contains(secret), "\(about)") }
      }
    }
  }
}
#endif
