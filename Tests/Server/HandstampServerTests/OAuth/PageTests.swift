#if Programs
import Foundation
import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampServer

/// OWASP ASVS 3.3, 3.4, 3.5 and 7.2.4, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `The server's own pages` {
  @Test func `run no scripts and load nothing of others, and cannot be framed`() async throws {
    try await TestServer.runOAuth { test in
      for path in [OAuthApp().page(), "/device", "/oauth/authorize"] {
        let page = try await Browser(test.client.base).get(path)
        let policy = try #require(page.header("content-security-policy"))
        #expect(policy.hasPrefix("default-src 'none'; style-src 'self'; script-src 'self'; "))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(policy.contains("base-uri 'none'"))
        #expect(!policy.contains("unsafe"))
        #expect(page.header("x-content-type-options") == "nosniff")
        #expect(page.header("cache-control") == "no-store")
        #expect(page.header("referrer-policy") == "same-origin")
        #expect(page.header("content-type") == "text/html; charset=utf-8")
        #expect(page.header("strict-transport-security")?.hasPrefix("max-age=63072000") == true)
        // One script, from a file of this server, which the page works without.
        let scripts = page.text.components(separatedBy: "<script").dropFirst()
        #expect(scripts.count == 1)
        #expect(scripts.first?.hasPrefix(" src=\"/assets/pages-") == true)
        for attribute in [" style=\"", " onclick=", " onload=", "javascript:"] {
          #expect(!page.text.contains(attribute))
        }
      }
    }
  }

  @Test func `set cookies that no other host and no script can read`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let path = OAuthApp().page()
      let page = try await browser.get(path)
      let answer = try await browser.post(
        path,
        [
          ("csrf", page.csrf ?? ""), ("email", "ada@example.org"), ("password", TestServer.password),
          ("action", "sign-in"),
        ])
      let cookies = page.all("set-cookie") + answer.all("set-cookie")
      #expect(cookies.count == 5)
      for cookie in cookies {
        #expect(cookie.hasPrefix("__Host-handstamp-"))
        for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] { #expect(cookie.contains("; " + part)) }
        #expect(!cookie.contains("Domain"))
      }
      #expect(answer.status == 303)
      #expect(answer.location?.hasPrefix("https://id.example.org" + path + "&signed_in=") == true)
    }
  }

  @Test func `never adopt an id that they did not issue`() async throws {
    try await TestServer.runOAuth { test in
      let planted = "hsl1." + Base64URL.encode([UInt8](repeating: 7, count: 32))
      let browser = Browser(test.client.base)
      browser.cookies[ResponseCookie.session] = planted
      let path = OAuthApp().page()
      #expect(try await browser.get(path).title == "Sign in")
      let page = try await browser.signIn(at: path)
      #expect(page.title.hasPrefix("Allow "))
      let first = try #require(browser.cookies[ResponseCookie.session])
      #expect(first != planted)
      // The attacker who planted it gains nothing.
      let thief = Browser(test.client.base)
      thief.cookies[ResponseCookie.session] = planted
      #expect(try await thief.get(path).title == "Sign in")
      // Signing in again gives another id, and the previous one is void.
      _ = try await browser.press("sign-out", on: page, at: path)
      #expect(browser.cookies[ResponseCookie.session] == nil)
      _ = try await browser.signIn(at: path)
      #expect(browser.cookies[ResponseCookie.session] != first)
      thief.cookies[ResponseCookie.session] = first
      #expect(try await thief.get(path).title == "Sign in")
    }
  }

  @Test func `accept only their own forms`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let path = OAuthApp().page()
      let page = try await browser.signIn(at: path)
      let stranger = try await Browser(test.client.base).get(path)
      for (token, headers) in [
        ("", [:]), ("wrong", [:]), (stranger.csrf ?? "", [:]),
        (page.csrf ?? "", ["Origin": "https://evil.example.org"]), (page.csrf ?? "", ["Origin": "null"]),
        (page.csrf ?? "", ["Origin": "http://id.example.org"]),
        (page.csrf ?? "", ["Sec-Fetch-Site": "cross-site"]), (page.csrf ?? "", ["Sec-Fetch-Site": "same-site"]),
      ] {
        let answer = try await browser.post(path, [("csrf", token), ("action", "allow")], headers: headers)
        #expect(answer.status == 403, "\(headers)")
        #expect(answer.location == nil)
      }
      // A form from before the sign-in is not valid after it.
      let before = try await Browser(test.client.base).get(path)
      let late = try await browser.post(path, [("csrf", before.csrf ?? ""), ("action", "allow")])
      #expect(late.status == 403)
      let cookies = browser.cookies
      browser.cookies[ResponseCookie.form] = nil
      #expect(try await browser.post(path, [("csrf", page.csrf ?? ""), ("action", "allow")]).status == 403)
      browser.cookies = cookies
      let good = try await browser.post(
        path, [("csrf", page.csrf ?? ""), ("action", "allow")],
        headers: ["Origin": "https://id.example.org", "Sec-Fetch-Site": "same-origin"])
      #expect(good.fields["code"] != nil)
    }
  }

  @Test func `change nothing on GET`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let path = OAuthApp().page()
      let page = try await browser.signIn(at: path)
      let look = try await browser.get(path + "&action=allow&csrf=" + (page.csrf ?? ""))
      #expect(look.status == 200)
      #expect(look.location == nil)
    }
  }

  @Test func `answer alike for a wrong password and an unknown address`() async throws {
    try await TestServer.runOAuth { test in
      let path = OAuthApp().page()
      let wrong = try await Browser(test.client.base).signIn(at: path, password: "wrong password")
      let unknown = try await Browser(test.client.base).signIn(at: path, as: "eve@example.org")
      let none = try await Browser(test.client.base).signIn(at: path, as: "no address")
      for sight in [wrong, unknown, none] {
        #expect(sight.status == 200)
        #expect(sight.text.contains("The email address or the password is wrong"))
        #expect(sight.text.contains("aria-describedby=\"password-error\""))
        #expect(!sight.text.contains(TestServer.password))
      }
      // What was typed stays, but for the password.
      #expect(unknown.text.contains("value=\"eve@example.org\""))
    }
  }

  @Test func `escape text from other parties`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: "/device")
      let page = try await browser.get("/device?user_code=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
      #expect(page.text.contains("&quot;&gt;&lt;script&gt;"))
      #expect(!page.text.contains("<script>"))
    }
  }

  @Test func `sign a browser out when the password changes, if the user wants that`() async throws {
    try await TestServer.runOAuth { test in
      let path = OAuthApp().page()
      let browser = Browser(test.client.base)
      _ = try await browser.signIn(at: path)
      let phone = try await test.signIn()
      func change(from old: String, to new: String, endingOthers: Bool) async throws {
        let answer = try await test.client.post(
          "/v1/password", token: phone.access,
          json: #"{"current":"\#(old)","new":"\#(new)","end_others":\#(endingOthers)}"#)
        #expect(answer.status == 204)
      }
      try await change(from: TestServer.password, to: "another password", endingOthers: false)
      #expect(try await browser.get(path).title != "Sign in")
      try await change(from: "another password", to: "yet another password", endingOthers: true)
      #expect(try await browser.get(path).title == "Sign in")
    }
  }

  @Test func `let a form redirect only to the app`() async throws {
    try await TestServer.runOAuth { test in
      let browser = Browser(test.client.base)
      let app = try await browser.signIn(at: OAuthApp().page())
      #expect(app.header("content-security-policy")?.hasSuffix("form-action 'self' org.example.app:") == true)
      var other = OAuthApp()
      (other.id, other.redirect, other.scope) = ("other", "https://other.example.org/cb?a=b", nil)
      let site = try await browser.get(other.page())
      #expect(
        site.header("content-security-policy")?.hasSuffix("form-action 'self' https://other.example.org") == true)
    }
  }
}
#endif
