#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampServer

/// Another client may do less with its session than the server's own app.
@Suite(.timeLimit(.minutes(10))) struct `A session of another client` {
  @Test func `has the granted scope, and no more after a refresh`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let session = try await app.session(test)
      for (more, error) in [
        ([("scope", "write")], "invalid_scope"),
        ([("resource", "https://evil.example.org")], "invalid_target"),
      ] {
        #expect(try await app.refresh(session.refresh, at: test, more).json["error"] == error)
      }
      // None of these requests used up the token, even long after.
      test.clock.advance(by: .seconds(120))
      let less = try await app.refresh(session.refresh, at: test, [("scope", "read")])
      #expect(less.json["scope"] == "read")
      let refused = try await test.client.get("/v1/me", token: less.json["access_token"])
      #expect(refused.status == 403)
      let place = #"scope="profile", "# + TestServer.resourceMetadata
      #expect(
        refused.headers["www-authenticate"]
          == #"Bearer error="insufficient_scope", \#(place), DPoP \#(place), algs="ES256""#)
      // The session itself keeps its scope.
      let all = try await app.refresh(less.json["refresh_token"] ?? "", at: test)
      #expect(all.json["scope"] == "profile read")
    }
  }

  @Test func `has tokens for its client's APIs, which this server refuses`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let session = try await app.session(test)
      let other = try await app.refresh(session.refresh, at: test, [("resource", "https://api.example.org")])
      let token: String = try #require(other.json["access_token"])
      #expect(try await test.client.get("/v1/me", token: token).status == 401)
      let facts = try await test.introspect(token).json
      #expect(facts["aud"] == "https://api.example.org")
      #expect(facts["client_id"] == "app")
    }
  }

  @Test func `waits while its client is not configured, and goes on when it is again`() async throws {
    let clients = try TestServer.clients()
    try await AdministeredServer.run {
      $0.clients = clients
    } body: { admin, test async throws in
      let (ada, app) = (try await test.signUp(), OAuthApp())
      let session = try await app.session(test)
      func reload(_ clients: [ConfiguredClient]) async throws {
        var configuration = test.server.configuration
        configuration.clients = clients
        try await test.server.reload(configuration, registry: test.server.registry, keys: test.keys)
      }
      func isMissing() async throws -> Bool? {
        let listed = try await admin.get("/accounts/\(ada.account)/sessions").json[list: "sessions"]
        return try #require(listed.first { $0["client"] == "app" })["client_missing"]
      }
      for _ in 0..<2 {
        #expect(try await test.client.get("/oauth/userinfo", token: session.access).status == 200)
        #expect(try await test.introspect(session.access).json["active"] == true)
        #expect(try await isMissing() == nil)
        #expect(try await test.server.current.missingClients(in: test.server.registry).isEmpty)
        try await reload(clients.filter { $0.id != "app" })
        let refused = try await test.client.get("/oauth/userinfo", token: session.access)
        #expect(refused.status == 401 && refused.code == "token_invalid")
        #expect(try await test.introspect(session.access).json["active"] == false)
        // No end (RFC 6749 section 5.2): the client keeps its token.
        #expect(try await app.refresh(session.refresh, at: test).json["error"] == "invalid_client")
        #expect(try await isMissing() == true)
        #expect(try await test.server.current.missingClients(in: test.server.registry) == ["app": 1])
        try await reload(clients)
      }
      #expect(try await app.refresh(session.refresh, at: test).status == 200)
      // An operator who means it.
      try await reload(clients.filter { $0.id != "app" })
      #expect(try await admin.send("DELETE", "/clients/app/sessions").json["ended"] == 1)
      #expect(try await test.server.current.missingClients(in: test.server.registry).isEmpty)
    }
  }

  @Test func `cannot be used by another client`() async throws {
    try await TestServer.runOAuth { test in
      let session = try await OAuthApp().session(test)
      for id in ["other", "handstamp", ""] {
        var thief = OAuthApp()
        thief.id = id
        let answer = try await thief.refresh(session.refresh, at: test)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "invalid_grant")
      }
      let own = try await test.signIn()
      #expect(try await OAuthApp().refresh(own.refresh, at: test).json["error"] == "invalid_grant")
      #expect(try await OAuthApp().refresh(session.refresh, at: test).status == 200)
    }
  }

  @Test func `may not manage the account`() async throws {
    try await TestServer.runOAuth { test in
      let app = try await OAuthApp().session(test)
      var first = OAuthApp()
      (first.id, first.redirect, first.scope) = ("own", "org.example.own:/", nil)
      let own = try await first.session(test)
      #expect(try await test.client.get("/v1/sessions", token: own.access).status == 200)
      for (method, path, body) in [
        ("GET", "/v1/sessions", ""), ("DELETE", "/v1/sessions/\(own.id)", ""), ("GET", "/v1/events", ""),
        ("DELETE", "/v1/sessions", ""), ("POST", "/v1/sessions/end-others", ""),
        ("DELETE", "/v1/me", #"{"password":"\#(TestServer.password)"}"#),
        (
          "POST", "/v1/password",
          #"{"current":"\#(TestServer.password)","new":"another password","end_others":true}"#
        ),
      ] {
        let answer = try await test.client.send(
          method, path, token: app.access, headers: body.isEmpty ? [:] : ["Content-Type": "application/json"],
          body: body.isEmpty ? nil : Array(body.utf8))
        #expect(answer.status == 403, "\(method) \(path)")
        #expect(answer.code == "insufficient_scope", "\(method) \(path)")
      }
      #expect(try await test.client.get("/v1/me", token: own.access).status == 200)
    }
  }

  @Test func `without keys may repeat a refresh for two minutes; a later second use ends it`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let session = try await app.session(test)
      let first = try await app.refresh(session.refresh, at: test)
      test.clock.advance(by: .seconds(120))
      let again = try await app.refresh(session.refresh, at: test)
      #expect(again.json["refresh_token"] as String? == first.json["refresh_token"])
      test.clock.advance(by: .milliseconds(1))
      let late = try await app.refresh(session.refresh, at: test)
      #expect(late.json["error"] == "invalid_grant")
      #expect(try await app.refresh(first.json["refresh_token"] ?? "", at: test).json["error"] == "invalid_grant")
    }
  }

  @Test func `ends when its account's password is reset`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      let session = try await app.session(test)
      let phone = try await test.signIn()
      let changed = try await test.client.post(
        "/v1/password", token: phone.access,
        json: #"{"current":"\#(TestServer.password)","new":"another password","end_others":true}"#)
      #expect((200..<300).contains(changed.status))
      #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
      #expect(try await app.refresh(session.refresh, at: test).json["error"] == "invalid_grant")
    }
  }
}

