#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampServer

/// What browsers and programs ask for before a user does, or instead.
@Suite(.timeLimit(.minutes(10))) struct `A page that is opened at another address` {
  @Test func `leads to the issuer from another name of this machine, and a form says where it is`() async throws {
    try await TestServer.run {
      $0.issuer = "http://localhost:8080/auth"
      $0.mountPath = "/auth"
    } body: { test in
      let browser = Browser(test.client.base)
      let (page, there) = ("/auth/sign-in?next=%2Faccount&lang=de", "http://localhost:8080")
      for (path, host, accept, location) in [
        (page, "127.0.0.1:8080", "text/html,*/*", there + page), (page, "[::1]:8080", "text/html", there + page),
        (page, "localhost:8080", "text/html", nil),
        // That of a proxy, which would pass the redirect's address on to here.
        (page, "127.0.0.1:9000", "text/html", nil), (page, "evil.example.org:8080", "text/html", nil),
        // No browser, and no page.
        (page, "127.0.0.1:8080", "*/*", nil), ("/auth/v1/app-config", "127.0.0.1:8080", "text/html", nil),
        ("/auth/openapi.json", "127.0.0.1:8080", "text/html", nil),
      ] as [(String, String, String, String?)] {
        let answer = try await browser.get(path, headers: ["Host": host, "Accept": accept])
        #expect(answer.location == location && answer.status == (location == nil ? 200 : 303), "\(path) at \(host)")
        #expect(location == nil || answer.all("set-cookie").isEmpty)
      }
      #expect(try await browser.get("/auth/account").location == there + "/auth/sign-in?next=%2Faccount")
      let form = try await browser.get("/auth/sign-in")
      let elsewhere = ["Host": "127.0.0.1:8080", "Origin": "http://127.0.0.1:8080"]
      let refused = try await browser.post("/auth/sign-in", [("csrf", form.csrf ?? "")], headers: elsewhere)
      #expect(refused.status == 403 && refused.text.contains(#"href="http://localhost:8080/auth/sign-in""#))
    }
  }

  @Test func `is shown to a proxy at a Unix domain socket, which would be led back to it`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "hs-\(UUID().uuidString.prefix(8)).sock").path
    defer { unlink(path) }
    try await TestServer.run {
      $0.issuer = "http://127.0.0.1"
    } body: { test in
      let running = try await test.server.start(on: .unixSocket(path))
      let proxy = try RawSocket(path: path)
      proxy.send("GET /sign-in HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n")
      #expect(await proxy.receive(until: "\r\n\r\n").text.hasPrefix("HTTP/1.1 200 "))
      try await running.stop()
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A page that is opened ahead of its user` {
  private static let ahead = [
    ("Sec-Purpose", "prefetch"), ("Sec-Purpose", "prefetch;prerender"), ("Purpose", "prefetch"), ("X-Moz", "prefetch"),
    ("X-Purpose", "preview"),
  ]

  @Test func `is listed with what it changes, as every page is`() throws {
    let documents = ["/v1/", "/admin/", "/.well-known/", "/openapi.json", "/health", "/ready", "/oauth/userinfo"]
    let pages = try OpenAPIDocument(for: ServerConfiguration()).operations.filter { operation in
      operation.method == "GET" && !documents.contains { operation.path.hasPrefix($0) }
    }
    #expect(Set(pages.map(\.path)) == Set(PageAddress.allCases.map(\.rawValue)))
  }

  @Test func `does not sign out, and a look at it is answered as the question`() async throws {
    try await TestServer.runOpenID { test in
      let browser = Browser(test.client.base)
      let tokens = try await OAuthApp.party().tokens(browser, at: test)
      let path = Browser.path("/oauth/logout", [("id_token_hint", tokens.json["id_token"] ?? "")])
      for (name, value) in Self.ahead {
        for method in ["GET", "HEAD"] {
          let answer = try await browser.send(method, path, headers: [name: value])
          #expect(answer.status == 503 && answer.text.isEmpty && answer.all("set-cookie").isEmpty, "\(name): \(value)")
          #expect(answer.header("cache-control") == "no-store" && answer.header("vary") == "Sec-Purpose, Purpose")
        }
      }
      #expect(try await browser.send("HEAD", path).status == 200)
      #expect(try await browser.get("/device").title != "Sign in")
      #expect(try await browser.get(path).status == 303)
      #expect(try await browser.get("/device").title == "Sign in")
    }
  }

  @Test func `gives no code, and none for a look at it`() async throws {
    try await TestServer.runOpenID { test in
      let (browser, app) = (Browser(test.client.base), OAuthApp.party())
      _ = try await app.code(browser)
      for (name, value) in Self.ahead {
        #expect(try await browser.get(app.page(), headers: [name: value]).status == 503)
      }
      let look = try await browser.send("HEAD", app.page())
      #expect(look.status == 200 && look.location == nil)
      #expect(try await browser.get(app.page()).fields["code"] != nil)
    }
  }

  @Test func `uses up no way back from a provider`() async throws {
    try await ProviderPair.run { pair in
      _ = try await pair.person("ada@example.org")
      let browser = pair.browser
      let back = try await pair.visit(try await pair.leave(browser, from: "/sign-in"), as: "ada@example.org")
      for (name, value) in Self.ahead {
        #expect(try await browser.get(back, headers: [name: value]).status == 503)
      }
      #expect(try await browser.send("HEAD", back).status == 503)
      #expect(try await browser.get(back).status == 303)
      #expect(try await browser.get("/account").status == 200)
    }
  }

  @Test func `is shown if it changes nothing`() async throws {
    try await TestServer.run { test in
      for path in ["/sign-in", "/recover", "/forgot-password"] {
        let browser = Browser(test.client.base)
        let answer = try await browser.get(path, headers: ["Sec-Purpose": "prefetch"])
        #expect(answer.status < 500, "\(path)")
      }
    }
  }
}
#endif
