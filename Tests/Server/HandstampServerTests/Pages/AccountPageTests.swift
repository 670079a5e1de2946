#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

extension Browser {
  /// Loads where a page leads to.
  func follow(_ response: BrowserResponse) async throws -> BrowserResponse {
    struct LeadsNowhere: Error { var status: Int }
    guard response.status == 303, let location = response.location, location.hasPrefix(Browser.issuer) else {
      throw LeadsNowhere(status: response.status)
    }
    return try await get(String(location.dropFirst(Browser.issuer.count)))
  }

  static let issuer = "https://id.example.org"

  /// Signs in on the page of the server itself.
  static func signedIn(_ test: TestServer) async throws -> Browser {
    let browser = Browser(test.client.base)
    _ = try await browser.signIn(at: "/sign-in?next=%2Faccount")
    return browser
  }

  /// Fills in the form of a page.
  func fill(_ path: String, _ action: String, _ fields: [(String, String)] = []) async throws -> BrowserResponse {
    try await press(action, on: try await get(path), at: path, fields)
  }
}

extension Browser.BrowserResponse {
  /// The rows of the list of devices, each from its ID on.
  var rows: [String] { text.components(separatedBy: #"<li class="row" id="row-"#).dropFirst().map { $0 } }

  /// The row with all these words: its ID, the session that its button ends, and its text.
  func row(_ words: String...) -> (id: String, session: String, text: String)? {
    rows.first { row in words.allSatisfy { row.contains($0) } }.map { row in
      let session = row.components(separatedBy: #"name="session" value=""#).dropFirst().first ?? ""
      return (String(row.prefix { $0 != "\"" }), String(session.prefix { $0 != "\"" }), row)
    }
  }
}

extension Post.Letter {
  /// The path of the link in the mail.
  var link: String? {
    text.split(separator: "\n").first { $0.hasPrefix(Browser.issuer + "/") && $0.contains("token=") }
      .map { String($0.dropFirst(Browser.issuer.count)) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A person at a browser` {
  @Test func `who forgot the password sets a new one by a mailed link`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      let phone = try await test.signUp()
      let browser = Browser(test.client.base)
      let signIn = try await browser.get("/sign-in")
      #expect(signIn.text.contains("href=\"/forgot-password\"") && signIn.text.ranges(of: "autofocus").count == 1)
      let bad = try await browser.fill("/forgot-password", "send", [("email", "ada")])
      #expect(bad.text.contains("Enter a full address"))
      #expect(bad.text.contains("value=\"ada\""))
      let sent = try await browser.fill("/forgot-password", "send", [("email", "ada@example.org")])
      let unknown = try await browser.fill("/forgot-password", "send", [("email", "eve@example.org")])
      #expect(sent.title == "Check your mail")
      #expect(sent.text.replacing("ada@", with: "eve@").count == unknown.text.count)
      let link = try #require(try await post.next().link)
      // Mail programs open links, too.
      for _ in 0..<2 { #expect(try await Browser(test.client.base).get(link).title == "Choose a new password") }
      let weak = try await browser.fill(
        link, "reset", [("token", String(link.split(separator: "=")[1])), ("new_password", "short")])
      #expect(weak.text.contains("id=\"new_password-error\""))
      #expect(weak.text.contains("Use at least 8 characters."))
      let token = String(link.split(separator: "=")[1])
      let done = try await browser.fill(link, "reset", [("token", token), ("new_password", "a new password 7")])
      #expect(done.title == "Your password is set")
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 401)
      let again = try await browser.get(link)
      #expect(again.status == 400)
      #expect(again.title == "This link has expired")
      #expect(again.text.contains("/forgot-password"))
      #expect(try await browser.signIn(at: "/sign-in", password: "a new password 7").status == 303)
    }
  }

  @Test func `creates an account by a mailed link`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.signUp = .confirmed
    } body: { test in
      let browser = Browser(test.client.base)
      let empty = try await browser.fill("/sign-up", "sign-up", [("name", " "), ("email", "ada")])
      #expect(empty.text.contains("Enter a name."))
      #expect(empty.text.contains("Enter a full address"))
      let sent = try await browser.fill("/sign-up", "sign-up", [("name", "Ada"), ("email", "ada@example.org")])
      #expect(sent.title == "Check your mail")
      let link = try #require(try await post.next().link)
      let token = String(link.split(separator: "=")[1])
      let elsewhere = Browser(test.client.base)
      let done = try await elsewhere.fill(link, "confirm", [("token", token), ("new_password", "a new password 7")])
      let account = try await elsewhere.follow(done)
      #expect(account.title == "Profile")
      #expect(account.text.contains("ada@example.org"))
      let email = try #require(EmailAddress("ada@example.org"))
      #expect(try await test.server.registry.account(email: email)?.emailConfirmedAt != nil)
      let late = try await browser.get(link)
      #expect(late.title == "This link has expired")
    }
  }

  @Test func `creates an account at once where addresses are not confirmed`() async throws {
    try await TestServer.run { test in
      let browser = Browser(test.client.base)
      let fields = [("name", "Ada"), ("email", "ada@example.org"), ("new_password", "a new password 7")]
      let account = try await browser.follow(
        try await browser.fill("/sign-up?next=%2Faccount%2Fdevices", "sign-up", fields))
      #expect(account.title == "Devices")
      let taken = try await Browser(test.client.base).fill("/sign-up", "sign-up", fields)
      #expect(taken.text.contains("This address already belongs to an account."))
      #expect(try await browser.get("/forgot-password").status == 404, "there is no mailer")
    }
  }

  @Test func `cannot create an account where that is closed`() async throws {
    try await TestServer.run {
      $0.signUp = .closed
    } body: { test async throws in
      let closed = try await Browser(test.client.base).get("/sign-up")
      #expect(closed.status == 403 && closed.text.contains("Ask them for one"))
      #expect(try await !Browser(test.client.base).get("/sign-in").text.contains("/sign-up"))
    }
  }

  @Test func `is asked to sign in, and comes back to the page, and to no other site`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = Browser(test.client.base)
      let asked = try await browser.follow(try await browser.get("/account/apps?x=y"))
      #expect(asked.title == "Sign in")
      let path = "/sign-in?next=%2Faccount%2Fapps%3Fx%3Dy"
      let answer = try await browser.press(
        "sign-in", on: asked, at: path, [("email", "ada@example.org"), ("password", TestServer.password)])
      #expect(answer.location == "https://id.example.org/account/apps?x=y")
      for next in [
        "https://evil.example.org/", "//evil.example.org/", "/\\evil.example.org", "javascript:alert(1)", "a",
      ] {
        #expect(NextPage(next).path == "/account", "\(next)")
      }
    }
  }

  @Test func `reads pages in the language that the browser asks for, or the person chose`() async throws {
    try await TestServer.run { test in
      let browser = Browser(test.client.base)
      #expect(try await browser.get("/sign-in").text.contains("<html lang=\"en\">"))
      let german = try await browser.get("/sign-in?lang=de")
      #expect(german.title == "Anmelden")
      #expect(german.text.contains("<html lang=\"de\">"))
      #expect(try await browser.get("/sign-in").title == "Anmelden")
      #expect(german.text.contains("href=\"/sign-in?lang=en\""))
      #expect(try await browser.get("/sign-in?lang=xx").title == "Anmelden")
    }
  }

  @Test func `chooses a language, which follows to other browsers, and keeps an imported one`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      func save(_ fields: (String, String)...) async throws -> Browser.BrowserResponse {
        try await browser.fill("/account", "save", [("name", "Ada")] + fields)
      }
      /// The title of the next page of this browser, which has no choice of its own.
      func next(_ headers: [String: String] = [:]) async throws -> String {
        #expect(browser.cookies[ResponseCookie.language] == nil)
        return try await browser.get("/account", headers: headers).title
      }
      #expect(try await save(("locale", "de")).title == "Profil")
      #expect(try await browser.get("/account").text.contains(#"<option value="de" selected lang="de">Deutsch"#))
      #expect(try await next() == "Profil")
      // Saved again, the language also replaces what this browser chose.
      #expect(try await browser.get("/account?lang=en").title == "Profile")
      #expect(try await save(("locale", "de")).title == "Profil")
      #expect(try await next() == "Profil")
      #expect(try await test.client.get("/v1/me", token: phone.access).json["locale"] == "de")
      let other = try await Browser.signedIn(test)
      #expect(try await other.get("/account").title == "Profil")
      #expect(try await other.get("/account?lang=en").title == "Profile", "this browser’s own choice is first")
      #expect(try await save(("locale", "fr")).text.contains("Dieses Formular ist abgelaufen"))
      let nameless = try await browser.fill("/account", "save", [("name", " "), ("locale", "en")])
      #expect(nameless.title == "Profil" && nameless.text.contains(#"<option value="en" selected lang="en">"#))
      #expect(try await test.account()?.locale?.rawValue == "de")
      var imported = try #require(try await test.account())
      imported.locale = LanguageTag(rawValue: "fr-CH")
      _ = try await test.server.registry.update(imported)
      for fields in [[], [("locale", "fr-CH")]] {
        _ = try await browser.fill("/account", "save", [("name", "Countess")] + fields)
        let kept = try #require(try await test.account())
        #expect(kept.locale?.rawValue == "fr-CH" && kept.username == "Countess")
      }
      #expect(try await Browser.signedIn(test).get("/account").title == "Profile", "the server has no French")
      _ = try await browser.get("/account?lang=de")
      #expect(try await save(("locale", "*")).title == "Profile")
      #expect(try await test.account()?.locale == nil)
      #expect(try await next() == "Profile")
      #expect(try await next(["Accept-Language": "de"]) == "Profil")
    }
  }

  @Test func `is shown errors as pages, with a way on`() async throws {
    try await TestServer.run { test in
      let browser = Browser(test.client.base)
      let missing = try await test.client.send("GET", "/nothing", headers: ["Accept": "text/html,*/*"])
      #expect(missing.status == 404)
      #expect(missing.text.contains("Page not found"))
      #expect(missing.text.contains("href=\"/account\""))
      #expect(try await test.client.get("/nothing").headers["content-type"] == "application/problem+json")
      let root = try await browser.get("/", headers: ["Accept": "text/html"])
      #expect(root.status == 303)
      #expect(root.location == "https://id.example.org/account")
      let welcome = try await test.client.get("/")
      #expect(welcome.status == 200)
      for place in ["/account", "/openapi.json", "/.well-known/openid-configuration"] {
        #expect(welcome.text.contains("https://id.example.org\(place)"), "\(place)")
      }
      let bare = try await browser.post("/sign-in", [("csrf", "x"), ("action", "sign-in")])
      #expect(bare.status == 403)
      #expect(bare.title == "Your browser sent no cookie")
      _ = try await browser.get("/sign-in")
      let elsewhere = try await browser.post(
        "/sign-in", [("csrf", "x"), ("action", "sign-in")], headers: ["Origin": test.client.base])
      #expect(elsewhere.text.contains("Open it at https://id.example.org"))
      let expired = try await browser.post("/sign-in", [("csrf", "x"), ("action", "sign-in")])
      #expect(expired.status == 303)
      #expect(expired.location == "https://id.example.org/sign-in")
      let unknown = try await browser.fill("/sign-in", "dance")
      #expect(unknown.text.contains("This form has expired"))
    }
  }
}
#endif
