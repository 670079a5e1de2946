#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampServer
import HandstampSupport
import HTTPTypes
import Hummingbird
import NIOCore
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// GitHub as a job sees it: the address that gives out ID tokens, and the issuer that signs them.
private struct Actions: HTTPResponder {
  typealias Context = WireContext
  static let requestToken = "token-of-the-job"
  static let key = JWSPrivateKey.rs256(bits: 2048)
  let issuer = Locked("")

  /// The variables of the job.
  func variables() -> [String: String] {
    [
      "ACTIONS_ID_TOKEN_REQUEST_URL": issuer.withLock { $0 } + "/token?api-version=2.0",
      "ACTIONS_ID_TOKEN_REQUEST_TOKEN": Actions.requestToken,
    ]
  }

  func idToken(for audience: String) -> String {
    guard let key = Actions.key else { return "" }
    let now = UnixTime.current.seconds
    var claims = JSONText([("iss", issuer.withLock { $0 }), ("aud", audience), ("repository", "a/b")])
    claims.add("sub", "repo:a/b:ref:refs/heads/main")
    claims.add("ref", "refs/heads/main")
    claims.add("jti", "j-\(UInt64.random(in: 0 ... .max))")
    claims.add("iat", now)
    claims.add("exp", now + 300)
    let header = CompactJWS.header(for: key.publicKey, type: "JWT")
    let token = CompactJWS.signed(claims.finished, under: header, by: key)
    return String(decoding: token ?? [], as: UTF8.self)
  }

  @concurrent func respond(to request: Hummingbird.Request, context: WireContext) async throws -> Response {
    let issuer = issuer.withLock { $0 }
    switch request.uri.path {
    case "/.well-known/openid-configuration":
      return json(JSONText([("issuer", issuer), ("jwks_uri", issuer + "/keys")]).text)
    case "/keys":
      let keys = Actions.key.map { JWKSet([JWK($0.publicKey)]).json } ?? []
      return json(String(decoding: keys, as: UTF8.self))
    case "/token":
      guard request.headers[.authorization] == "Bearer " + Actions.requestToken,
        request.uri.queryParameters.get("api-version") == "2.0",
        let audience = request.uri.queryParameters.get("audience")
      else { return Response(status: .unauthorized) }
      return json(JSONText([("value", idToken(for: audience))]).text)
    case "/api":
      return json(request.headers[.authorization]?.hasPrefix("Bearer ") == true ? #"{"ok":true}"# : "{}")
    default: return Response(status: .notFound)
    }
  }

  private func json(_ text: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: "application/json"], body: .init(byteBuffer: ByteBuffer(string: text)))
  }
}

