#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The pages of an account` {
  @Test func `change the name`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      for blank in ["  ", "\u{3164}", "\u{2800}\u{A0}"] {
        #expect(try await browser.fill("/account", "save", [("name", blank)]).text.contains("Enter a name."))
      }
      // Another person's address is text, and no link; Safari makes none of it either.
      let named = try await browser.fill("/account", "save", [("name", "eve@example.org")])
      #expect(named.text.contains("eve@example.org") && !named.text.contains("mailto:"))
      #expect(!named.text.contains(/<a [^>]*eve@/) && named.text.contains("email=no"))
      let long = String(repeating: "x", count: 201)
      #expect(try await browser.fill("/account", "save", [("name", long)]).text.contains("Use at most 200"))
      let saved = try await browser.fill("/account", "save", [("name", "Ada <Countess>")])
      #expect(saved.text.contains("Saved."))
      #expect(saved.text.contains("Ada &lt;Countess&gt;"))
      #expect(try await test.client.get("/v1/me", token: phone.access).json["name"] == "Ada <Countess>")
    }
  }

  @Test func `list the devices, and sign them out`() async throws {
    try await TestServer.runOpenID { test in
      let phone = try await test.signIn(device: "phone")
      let browser = try await Browser.signedIn(test)
      _ = try await OAuthApp.party().tokens(browser, at: test)
      let page = try await browser.get("/account/devices")
      #expect(page.text.contains("This browser"))
      #expect(page.text.contains("The party"))
      let path = "/account/devices"
      let ended = try await browser.press("end", on: page, at: path, [("session", phone.id)])
      #expect(ended.text.contains("phone is signed out"))
      #expect(try await test.client.get("/v1/me", token: phone.access).json["reason"] == "revoked")
      // That of another account is not even looked at.
      let eve = try await test.signUp("eve@example.org", device: "eve")
      let foreign = try await browser.press("end", on: ended, at: path, [("session", eve.id)])
      #expect(foreign.status == 200)
      #expect(try await test.client.get("/v1/me", token: eve.access).status == 200)
      let confirm = try await browser.get("/account/devices/end")
      #expect(confirm.text.contains("The party"))
      let all = try await browser.press("end-others", on: confirm, at: "/account/devices/end")
      #expect(all.text.contains("All other devices are signed out."))
      #expect(!all.text.contains("The party"))
      #expect(try await browser.get(path).text.contains("This browser"))
    }
  }

  @Test func `sees sign-ins of one kind as one, in the page's language, and signs them out together`() async throws {
    try await TestServer.runOpenID { test in
      let browser = try await Browser.signedIn(test)
      for _ in 0..<2 { _ = try await Browser.signedIn(test) }
      for _ in 0..<2 { _ = try await OAuthApp.party(scope: "openid offline_access").tokens(browser, at: test) }
      let path = "/account/devices"
      let short = try await browser.get(path)
      #expect(short.rows.count == 4)
      #expect(short.text.contains("2 sign-ins") && short.text.contains("All other devices"))
      // Apps of one name are two devices.
      let phones = [try await test.signIn(device: "a"), try await test.signIn(device: "b")]
      let long = try await browser.get(path, headers: ["Accept-Language": "de"])
      let top = long.text.components(separatedBy: #"id="row-"#)[0]
      #expect(long.rows.count == 6 && top.contains("href=\"/account/devices/end\""), "on top of a long list")
      let group = try #require(long.row("2 Anmeldungen", "Ein Browser", "Alle abmelden"))
      // The button of a row needs no more, also in an operator's own list; that of a member says that it is one.
      let ended = try await browser.press("end", on: long, at: path, [("session", group.session)])
      #expect(ended.text.contains("A browser is signed out: 2 sign-ins have ended."))
      #expect(ended.rows.count == 5)
      let apps = try #require(long.row("2 Anmeldungen", "The party"))
      #expect(apps.text.components(separatedBy: "name=\"single\"").count == 1 + 2)
      let single = try await browser.press("end", on: ended, at: path, [("session", apps.session), ("single", "yes")])
      #expect(single.text.contains("One of 2 sign-ins with The party has ended."))
      #expect(single.rows.count == 5, "the other one stays")
      for phone in phones { #expect(try await test.client.get("/v1/me", token: phone.access).status == 200) }
      #expect(try await browser.get(path).text.contains("This browser"))
    }
  }

  @Test func `show a hundred devices, and all when asked to`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      test.clock.advance(by: .seconds(1))
      let browser = try await Browser.signedIn(test)
      let path = "/account/devices"
      for number in 1...98 { _ = try await test.signIn(device: "d\(number)") }
      let whole = try await browser.get(path)
      #expect(whole.rows.count == 100 && !whole.text.contains("Show all"))
      _ = try await test.signIn(device: "d99")
      let short = try await browser.get(path)
      #expect(short.rows.count == 100 && short.text.contains("href=\"\(path)?all=yes\">Show all"))
      #expect(short.text.contains("data-fragment=\"\(path)/list\"") && short.row("phone") == nil, "seen longest ago")
      let all = try await browser.get(path + "?all=yes")
      #expect(all.rows.count == 101 && !all.text.contains("Show all"))
      let list = path + "/list?all=yes"
      #expect(all.text.contains("data-fragment=\"\(list)\""))
      #expect(try await browser.get(list).rows.count == 101)
    }
  }

  /// Sign-ins with the browsers of a group, and what they have signed in, end together.
  @Test func `is told all that ends, before and after`() async throws {
    try await TestServer.runOpenID { test in
      let browser = try await Browser.signedIn(test)
      var others: [Browser] = []
      for _ in 0..<3 {
        test.clock.advance(by: .seconds(1))
        others.append(try await Browser.signedIn(test))
      }
      for other in others.prefix(2) { _ = try await OAuthApp.party().tokens(other, at: test) }
      _ = try await OAuthApp.party("mail").tokens(others[0], at: test)
      let (path, confirm) = ("/account/devices", "/account/devices/end?session=")
      let page = try await browser.get(path)
      let group = try #require(page.row("3 sign-ins", "A browser"))
      #expect(group.text.contains(#"Sign out all<span class="hear"> A browser</span>"#))
      // All are from just now: what tells them apart is the second.
      #expect(Set(group.text.matches(of: /\d+:\d\d:\d\d UTC/).map { String($0.output) }).count == 3)
      for member in group.text.matches(of: /id="device-([^"]+)"/).map({ String($0.output.1) }) {
        #expect(group.text.contains("aria-labelledby=\"end-\(member) name-\(group.id) times-\(member)\""))
      }
      let asked = try await browser.get(confirm + group.session)
      #expect(asked.title == "End 3 sign-ins?" && asked.text.contains(">Sign out all</button>"))
      for words in ["A browser (3 sign-ins)", "The party (2 sign-ins)", "The mail"] {
        #expect(asked.text.contains(words), "\(words)")
      }
      let german = try await browser.get(confirm + group.session, headers: ["Accept-Language": "de"])
      #expect(german.title == "3 Anmeldungen beenden?" && german.text.contains(">Alle abmelden</button>"))
      let app = try #require(page.row("The mail"))
      #expect(try await browser.get(confirm + app.session).title == "Sign out this app?")
      // The one seen last has signed in to no app.
      let alone = try await browser.get(confirm + group.session + "&single=yes")
      #expect(alone.title == "Sign out this device?" && !alone.text.contains("The party"))
      let one = try await browser.press("end", on: alone, at: path, [("session", group.session), ("single", "yes")])
      #expect(one.text.contains("<p>One of 3 sign-ins with A browser has ended.</p>"))
      let rest = try #require(one.row("2 sign-ins", "A browser"))
      #expect(rest.id == group.id && rest.session != group.session, "what is open there stays open")
      _ = try await Browser.signedIn(test)
      let grown = try #require(try await browser.get(path).row("3 sign-ins", "A browser"))
      #expect(grown.id == group.id && grown.session != rest.session)
      let all = try await browser.press("end", on: one, at: path, [("session", grown.session)])
      #expect(all.text.contains("<p>A browser is signed out: 3 sign-ins have ended. Signed out with it: The "))
      #expect(all.text.contains(/with it: The (party, The mail|mail, The party)\.<\/p>/))
      #expect(all.row("The party") == nil && all.row("The mail") == nil)
      let gone = try await browser.get(confirm + grown.session)
      #expect(gone.location == Browser.issuer + path, "nothing is left to ask about")
    }
  }

  @Test func `ask for a proof before anyone else is signed out`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      test.clock.advance(by: .seconds(901))
      let path = "/account/devices"
      let data = try await browser.fill("/account/data", "download")
      let again = "Then press the button again."
      #expect(data.title == "Confirm it’s you" && data.text.contains(again))
      let confirm = path + "/end?session=" + phone.id
      let asked = try await browser.follow(try await browser.fill(path, "end", [("session", phone.id)]))
      #expect(asked.title == "Confirm it’s you" && !asked.text.contains(again))
      #expect(asked.text.contains("ada@example.org"))
      #expect(try await test.server.registry.isLive(SessionID(phone.id), now: test.clock.now))
      let fields = [("again", "yes"), ("password", "wrong password")]
      #expect(try await browser.press("sign-in", on: data, at: "/account/data", fields).text.contains(again))
      let wrong = try await browser.press("sign-in", on: asked, at: confirm, [("password", "wrong password")])
      #expect(wrong.text.contains("This password is wrong."))
      let previous = browser.cookies[ResponseCookie.session]
      let back = try await browser.press("sign-in", on: asked, at: confirm, [("password", TestServer.password)])
      #expect(back.location == Browser.issuer + confirm, "on to what was asked for")
      let question = try await browser.follow(back)
      #expect(question.title == "Sign out this device?")
      #expect(browser.cookies[ResponseCookie.session] != previous)
      let ended = try await browser.press("end", on: question, at: path, [("session", phone.id)])
      #expect(ended.text.contains("is signed out."))
      // An action that has no page of its own leads to its page, whose address has no empty query.
      test.clock.advance(by: .seconds(901))
      let late = try await browser.fill("/account/data", "download")
      let home = try await browser.press("sign-in", on: late, at: "/account/data", [("password", TestServer.password)])
      #expect(home.location == Browser.issuer + "/account/data")
    }
  }

  @Test func `follow the list live`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let events = "/account/devices/events"
      #expect(try await Browser(test.client.base).get(events).status == 401)
      #expect(try await Browser(test.client.base).get("/account/devices/list").status == 401)
      let page = try await browser.get("/account/devices").text
      let live = try #require(page.firstMatch(of: /data-live="([^"]+)"/)).output.1
      #expect(live.hasPrefix(events + "?after="))
      // Between the page and its stream.
      _ = try await test.signIn(device: "tablet")
      let cookie = "\(ResponseCookie.session)=\(browser.cookies[ResponseCookie.session] ?? "")"
      let stream = try await WireStream(test.client, path: String(live), headers: ["Cookie": cookie])
      #expect(try await stream.next()?.name == "verification")
      #expect(try await stream.next()?.name == "session-established")
      let laptop = try await test.signIn(device: "laptop")
      #expect(try await stream.next()?.name == "session-established")
      let list = try await browser.get("/account/devices/list")
      #expect(list.text.contains("value=\"\(laptop.id)\""))
      #expect(!list.text.contains("<html"))
      // Its own end is the last that it tells.
      _ = try await browser.fill("/account", "none")
      let account = try await browser.get("/account")
      _ = try await browser.press("sign-out", on: account, at: "/sign-out")
      let last = try await stream.next()
      #expect(last?.name == "session-revoked")
      #expect(last?.json["current"] == true)
      #expect(try await stream.next() == nil)
    }
  }

  @Test func `take back what an application may do`() async throws {
    try await TestServer.runOpenID { test in
      let browser = try await Browser.signedIn(test)
      #expect(try await browser.get("/account/apps").status == 200)
      let tokens = try await OAuthApp.party(scope: "openid email offline_access").tokens(browser, at: test)
      let page = try await browser.get("/account/apps")
      #expect(page.text.contains("The party"))
      #expect(page.text.contains("See your email address"))
      let email = try #require(EmailAddress("ada@example.org"))
      let (registry, now) = (test.server.registry, test.clock.now)
      let account = try #require(try await registry.account(email: email)).id
      for row in try await registry.sessions(of: account, now: now) where row.client != nil {
        _ = try await registry.end(row.id, of: account, reason: .signedOut, now: now)
      }
      #expect(try await browser.get("/account/apps").text.contains("Last used"), "its session has ended")
      let removed = try await browser.press("remove", on: page, at: "/account/apps", [("app", "party")])
      #expect(removed.text.contains("The party no longer has access."))
      #expect(try await test.client.get("/oauth/userinfo", token: tokens.json["access_token"] ?? "").status == 401)
      #expect(try await browser.get(OAuthApp.party(scope: "openid").page()).title.hasPrefix("Allow "))
    }
  }

  @Test func `change the password, and sign out everywhere else`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let path = "/account/security"
      func change(_ fields: [(String, String)]) async throws -> Browser.BrowserResponse {
        try await browser.fill(path, "change-password", fields)
      }
      let wrong = try await change([("current_password", "wrong password"), ("new_password", "a new password 7")])
      #expect(wrong.text.contains("id=\"current_password-error\""))
      let weak = try await change([("current_password", TestServer.password), ("new_password", "password")])
      #expect(weak.text.contains("one of the first that attackers try"))
      let done = try await change([
        ("current_password", TestServer.password), ("new_password", "a new password 7"), ("end_others", "yes"),
      ])
      #expect(done.text.contains("Your other devices are signed out."))
      #expect(try await test.client.get("/v1/me", token: phone.access).status == 401)
      #expect(try await browser.get(path).title == "Security")
    }
  }

  @Test func `change the address with mails to both`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) {
      $0.mail.notices = [.emailChange]
    } body: { test in
      _ = try await test.signUp()
      _ = try await test.signUp("eve@example.org", device: "eve")
      let browser = try await Browser.signedIn(test)
      let path = "/account/email"
      let same = try await browser.fill(path, "change", [("new_email", "ADA@example.org")])
      #expect(same.text.contains("This is already your address."))
      let pending = try await browser.follow(
        try await browser.fill(path, "change", [("new_email", "ada@new.example.org")]))
      #expect(pending.text.contains("ada@new.example.org"))
      let letters = [try await post.next(), try await post.next()]
      let new = try #require(letters.first { $0.to == "ada@new.example.org" })
      let old = try #require(letters.first { $0.to == "ada@example.org" })
      #expect(old.link == nil)
      let link = try #require(new.link)
      let token = String(link.split(separator: "=")[1])
      // The mailbox alone moves nothing, nor does it confirm the address of a stranger's account.
      #expect(try await Browser(test.client.base).get(link).header("location")?.contains("/sign-in?next=") == true)
      let stranger = Browser(test.client.base)
      _ = try await stranger.signIn(at: "/sign-in", as: "eve@example.org")
      #expect(try await stranger.get(link).title.contains("expired"))
      let form = try await stranger.get(path)
      let moved = try await stranger.press("use", on: form, at: "/account/email/confirm", [("token", token)])
      #expect(moved.status == 400)
      let other = try await Browser.signedIn(test)
      #expect(try await other.get(link).text.contains("ada@example.org"))
      let confirm = try await other.fill(link, "use", [("token", token)])
      #expect(confirm.title == "Your address is changed")
      let told = try await post.next()
      #expect(told.to == "ada@example.org")
      #expect(told.text.contains("a…@new.example.org"))
      #expect(try await browser.get(path).text.contains("ada@new.example.org"))
      #expect(try await browser.get(link).title.contains("expired"))
      // An address that another account has gets a mail without a link.
      _ = try await browser.fill(path, "change", [("new_email", "eve@example.org")])
      let both = [try await post.next(), try await post.next()]
      #expect(both.allSatisfy { $0.link == nil })
      _ = try await browser.fill(path, "cancel")
      #expect(try await !browser.get(path).text.contains("eve@example.org"))
    }
  }

  @Test func `show what happened, and give everything out`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let activity = try await browser.get("/account/activity")
      #expect(activity.text.contains("Signed in on phone") && activity.text.contains("127.0.0.0/24"))
      #expect(activity.text.contains("Account created"))
      // IDs that are none.
      for before in ["-9223372036854775808", "0", "-1", "x", "9223372036854775807", "1"] {
        #expect(try await browser.get("/account/activity?before=\(before)").status == 200, "\(before)")
      }
      let file = try await browser.fill("/account/data", "download")
      #expect(file.header("content-disposition") == "attachment; filename=\"account.json\"")
      let json = WireClient.JSON(
        try #require(try JSONSerialization.jsonObject(with: Data(file.text.utf8)) as? [String: Any]))
      #expect(json[list: "sessions"].count == 2)
      #expect(json[object: "account"]["email"] == "ada@example.org")
    }
  }

  @Test func `delete the account`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp()
      let browser = try await Browser.signedIn(test)
      let path = "/account/delete"
      let other = try await browser.fill(
        path, "delete", [("typed_email", "eve@example.org"), ("password", TestServer.password)])
      #expect(other.text.contains("This is not the address of this account."))
      let wrong = try await browser.fill(
        path, "delete", [("typed_email", "ada@example.org"), ("password", "wrong password")])
      #expect(wrong.text.contains("This password is wrong."))
      let done = try await browser.fill(
        path, "delete", [("typed_email", "Ada@example.org"), ("password", TestServer.password)])
      #expect(done.title == "Your account is deleted")
      #expect(browser.cookies[ResponseCookie.session] == nil)
      #expect(try await test.client.get("/v1/me", token: phone.access).json["reason"] == "account_closed")
    }
  }
}
#endif