/// RFC 7009 and RFC 7662.
@Suite(.timeLimit(.minutes(10))) struct `Revocation and introspection` {
  @Test func `ends the whole session, whichever token is presented`() async throws {
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      for kind in ["access", "refresh", "handle", "former"] {
        let session = try await app.session(test)
        let next = try await app.refresh(session.refresh, at: test)
        let access: String = try #require(next.json["access_token"])
        let presented = ["access": access, "refresh": next.json["refresh_token"] ?? "", "handle": session.handle]
        let answer = try await test.oauth(
          "/oauth/revoke", [("token", presented[kind] ?? session.refresh), ("client_id", "app")])
        #expect(answer.status == 200, "\(kind)")
        #expect(try await test.client.get("/v1/me", token: access).status == 401, "\(kind)")
        #expect(try await test.introspect(access).text == #"{"active":false}"#)
        #expect(
          try await app.refresh(next.json["refresh_token"] ?? "", at: test).json["error"] == "invalid_grant", "\(kind)")
      }
    }
  }

  @Test func `ends no other client's session, and reveals nothing about garbage`() async throws {
    try await TestServer.runOAuth { test in
      let session = try await OAuthApp().session(test)
      for token in [session.access, session.refresh, session.handle] {
        let other = try await test.oauth("/oauth/revoke", [("token", token), ("client_id", "other")])
        #expect(other.status == 400)
      }
      for token in ["garbage", session.access + "x", String(session.access.dropLast(2)), "hst1.k1.AAAA"] {
        #expect(try await test.oauth("/oauth/revoke", [("token", token)]).status == 200)
      }
      #expect(try await test.oauth("/oauth/revoke", []).json["error"] == "invalid_request")
      let unknown = try await test.oauth("/oauth/revoke", [("token", session.refresh), ("client_id", "unknown")])
      #expect(unknown.status == 401)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
    }
  }

  @Test func `ends a session whose client is not configured any more, and no other`() async throws {
    let clients = try TestServer.clients()
    try await TestServer.runOAuth { test in
      let app = OAuthApp()
      func reload(_ clients: [ConfiguredClient]) async throws {
        var configuration = test.server.configuration
        configuration.clients = clients
        try await test.server.reload(configuration, registry: test.server.registry, keys: test.keys)
      }
      for kind in [\TestServer.Session.access, \.refresh, \.handle] {
        let session = try await app.session(test)
        let token = session[keyPath: kind]
        try await reload(clients.filter { $0.id != "app" })
        for id in ["gone", "site"] {
          let refused = try await test.oauth("/oauth/revoke", [("token", token), ("client_id", id)])
          #expect(refused.status == 401 && refused.json["error"] == "invalid_client", "\(id)")
        }
        for _ in 0..<2 {
          #expect(try await test.oauth("/oauth/revoke", [("token", token), ("client_id", "app")]).status == 200)
        }
        try await reload(clients)
        #expect(try await app.refresh(session.refresh, at: test).json["error"] == "invalid_grant")
      }
      let site = try await OAuthApp.site.session(test, headers: TestServer.basic("site", TestServer.secret))
      try await reload(clients.filter { $0.id != "site" })
      let byHeader = try await test.oauth(
        "/oauth/revoke", [("token", site.handle)], headers: TestServer.basic("site", TestServer.secret))
      #expect(byHeader.status == 200)
      try await reload(clients)
      #expect(try await test.introspect(site.access).json["active"] == false)
    }
  }

  @Test func `ends a confidential client's session only with its secret`() async throws {
    try await TestServer.runOAuth { test in
      let credentials = TestServer.basic("site", TestServer.secret)
      for kind in [\TestServer.Session.access, \.refresh, \.handle] {
        let session = try await OAuthApp.site.session(test, headers: credentials)
        let token = session[keyPath: kind]
        func revoke(
          _ fields: [(String, String)] = [], headers: [String: String] = [:]
        ) async throws -> WireClient.Answer {
          try await test.oauth("/oauth/revoke", [("token", token)] + fields, headers: headers)
        }
        for refused in [
          try await revoke(), try await revoke([("client_id", "site")]), try await revoke([("client_id", "handstamp")]),
          try await revoke(headers: TestServer.basic("site", "wrong")),
        ] {
          #expect(refused.status == 401)
          #expect(refused.json["error"] == "invalid_client")
          #expect(refused.headers["www-authenticate"]?.hasPrefix("Basic") == true)
        }
        let other = try await revoke(headers: TestServer.basic("api", TestServer.secret))
        #expect(other.json["error"] == "invalid_grant")
        #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
        #expect(try await revoke(headers: credentials).status == 200)
        #expect(try await test.client.get("/v1/me", token: session.access).status == 401)
      }
    }
  }

  @Test func `needs the ID of a public client, and none for the server's own app`() async throws {
    try await TestServer.runOAuth { test in
      let app = try await OAuthApp().session(test)
      let without = try await test.oauth("/oauth/revoke", [("token", app.handle)])
      #expect(without.status == 401)
      #expect(without.json["error_description"] as String? != nil)
      #expect(try await test.client.get("/v1/me", token: app.access).status == 200)
      for fields in [[], [("client_id", "handstamp")]] {
        let own = try await test.signIn()
        #expect(try await test.oauth("/oauth/revoke", [("token", own.handle), ("client_id", "app")]).status == 400)
        #expect(try await test.client.get("/v1/me", token: own.access).status == 200)
        #expect(try await test.oauth("/oauth/revoke", [("token", own.handle)] + fields).status == 200)
        #expect(try await test.client.get("/v1/me", token: own.access).status == 401)
      }
    }
  }

  @Test func `describes a token to a client with a secret`() async throws {
    try await TestServer.runOAuth { test in
      let session = try await OAuthApp().session(test)
      let answer = try await test.introspect(session.access)
      #expect(answer.status == 200)
      #expect(answer.headers["cache-control"] == "no-store")
      let json = answer.json
      #expect(json["active"] == true)
      #expect(json["scope"] == "profile read")
      #expect(json["client_id"] == "app")
      #expect(json["sub"] == session.account)
      #expect(json["sid"] == session.id)
      #expect(json["iss"] == "https://id.example.org")
      #expect(json["token_type"] == "Bearer")
      let life: Int = (json["exp"] ?? 0) - (json["iat"] ?? 0)
      #expect((600...601).contains(life))
      let own = try await test.signIn()
      #expect(try await test.introspect(own.access).json["client_id"] == "handstamp")
      for headers in [[:], TestServer.basic("api", "wrong"), TestServer.basic("unknown", TestServer.secret)] {
        let refused = try await test.oauth("/oauth/introspect", [("token", session.access)], headers: headers)
        #expect(refused.status == 401)
        #expect(refused.json["active"] as Bool? == nil)
      }
      let open = try await test.oauth("/oauth/introspect", [("token", session.access), ("client_id", "app")])
      #expect(open.status == 401)
    }
  }

  @Test func `describes a token only to its client, its API, and APIs that accept all`() async throws {
    try await TestServer.runOAuth { test in
      let app = try await OAuthApp().session(test)
      let own = try await test.signIn()
      let site = try await OAuthApp.site.session(test, headers: TestServer.basic("site", TestServer.secret))
      let refreshed = try await OAuthApp().refresh(
        app.refresh, at: test, [("resource", "https://api.example.org")])
      let forAPI: String = try #require(refreshed.json["access_token"])
      let tokens = ["app": app.access, "own": own.access, "site": site.access, "for the API": forAPI]
      for (client, visible) in [
        ("api", ["app", "own", "site", "for the API"]), ("https://api.example.org", ["for the API"]),
        ("site", ["site"]),
      ] {
        for (name, token) in tokens {
          let answer = try await test.introspect(token, as: client)
          #expect(answer.status == 200)
          #expect(answer.json["active"] == visible.contains(name), "\(client): \(name)")
          #expect(visible.contains(name) || answer.text == #"{"active":false}"#, "\(client): \(name)")
        }
      }
      // A refresh token is of use to its client alone.
      #expect(try await test.introspect(site.refresh, as: "site").json["active"] == true)
      #expect(try await test.introspect(site.refresh).json["active"] == false)
    }
  }

  @Test func `of all tokens needs a secret`() {
    #expect(throws: ServerConfigurationError.client(.noSecret("api"))) {
      try ConfiguredClient(id: "api", flows: [], introspects: true)
    }
  }

  @Test func `reveals nothing about invalid or foreign tokens`() async throws {
    try await TestServer.runOAuth { test in
      let session = try await OAuthApp().session(test)
      for token in ["garbage", session.refresh, session.handle, session.access + "A"] {
        #expect(try await test.introspect(token).text == #"{"active":false}"#)
      }
      test.clock.advance(by: .seconds(601))
      #expect(try await test.introspect(session.access).text == #"{"active":false}"#)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The server's metadata` {
  @Test func `names the issuer and every endpoint`() async throws {
    try await TestServer.runOAuth { test in
      let answer = try await test.client.get("/.well-known/oauth-authorization-server")
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      let json = answer.json
      #expect(json["issuer"] == "https://id.example.org")
      #expect(json["response_types_supported"] == ["code"])
      #expect(json["code_challenge_methods_supported"] == ["S256"])
      #expect(json["authorization_response_iss_parameter_supported"] == true)
      for (name, value) in json.fields where name.hasSuffix("_endpoint") || name == "jwks_uri" {
        let address = try #require(value as? String)
        try #require(address.hasPrefix("https://id.example.org/"))
        let path = String(address.dropFirst("https://id.example.org".count))
        #expect(try await test.client.get(path).status != 404, "\(name)")
      }
    }
  }

  @Test func `of its own API names the issuer, to every client`() async throws {
    try await TestServer.run { test in
      let answer = try await test.client.get("/.well-known/oauth-protected-resource")
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.headers["access-control-allow-origin"] == "*")
      #expect(answer.json["resource"] == "https://id.example.org")
      #expect(answer.json["authorization_servers"] == ["https://id.example.org"])
      #expect(answer.json["bearer_methods_supported"] == ["header"])
    }
  }

  @Test func `of its own API is not served where tokens would cross the network in clear`() async throws {
    try await TestServer.run({ $0.issuer = "http://id.example.org" }) { test in
      #expect(try await test.client.get("/.well-known/oauth-protected-resource").status == 404)
      let refused = try await test.client.get("/v1/sessions")
      #expect(refused.headers["www-authenticate"] == #"Bearer, DPoP algs="ES256""#)
    }
  }

  @Test func `is served at a path before the issuer's`() {
    #expect(
      FixedDocument.metadataPath(of: "https://example.org/id") == "/.well-known/oauth-authorization-server/id")
    #expect(FixedDocument.metadataPath(of: "https://example.org") == "/.well-known/oauth-authorization-server")
  }
}
#endif