extension Processes {
  @Suite struct `A program without a user at a terminal` {
    /// A server whose clients the operator has added as the guide says.
    private static func run(
      _ adding: [[String]], _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
      try await ProcessFixture.inFolder { folder async throws in
        var secrets: [String: String] = [:]
        for arguments in adding {
          let added = try await ProcessFixture.handstamp(
            ["admin", "clients", "add"] + arguments + ["--clients", folder + "/clients.json", "--json"], home: folder)
          #expect(added.status == 0, "\(added.words)")
          let answer = try object(added.out)
          secrets[try #require(answer["id"] as? String)] = answer["secret"] as? String
        }
        let serving = try Child(
          [
            "serve", "--data", folder + "/data", "--port", "\(try FreePort.find())", "--rate-limits", "none",
            "--clients",
            folder + "/clients.json", "--until-stdin-ends",
          ], log: folder + "/serve.log")
        defer { serving.send(SIGKILL) }
        let server = try await within(.seconds(240), "the server's start") { try await serving.line() }
        let stage = Stage(folder: folder, server: server, secrets: secrets)
        try await within(.seconds(120), "the test") { try await body(stage) }
      }
    }

    private struct Stage: Sendable {
      let folder: String
      let server: String
      let secrets: [String: String]

      func secretFile(of client: String) throws -> String {
        let path = "\(folder)/\(client).secret"
        let text = secrets[client] ?? ""
        _ = FileManager.default.createFile(
          atPath: path, contents: Data((text + "\n").utf8), attributes: [.posixPermissions: 0o600])
        return path
      }

      func run(_ arguments: [String], variables: [String: String] = [:]) async throws -> Child.Outcome {
        try await ProcessFixture.handstamp(arguments, home: folder + "/home", variables: variables)
      }

      func machine(_ client: String) -> [String] {
        ["--client-credentials", "--issuer", server, "--client-id", client]
      }

      func admin(_ arguments: String...) async throws -> Child.Outcome {
        try await run(["admin", "clients"] + arguments + ["--data", folder + "/data"])
      }

      static func claims(_ token: String) throws -> JSONValue {
        let parts = token.split(separator: ".")
        return try #require(parts.count == 3 ? Base64URL.decode(parts[1]).flatMap { JSONValue($0) } : nil)
      }
    }

    @Test func `gets a token by its secret, and uses it in exec and request`() async throws {
      let add = [
        "nightly", "--machine", "--scope", "read", "--scope", "write", "--audience", "https://api.example.org",
      ]
      try await Self.run([add]) { stage async throws in
        let options = stage.machine("nightly") + ["--client-secret-file", try stage.secretFile(of: "nightly")]
        let shown = try await stage.run(["token", "--json", "--scope", "read"] + options)
        #expect(shown.status == 0, "\(shown.words)")
        let answer = try object(shown.out)
        #expect(answer["source"] as? String == "client")
        #expect(answer["expiresAt"] is String)
        let claims = try Stage.claims(try #require(answer["token"] as? String))
        #expect(claims["sub"]?.string == "nightly" && claims["scope"]?.string == "read")
        #expect(claims["aud"]?.string == "https://api.example.org")

        let run = try await stage.run(
          ["exec", "--env", "API_TOKEN"] + options + ["--", "sh", "-c", "echo $API_TOKEN"])
        #expect(try Stage.claims(String(run.out.dropLast()))["sub"]?.string == "nightly", "\(run.words)")

        // The account's API knows no programs.
        let own = try await stage.run(["token", "--resource", stage.server] + options)
        #expect(try Stage.claims(String(own.out.dropLast()))["aud"]?.string == stage.server)
        let actions = Actions()
        try await actions.serving { address async throws in
          let sent = try await stage.run(["request", address + "/api"] + options)
          #expect(sent.out.hasPrefix(#"{"ok":true}"#), "\(sent.words)")
        }
        let scan = SecretScan([String(own.out.dropLast())])
        let home = stage.folder + "/home"
        for file in FileManager.default.subpaths(atPath: home) ?? [] {
          let content = FileManager.default.contents(atPath: "\(home)/\(file)") ?? Data()
          #expect(!scan.finds(in: Array(content)), "\(file)")
        }
        let listed = try await stage.admin("tokens")
        #expect(listed.out.contains("nightly") && listed.out.contains("127.0.0.1"), "\(listed.out)")
        #expect(try await stage.admin("revoke", "nightly").out == "tokens and sessions ended: 1\n")
        try expectRefusal(try await stage.admin("revoke", "nosuch"), .failure, naming: "nosuch", hint: "clients tokens")
      }
    }

    @Test func `gets a token by its key, of which the server knows the public part`() async throws {
      try await ProcessFixture.inFolder { keys async throws in
        let key = P256.Signing.PrivateKey()
        let path = keys + "/client.pem"
        _ = FileManager.default.createFile(
          atPath: path, contents: Data(key.pemRepresentation.utf8), attributes: [.posixPermissions: 0o600])
        let shared = keys + "/client.pub"
        try Data(key.publicKey.pemRepresentation.utf8).write(to: URL(fileURLWithPath: shared))
        let add = ["deploy", "--machine", "--public-key", shared, "--scope", "release"]
        try await Self.run([add]) { stage async throws in
          #expect(stage.secrets.isEmpty)
          let options = stage.machine("deploy") + ["--client-key-file", path]
          let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { try await stage.run(["token"] + options).out } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
          }
          #expect(tokens.count == 8 && tokens.allSatisfy { $0.hasPrefix("ey") }, "each process has its own")

          let other = keys + "/other.pem"
          _ = FileManager.default.createFile(
            atPath: other, contents: Data(JWSPrivateKey.es256().pem.utf8), attributes: [.posixPermissions: 0o600])
          let refused = try await stage.run(["token"] + stage.machine("deploy") + ["--client-key-file", other])
          try expectRefusal(refused, .configuration, naming: "deploy", hint: "the key")
          chmod(path, 0o644)
          try expectRefusal(
            try await stage.run(["token"] + options), .failure, naming: path, hint: "chmod 600")
        }
      }
    }

    @Test func `gets a token by the ID token of its job, at GitHub and at GitLab`() async throws {
      let actions = Actions()
      try await actions.serving { issuer async throws in
        actions.issuer.withLock { $0 = issuer }
        let add = [
          "release", "--machine", "--trust-issuer", issuer, "--trust-claim", "repository=a/b", "--trust-claim",
          "ref=refs/heads/main", "--scope", "publish",
        ]
        let foreign = [
          "foreign", "--machine", "--trust-issuer", issuer, "--trust-claim", "repository=c/d",
        ]
        try await Self.run([add, foreign]) { stage async throws in
          func options(_ ci: String, _ client: String = "release") -> [String] {
            ["token", "--ci", ci, "--issuer", stage.server, "--client-id", client]
          }
          let github = try await stage.run(options("github"), variables: actions.variables())
          #expect(github.status == 0, "\(github.words)")
          #expect(try Stage.claims(String(github.out.dropLast()))["sub"]?.string == "release")
          let given = ["HANDSTAMP_ID_TOKEN": actions.idToken(for: "release")]
          let gitlab = try await stage.run(options("gitlab"), variables: given)
          #expect(try Stage.claims(String(gitlab.out.dropLast()))["scope"]?.string == "publish", "\(gitlab.words)")

          let other = try await stage.run(options("github", "foreign"), variables: actions.variables())
          try expectRefusal(other, .configuration, naming: "foreign", hint: "claims")
          let wrong = try await stage.run(
            options("github") + ["--ci-audience", "elsewhere"], variables: actions.variables())
          try expectRefusal(wrong, .configuration, naming: "release", hint: "--ci-audience")
          for ci in ["github", "gitlab"] {
            try expectRefusal(try await stage.run(options(ci)), .configuration, hint: "id-token: write")
          }
          var denied = actions.variables()
          denied["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] = "another"
          let unauthorized = try await stage.run(options("github"), variables: denied)
          try expectRefusal(unauthorized, .configuration, naming: "401", hint: "id-token: write")
          #expect(!unauthorized.words.contains("another"))
        }
      }
    }

    @Test func `is told which options are missing, and which have no effect`() async throws {
      try await ProcessFixture.inFolder { folder async throws in
        func refusal(
          _ arguments: [String], variables: [String: String] = [:], _ status: ExitReason = .usage, hint: String
        ) async throws {
          try expectRefusal(
            try await ProcessFixture.handstamp(arguments, home: folder, variables: variables), status, hint: hint)
        }
        let full = ["--issuer", "https://id.example.org", "--client-id", "a"]
        try await refusal(["token", "--client-credentials"], hint: "--client-id ID")
        try await refusal(["token", "--client-credentials"] + full, hint: "--client-secret-file FILE")
        try await refusal(["token", "--client-id", "a"], hint: "--client-credentials")
        try await refusal(["token", "--client-credentials", "--ci", "github"] + full, hint: "one of them")
        try await refusal(["token", "--client-credentials", "--account", "x"] + full, hint: "omit --account")
        try await refusal(["token", "--ci", "jenkins"] + full, hint: "token --help")
        try await refusal(["token", "--ci", "github", "--id-token"] + full, hint: "omit --id-token")
        try await refusal(
          ["token", "--ci", "github"] + full, variables: ["HANDSTAMP_TOKEN": "t"], .failure,
          hint: "unset HANDSTAMP_TOKEN")
        try await refusal(
          ["admin", "clients", "add", "x", "--machine", "--trust-issuer", "https://ci.example.org", "--clients", "c"],
          hint: "--trust-claim")
        try await refusal(
          ["admin", "clients", "add", "x", "--trust-issuer", "https://ci.example.org", "--clients", "c"],
          hint: "--machine")
        try await refusal(
          ["admin", "clients", "add", "x", "--machine", "--device", "--clients", "c"], hint: "drop one")
      }
    }
  }
}
#endif
