#if Programs
import Crypto
import Foundation
import HTTPTypes
import Handstamp
import HandstampJOSE
import HandstampSupport
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp-server gate` {
    private struct Session {
      var id: String
      var access: String
      var account: String
    }

    private func send(_ url: String, _ headers: [(String, String)] = []) async throws -> TransportResponse {
      try await send("GET", url, headers)
    }

    private func send(
      _ method: String, _ url: String, _ headers: [(String, String)] = [], body: String = ""
    ) async throws -> TransportResponse {
      try await AsyncHTTPTransport.shared.send(
        TransportRequest(
          method: method, url: url, headers: headers.map { HeaderField($0.0, $0.1) }, body: Array(body.utf8)))
    }

    private func signUp(_ fixture: GateFixture, _ headers: [(String, String)] = []) async throws -> Session {
      let body =
        #"{"email":"a\#(UInt32.random(in: 0 ... .max))@example.org","password":"correct horse battery","username":"A","device":{"id":"d-1","name":"a","platform":"b"}}"#
      let answer = try await send(
        "POST", fixture.server + "/v1/sign-up", [("Content-Type", "application/json")] + headers, body: body)
      let json = try #require(JSONValue(answer.body))
      return Session(
        id: try #require(json["session_id"]?.string), access: try #require(json["access_token"]?.string),
        account: try #require(json["profile"]?["id"]?.string))
    }

    private func text(_ answer: TransportResponse) -> String { String(decoding: answer.body, as: UTF8.self) }

    @Test func `demands a stronger or a later sign-in where the proxy is told to`() async throws {
      try await GateFixture.run { fixture in
        let session = try await signUp(fixture)
        func verify(_ rule: String) async throws -> TransportResponse {
          try await send(
            fixture.gate + "/verify?" + rule,
            [
              ("Authorization", "Bearer \(session.access)"), ("X-Forwarded-Uri", "/pay"),
              ("X-Forwarded-Method", "POST"),
            ])
        }
        #expect(try await verify("max_age=3600").status == 200)
        let refused = try await verify("acr_values=phr%20x&max_age=3600&scope=pay")
        #expect(refused.status == 401)
        #expect(
          refused.header("WWW-Authenticate")?.hasPrefix(
            #"Bearer error="insufficient_user_authentication", scope="pay", acr_values="phr x", max_age="3600""#)
            == true)
        #expect(text(refused).contains("insufficient_user_authentication"))
        // No proxy would replace these.
        for name in ["Handstamp-Groups", "HANDSTAMP-EMAIL", "handstamp_subject", "Handstamp.Session", "Handstamp"] {
          let answer = try await send(
            fixture.gate + "/verify",
            [
              ("Authorization", "Bearer \(session.access)"), ("X-Forwarded-Uri", "/pay"),
              ("X-Forwarded-Method", "POST"), (name, "admin"),
            ])
          #expect(answer.status == 403 && JSONValue(answer.body)?["code"] == .string("field_reserved"), "\(name)")
        }
        // A mistyped rule admits nothing.
        for wrong in ["max_age=5m", "max_age=-1", "max_age="] { #expect(try await verify(wrong).status == 500) }
      }
    }

    @Test func `sets the fields that the configurations on its page replace`() throws {
      let root = (0..<5).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
      let page = try String(contentsOf: root.appendingPathComponent("docs/gate.md"), encoding: .utf8)
      func fields(_ text: some StringProtocol) -> Set<String> {
        Set(String(text).matches(of: #/Handstamp-\w+/#).map { String($0.output) })
      }
      func fields(ofLines start: String) -> Set<String> {
        fields(page.split(separator: "\n").filter { $0.contains(start) }.joined(separator: " "))
      }
      let own = Set(GateResponder.fields.map(\.rawName))
      #expect(own.count == 5, "docs/gate.md calls them the five fields")
      #expect(fields(ofLines: "proxy_set_header Handstamp-") == own, "nginx")
      #expect(fields(ofLines: "copy_headers ") == own, "Caddy")
      #expect(fields(ofLines: "`/verify` answers 200 with") == own)
    }

    @Test func `tells services behind nginx and Caddy whose request it is, until the session ends`() async throws {
      try await GateFixture.run { fixture in
        for proxy in [fixture.nginx, fixture.caddy] {
          let session = try await signUp(fixture)
          let token = ("Authorization", "Bearer \(session.access)")
          let payload = Base64URL.decode(String(session.access.split(separator: ".")[1]))
          let end = try #require(payload.flatMap { JSONValue($0) }?["exp"]?.integer)
          let identity = "\(session.account)|\(session.id)|handstamp||\(end)"
          #expect(text(try await send(proxy + "/things?a=b", [token])) == identity)
          #expect(text(try await send("POST", proxy + "/things", [token], body: "x")) == identity)
          // What a client claims to be is replaced, with and without a token, in any spelling.
          let claims = [
            "Handstamp-Subject", "handstamp-session", "HANDSTAMP-CLIENT", "Handstamp-Scope", "Handstamp-Expires",
            "Handstamp_Subject", "handstamp.session",
          ].map { ($0, "admin") }
          #expect(text(try await send(proxy + "/things", [token] + claims)) == identity)
          let groups = try await send(proxy + "/things", [token, ("Handstamp-Groups", "admin")])
          #expect(groups.status == (proxy == fixture.caddy ? 200 : 403), "Caddy has removed it")
          let none = try await send(proxy + "/things", claims)
          #expect(none.status == 401)
          let place = #"resource_metadata="\#(proxy)/.well-known/oauth-protected-resource""#
          #expect(none.header("WWW-Authenticate") == #"Bearer \#(place), DPoP \#(place), algs="ES256""#)
          let bad = try await send(proxy + "/things", [("Authorization", "Bearer \(session.access)x")])
          #expect(bad.status == 401)
          #expect(bad.header("WWW-Authenticate")?.hasPrefix(#"Bearer error="invalid_token", \#(place)"#) == true)
          let write = try await send(proxy + "/write")
          #expect(write.status == 401)
          #expect(write.header("WWW-Authenticate")?.hasPrefix(#"Bearer scope="write", \#(place)"#) == true)
          let metadata = try await send(proxy + "/.well-known/oauth-protected-resource")
          #expect(metadata.status == 200)
          #expect(JSONValue(metadata.body)?["resource"] == .string(proxy))
          #expect(JSONValue(metadata.body)?["authorization_servers"] == .array([.string(fixture.server)]))
          #expect(JSONValue(metadata.body)?["scopes_supported"] == .array([.string("read")]))
          _ = try await send(
            "POST", fixture.server + "/v1/sign-out", [token, ("Content-Type", "application/json")], body: "{}")
          #expect(await eventually { (try? await send(proxy + "/things", [token]))?.status == 401 })
        }
        // Caddy passes the whole answer on.
        let problem = try await send(fixture.caddy + "/things")
        #expect(problem.header("Content-Type") == "application/problem+json")
        #expect(JSONValue(problem.body)?["code"] == .string("token_missing"))
        // The scope is asked for in the proxy's configuration; first-party tokens have all.
        let session = try await signUp(fixture)
        // A head that the proxy admits.
        let large = [("Authorization", "Bearer \(session.access)"), ("Cookie", String(repeating: "x", count: 20_000))]
        #expect(try await send(fixture.caddy + "/things", large).status == 200)
        for proxy in [fixture.nginx, fixture.caddy] {
          #expect(try await send(proxy + "/write", [("Authorization", "Bearer \(session.access)")]).status == 200)
          #expect(try await send(proxy + "/write?scope=", []).status == 401)
        }
      }
    }

    @Test func `checks proofs of possession against what the client asked the proxy for`() async throws {
      try await GateFixture.run { fixture in
        let key = JWSPrivateKey.es256()
        func proof(_ method: String, _ url: String, nonce: String? = nil, token: String? = nil) throws -> (
          String, String
        ) {
          let jwk = String(decoding: JWK(key.publicKey).json, as: UTF8.self)
          let header = Base64URL.encode(Array(#"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#.utf8))
          var claims = #"{"htm":"\#(method)","htu":"\#(url)","iat":\#(Int(Date().timeIntervalSince1970))"#
          claims += #","jti":"\#(UInt64.random(in: 0 ... .max))""#
          if let nonce { claims += #","nonce":"\#(nonce)""# }
          if let token { claims += #","ath":"\#(Base64URL.encode(Array(SHA256.hash(data: Data(token.utf8)))))""# }
          let signed = try #require(
            CompactJWS.signed(Array((claims + "}").utf8), under: Array(header.utf8), by: key))
          return ("DPoP", String(decoding: signed, as: UTF8.self))
        }
        let signUpURL = fixture.server + "/v1/sign-up"
        let first = try await send(
          "POST", signUpURL, [("Content-Type", "application/json"), try proof("POST", signUpURL)],
          body:
            #"{"email":"b@example.org","password":"correct horse battery","username":"A","device":{"id":"d-1","name":"a","platform":"b"}}"#
        )
        let nonce = try #require(first.header("DPoP-Nonce"))
        let session = try await signUp(fixture, [try proof("POST", signUpURL, nonce: nonce)])
        let field = ("Authorization", "DPoP \(session.access)")
        for proxy in [fixture.nginx, fixture.caddy] {
          let good = try proof("PUT", proxy + "/things", token: session.access)
          let answer = try await send("PUT", proxy + "/things?a=b", [field, good])
          #expect(text(answer).hasPrefix(session.account + "|"))
          #expect(try await send("PUT", proxy + "/things", [field, good]).status == 401, "it was used")
          for (method, url) in [("GET", "/things"), ("PUT", "/other"), ("PUT", "/_gate"), ("PUT", "/verify")] {
            let wrong = try proof(method, proxy + url, token: session.access)
            let answer = try await send("PUT", proxy + "/things", [field, wrong])
            #expect(answer.status == 401)
            #expect(answer.header("WWW-Authenticate")?.hasPrefix(#"DPoP error="invalid_dpop_proof", "#) == true)
            // A client cannot say what it asked for.
            let claims = ["X-Original-", "X-Forwarded-"].flatMap { [($0 + "URI", url), ($0 + "Method", method)] }
            #expect(try await send("PUT", proxy + "/things", [field, wrong] + claims).status == 401)
          }
          #expect(try await send(proxy + "/things", [("Authorization", "Bearer \(session.access)")]).status == 401)
        }
      }
    }

    @Test func `refuses when it does not know, and says since when`() async throws {
      try await GateFixture.run { fixture in
        let session = try await signUp(fixture)
        let token = ("Authorization", "Bearer \(session.access)")
        #expect(try await send(fixture.caddy + "/things", [token]).status == 200)
        fixture.kill()
        #expect(
          await eventually { (try? await send(fixture.caddy + "/things", [token]))?.status == 503 })
        // nginx has one status for all failures of a check.
        #expect(try await send(fixture.nginx + "/things", [token]).status == 500)
        let health = try await send(fixture.gate + "/health")
        #expect(health.status == 503)
        #expect(JSONValue(health.body)?["feed"] == .string("lost"))
        #expect(JSONValue(health.body)?["keys"] == .string("known"))
        #expect(JSONValue(health.body)?["complete_until"]?.string != nil)
      }
    }

    @Test func `refuses settings that are not valid, and says what is`() async throws {
      try await ProcessFixture.inFolder { folder in
        let good = [
          "--issuer": "https://id.example.org", "--public-url": "https://api.example.org", "--headers": "original",
          "--feed": "no",
        ]
        func run(_ changes: [String: String?], _ variables: [String: String] = [:]) async throws -> Child.Outcome {
          let all = good.merging(changes.compactMapValues { $0 }) { $1 }.filter { changes[$0.key] != .some(nil) }
          return try await ProcessFixture.handstamp(
            ["gate"] + all.flatMap { [$0.key, $0.value] }, home: folder, variables: variables)
        }
        let cases: [([String: String?], String, String)] = [
          (["--issuer": nil], "missing --issuer", "https"),
          (["--issuer": "http://id.example.org"], "--issuer", "https"),
          (["--headers": nil], "missing --headers", "nginx"), (["--headers": "x"], "--headers", "nginx"),
          (["--public-url": nil], "--public-url", "https"),
          (["--public-url": "https://a.example.org/b"], "--public-url", "https"),
          (["--listen": "0.0.0.0:80"], "--listen", "127.0.0.1"),
          (["--listen": "relative.sock"], "--listen", "127.0.0.1"),
          (["--listen": "127.0.0.1:99999"], "--listen", "127.0.0.1"), (["--feed": "maybe"], "--feed", "yes or no"),
          (["--feed": "yes"], "--client-id", "introspects"), (["--client-id": "api"], "--client-id", "--feed yes"),
          (["--feed": "yes", "--client-id": "api"], "secret", "--client-secret-file"),
          (["--leeway": "1h"], "--leeway", "5m"), (["--algorithms": "HS256"], "--algorithms", "ES256"),
          (["--audience": ","], "--audience", "audiences"),
          (["--resource": "https://a.example.org"], "--resource", "--audience"),
          (["--resource": "x", "--audience": "x"], "--resource", "https"),
          (["--resource-scopes": "read"], "--resource-scopes", "--resource"),
          (["--keys": "http://x.example.org"], "--keys", "https"),
          (["--log-level": "loud"], "--log-level", "info"), (["--require-proofs": "1"], "--require-proofs", "yes"),
        ]
        for (changes, message, hint) in cases {
          try expectRefusal(try await run(changes), .usage, naming: message, hint: hint)
        }
        let lost = try await run(
          ["--feed": "yes", "--client-id": "api", "--when-lost": "allow"], ["HANDSTAMP_GATE_CLIENT_SECRET": "s"])
        try expectRefusal(lost, .usage, naming: "--when-lost: \"allow\"", hint: "allow:5m")
        let unknown = try await run([:], ["HANDSTAMP_GATE_ISUER": "x"])
        try expectRefusal(unknown, .usage, naming: "HANDSTAMP_GATE_ISUER", hint: "HANDSTAMP_GATE_ISSUER")
        let file = folder + "/no-socket"
        try Data().write(to: URL(fileURLWithPath: file))
        try expectRefusal(try await run(["--listen": file]), .configuration, naming: "no socket", hint: "gate.sock")
        #expect(FileManager.default.fileExists(atPath: file))
      }
    }
  }
}
#endif
