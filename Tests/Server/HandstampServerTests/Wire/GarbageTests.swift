#if Programs
import HandstampCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Garbage` {
  static let bodies: [String] = [
    "", "{", "[]", "null", "7", "\"text\"", "{}", "\u{0}\u{0}\u{0}", "<html>", String(repeating: "[", count: 20_000),
    #"{"email":7,"password":"correct horse","device":{}}"#, #"{"email":"a@b","password":null,"device":null}"#,
    #"{"email":"no address","password":"correct horse","username":"A","device":{"id":"1","name":"n","platform":"p"}}"#,
    #"{"email":"a@b\u0000","password":"correct horse","username":"A","device":{"id":"1","name":"n","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":"","device":{"id":"1","name":"n","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":" \u3164","device":{"id":"1","name":"n","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":"A","device":{"id":"","name":"n","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":"A","device":{"id":"1","name":"a\nb","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":"A\u202e","device":{"id":"1","name":"n","platform":"p"}}"#,
    #"{"email":"a@b","password":"correct horse","username":"A"}"#,
  ]

  @Test func `in a body is a client error, never a server error`() async throws {
    try await TestServer.run { test in
      for body in Self.bodies {
        // A sign-in has no user name.
        let isNameBad = body.contains("\"username\":\"\"") || body.contains(#"\u202e"#) || body.contains(#"\u3164"#)
        for path in ["/v1/sign-up", "/v1/sign-in"] where path == "/v1/sign-up" || !isNameBad {
          let answer = try await test.client.post(path, json: body)
          #expect(answer.status == 400, "\(path) \(body.prefix(60))")
          #expect(answer.isProblem)
        }
      }
      let invalidUTF8 = try await test.client.send(
        "POST", "/v1/sign-in", headers: ["Content-Type": "application/json"], body: [0x22, 0xFF, 0xFE, 0x22])
      #expect(invalidUTF8.status == 400)
      #expect(test.metrics.passwordHashes == 0)
    }
  }

  @Test func `from a signed-in user is refused, and leaves the session unharmed`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let session = try await test.signUp()
      let hashes = test.metrics.passwordHashes
      for (method, path) in [
        ("POST", "/v1/sign-in/anonymous"), ("POST", "/v1/upgrade"), ("POST", "/v1/sign-up/confirm"),
        ("POST", "/v1/password"), ("POST", "/v1/password-reset"), ("POST", "/v1/password-reset/confirm"),
        ("PATCH", "/v1/sessions/\(session.id)"), ("PUT", "/v1/device/push-token"),
      ] {
        // What needs fewer fields than these finds nothing wrong with some of them.
        for body in Self.bodies
        where !(path == "/v1/password-reset" && body.hasPrefix(#"{"email":"a@b","#))
          && !(path == "/v1/sign-in/anonymous" && body.contains(#""device":{"id":"1","name":"n""#))
        {
          let answer = try await test.client.send(
            method, path, token: session.access, headers: ["Content-Type": "application/json"], body: Array(body.utf8))
          #expect(answer.status == 400, "\(path) \(body.prefix(60))")
          #expect(answer.isProblem)
        }
      }
      var checked = 0
      // A name is nothing to it, and ten wrong passwords are the most.
      for body in Self.bodies where !body.contains(#"\u3164"#) {
        // Without a password, or with a wrong one.
        let isObject =
          ["", "{}"].contains(body) || body.hasPrefix("{\"email\"") && !body.contains("\"password\":null")
        checked += isObject ? 1 : 0
        let answer = try await test.client.send(
          "DELETE", "/v1/me", token: session.access, headers: ["Content-Type": "application/json"],
          body: Array(body.utf8))
        #expect(answer.status == (isObject ? 403 : 400), "\(body.prefix(60))")
      }
      #expect(test.metrics.passwordHashes == hashes + checked)
      #expect(try await test.client.get("/v1/me", token: session.access).json["name"] == "Ada")
      #expect(post.all.isEmpty)
    }
  }

  @Test(arguments: [
    nil, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "json",
  ])
  func `of another media type is refused`(_ type: String?) async throws {
    try await TestServer.run { test in
      let headers = type.map { ["Content-Type": $0] } ?? [:]
      let answer = try await test.client.send(
        "POST", "/v1/sign-in", headers: headers, body: Array(TestServer.signInBody("a@b").utf8))
      #expect(answer.status == 415)
      #expect(answer.isProblem)
    }
  }

  @Test(arguments: ["application/json", "application/json; charset=utf-8", "Application/JSON ;charset=utf-8"])
  func `does not include a media type with parameters`(_ type: String) async throws {
    try await TestServer.run { test in
      let answer = try await test.client.send(
        "POST", "/v1/sign-in", headers: ["Content-Type": type], body: Array(TestServer.signInBody("a@b").utf8))
      #expect(answer.status == 401)
      #expect(answer.code == "wrong_credentials")
    }
  }

  @Test func `of any size is refused at the limit, and the server keeps running`() async throws {
    try await TestServer.run { test in
      let limit = 64 * 1024
      let padding = String(repeating: " ", count: limit - TestServer.signInBody("a@b").utf8.count)
      let fits = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("a@b") + padding)
      #expect(fits.status == 401)
      let over = try await test.client.post("/v1/sign-in", json: TestServer.signInBody("a@b") + padding + " ")
      #expect(over.status == 413)
      #expect(over.isProblem)
      for path in ["/v1/sign-up", "/oauth/token", "/oauth/revoke"] {
        let type = path.hasPrefix("/v1") ? "application/json" : "application/x-www-form-urlencoded"
        let huge = try await test.client.send(
          "POST", path, headers: ["Content-Type": type], body: [UInt8](repeating: 0, count: 4 << 20))
        #expect(huge.status == 413, "\(path)")
      }
      #expect(try await test.client.get("/health").status == 200)
    }
  }

  @Test func `as a path or a method gets a precise error`() async throws {
    try await TestServer.run { test in
      // A proxy's rule for a route does not see the last ones, which routers take for it.
      for path in [
        "/v1", "/v2/me", "/v1/me/x", "/v1/%00", "/v1/sessions/a/b", "/oauth", "/%2e%2e/etc", "//health", "/v1//me",
      ] {
        let answer = try await test.client.get(path)
        #expect(answer.status == 404, "\(path)")
        #expect(answer.isProblem)
      }
      for (method, path, allowed) in [
        ("GET", "/v1/sign-in", "POST"), ("PUT", "/v1/me", "GET"), ("PATCH", "/v1/sessions", "GET, DELETE"),
        ("GET", "/oauth/token", "POST"), ("TRACE", "/v1/me", "GET"), ("GET", "/v1/sessions/x", "DELETE"),
        ("PROPFIND", "/health", "GET"), ("DELETE", "/v1/sessions/end-others", "POST"),
      ] {
        let answer = try await test.client.send(method, path)
        #expect(answer.status == 405, "\(method) \(path)")
        #expect(answer.isProblem)
        #expect(answer.headers["allow"]?.contains(allowed) == true)
      }
      let head = try await test.client.send("HEAD", "/health")
      #expect(head.status == 200)
      #expect(head.body.isEmpty)
    }
  }

  @Test(arguments: [
    "\0\0\0\0\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /health HTTP/1.1\r\nHost: a\r\nHost : b\r\n\r\n",
    "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
    "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZZZ\r\n",
    "GET /" + String(repeating: "a", count: 200_000) + " HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}",
  ])
  func `instead of HTTP closes the connection, and only that`(_ text: String) async throws {
    try await TestServer.run { test in
      let answer = try await RawConnection.exchange(text, with: test.client.base)
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"))
      #expect(try await test.client.get("/health").status == 200)
    }
  }
}
#endif
