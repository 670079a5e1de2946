import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCookies

/// Cookies as sites really set them, and as attackers do. The cases are written from RFC 6265bis (draft 22), sections 4.1.3 and 5.
@Suite(.timeLimit(.minutes(10))) struct `A cookie from the field` {
  private func names(_ lines: [String], from url: String, for other: String? = nil) -> [String] {
    var jar = CookieJar()
    for line in lines { jar.set(line, from: url, at: noon) }
    return jar.cookies(for: other ?? url, at: noon).map { "\($0.name)=\($0.value.withExposed { $0 })" }
  }

  private func isTaken(_ line: String, from url: String) -> Bool { !names([line], from: url).isEmpty }

  // MARK: Lines

  @Test(arguments: [
    "pref=x, bbuserid=7; Path=/", "pref=x,bbuserid=7", "pref=\"x, bbuserid=7\"",
    "pref=x; Comment=y, bbuserid=7; Path=/",
  ])
  func `of one line is one cookie, whatever its value`(line: String) {
    var jar = CookieJar()
    let response = TransportResponse(status: 200, headers: [HeaderField("Set-Cookie", line)])
    jar.take(response, from: "https://forum.example.com/", at: noon)
    #expect(jar.cookies.map(\.name) == ["pref"])
  }

  @Test(arguments: [
    ("sid=1; Path=/, o dd=2; Path=/x", ["sid=1; Path=/", " o dd=2; Path=/x"]),
    ("sid=1; Path=/, é=2", ["sid=1; Path=/", " é=2"]),
    ("a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=2", ["a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT", " b=2"]),
    (
      "a=1; expires=Wed, 21-Oct-26 07:28:00 GMT; Secure, b=2; Path=/",
      [
        "a=1; expires=Wed, 21-Oct-26 07:28:00 GMT; Secure", " b=2; Path=/",
      ]
    ),
    ("a=1, b=2", ["a=1", " b=2"]), ("a=1,b=2", ["a=1,b=2"]), ("a=x, y", ["a=x, y"]), ("a=x, (y)=z", ["a=x, (y)=z"]),
    ("a=1; HttpOnly, b=2, c=3", ["a=1; HttpOnly", " b=2", " c=3"]),
  ])
  func `is found in a joined line where a valid one begins`(joined: String, lines: [String]) {
    #expect(SetCookieFields.split(joined) == lines)
  }

  // MARK: Names that promise something

  @Test(arguments: [
    ("__Host-sid=1; Secure; Path=/", true), ("__host-sid=1; Secure; Path=/", true),
    ("__Host-sid=1; Secure; Path=/; Domain=", true), ("__Host-sid=1; Secure; Path=/; Domain=a.example.com", false),
    ("__HOST-sid=1; Secure; Path=/; Domain=a.example.com", false), ("__Host-sid=1; Path=/", false),
    ("__Host-sid=1; Secure", false), ("__Host-sid=1; Secure; Path=/a", false), ("__Secure-sid=1; Secure", true),
    ("__Secure-sid=1; Secure; Domain=a.example.com", true), ("__Secure-sid=1", false), ("__SECURE-sid=1", false),
    ("__Http-sid=1; Secure; HttpOnly", true), ("__Http-sid=1; Secure", false),
    ("__Host-Http-sid=1; Secure; Path=/", false), ("__Host-Http-sid=1; Secure; Path=/; HttpOnly", true),
    ("__Http-sid=1", false), ("__Hostsid=1", true),
  ])
  func `keeps what its name promises, or is refused`(line: String, isGood: Bool) {
    #expect(isTaken(line, from: "https://a.example.com/") == isGood)
    #expect(!isTaken(line, from: "http://a.example.com/") || line.hasPrefix("__Hostsid"))
  }

  // MARK: Secure and not

  @Test func `that is secure is kept from this machine, as browsers do`() {
    for url in ["http://localhost:8080/", "http://127.0.0.1/", "http://[::1]:81/"] {
      #expect(names(["sid=1; Secure", "__Host-a=2; Secure; Path=/"], from: url) == ["sid=1", "__Host-a=2"], "\(url)")
    }
    #expect(!isTaken("sid=1; Secure", from: "http://127.0.0.1.example.com/"))
  }

  @Test(arguments: [
    ("http://a.example.com/", "sid=x; Path=/in", false), ("http://a.example.com/", "sid=x; Path=/in/deep", false),
    ("http://a.example.com/", "sid=x; Path=/", true), ("http://a.example.com/", "sid=x; Path=/inside", true),
    ("http://a.example.com/", "sid=x; Path=/in; Domain=example.com", false),
    ("http://b.a.example.com/", "sid=x; Path=/in", false), ("http://c.example.com/", "sid=x; Path=/in", true),
    ("http://a.example.com/", "SID=x; Path=/in", true),
    ("http://c.example.com/", "sid=x; Path=/in; Domain=example.com", false),
  ])
  func `that is secure is not hidden by one from an unencrypted page`(url: String, line: String, isTaken: Bool) {
    var jar = CookieJar()
    jar.set("sid=good; Secure; Path=/in", from: "https://a.example.com/in", at: noon)
    let wasTaken = jar.set(line, from: url, at: noon)
    #expect(wasTaken == isTaken)
    #expect(jar.cookies(for: "https://a.example.com/in", at: noon).first?.value == Secret("good"))
  }

  // MARK: Bytes

  @Test func `has a name, a value and a path of bytes`() throws {
    let url = "https://a.example.com/"
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let lines = ["\(composed)=1; Path=/", "\(decomposed)=2; Path=/", "a= \u{301}x ; Path=/", "b=1; Path=/\u{301}"]
    var jar = CookieJar()
    for line in lines { jar.set(line, from: url, at: noon) }
    let again = try #require(CookieJar(jar.text))
    for jar in [jar, again] {
      #expect(jar.cookies.count == 4)
      #expect(jar.cookie(composed, for: url, at: noon)?.value == Secret("1"))
      #expect(jar.cookie(decomposed, for: url, at: noon)?.value == Secret("2"))
      #expect(jar.cookie("a", for: url, at: noon)?.value.withExposed { Array($0.utf8) } == Array("\u{301}x".utf8))
      #expect(jar.cookies.contains { $0.name == "b" && Array($0.path.utf8) == Array("/\u{301}".utf8) })
      #expect(!jar.cookies(for: url + "x", at: noon).contains { $0.name == "b" })
    }
  }

  // MARK: Hosts

  @Test func `belongs to one host, however that is spelt`() {
    let idn = "https://xn--bcher-kva.example/"
    for url in ["https://bücher.example/", "https://BÜCHER.example/", "https://bu\u{308}cher.example/"] {
      #expect(names(["sid=1"], from: url, for: idn) == ["sid=1"], "\(url)")
      #expect(names(["sid=1; Domain=bücher.example"], from: idn, for: "https://www.bücher.example/") == ["sid=1"])
    }
    for domain in ["[::1]", "::1", "[0:0:0:0:0:0:0:1]", ""] {
      #expect(
        names(["sid=1; Domain=\(domain)"], from: "https://[::1]/", for: "https://[0::1]/") == ["sid=1"], "\(domain)")
    }
  }

  @Test func `with an empty last domain belongs to its host alone`() {
    let line = "sid=1; Domain=example.com; Domain="
    #expect(names([line], from: "https://a.example.com/") == ["sid=1"])
    #expect(names([line], from: "https://a.example.com/", for: "https://b.example.com/").isEmpty)
  }

  // MARK: Signed out

  /// A site whose pages set these cookies, after a form page with a token.
  private final class Site: Transport {
    let signedIn: String
    let next: String
    let requests = Locked<[TransportRequest]>([])

    init(signedIn: String, next: String) { (self.signedIn, self.next) = (signedIn, next) }

    @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      requests.withLock { $0.append(request) }
      func page(_ text: String, _ cookies: String...) -> TransportResponse {
        TransportResponse(
          status: 200, headers: cookies.map { HeaderField("Set-Cookie", $0) }, body: Array(text.utf8))
      }
      switch (request.method, request.url) {
      case ("GET", "https://forum.example.com/login"):
        return page("form token=t1 sid=s1", "\(signedIn.prefix { $0 != "=" })=1; Path=/", "pre=p1; Path=/")
      case ("POST", _):
        let body = String(decoding: request.body, as: UTF8.self)
        let isRight =
          body.contains("password=right") && body.contains("token=t1")
          && request.headers.contains { $0.name == "Cookie" && $0.value.contains("pre=p1") }
        return isRight ? page("hello", "\(signedIn); Path=/") : page("wrong", "\(next); Path=/")
      default: return page("index", "\(next); Path=/")
      }
    }

    @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      throw .connectionLost("not here")
    }
  }

  private func site(_ cookie: String, _ isSignedOut: (@Sendable (String) -> Bool)?) throws -> CookieSite {
    var site = CookieSite(
      baseURL: try #require(URL(string: "https://forum.example.com/")), loginCookie: cookie, signInPath: "login",
      form: { name, password in WebForm([.init("user", name), .init("password", password), .init("sid", "own")]) },
      recognize: { page in
        String(decoding: page.body, as: UTF8.self) == "hello"
          ? .success(Profile(id: "7", name: "Ada")) : .refused(code: "wrong_credentials", detail: nil)
      })
    if let isSignedOut { site.isSignedOut = isSignedOut }
    site.signInForm = CookieSite.SignInForm(path: "login") { page in
      let words = String(decoding: page.body, as: UTF8.self).split(separator: " ")
      guard words.first == "form" else { return nil }
      return words.dropFirst().map { word in
        let pair = word.split(separator: "=")
        return WebForm.Field(String(pair[0]), String(pair[1]))
      }
    }
    return site
  }

  @Test(arguments: [
    ("sid=abc", "sid=", false), ("bbuserid=7", "bbuserid=0", true), ("phpbb3_u=2", "phpbb3_u=1", true),
    ("sid=abc", "sid=deleted; Max-Age=0", false),
  ])
  func `with the value of a guest signs the user out`(signedIn: String, next: String, isNamed: Bool) async throws {
    let clock = ManualClock()
    let transport = Site(signedIn: signedIn, next: next)
    let guest = String(next.drop { $0 != "=" }.dropFirst())
    let isGuest: @Sendable (String) -> Bool = { $0.isEmpty || $0 == "1" || isNamed && $0 == guest }
    let site = try site(String(signedIn.prefix { $0 != "=" }), isGuest)
    let backend = CookieBackend(site, transport: transport, clock: clock)
    let session = SessionController(backend: backend, vault: MemoryVault(), clock: clock)
    try await session.signIn { try await backend.signIn("ada", Secret("right")) }
    let sent = transport.requests.withLock { $0 }
    #expect(sent.map(\.method) == ["GET", "POST"])
    #expect(String(decoding: try #require(sent.last).body, as: UTF8.self) == "user=ada&password=right&sid=own&token=t1")
    let api = APIClient(
      baseURL: try #require(URL(string: "https://forum.example.com/")), controller: session, transport: transport,
      options: .init(retryPolicy: RetryPolicy(attempts: 1)))
    _ = try? await api.response(to: TransportRequest(method: "GET", url: "https://forum.example.com/index"))
    guard case .signedOut = session.state else {
      Issue.record("still \(session.state)")
      return
    }
  }

  @Test func `of a guest is no sign-in, and a page without the form says so`() async throws {
    let clock = ManualClock()
    let transport = Site(signedIn: "sid=abc", next: "sid=")
    var site = try site("sid", nil)
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) {
      try await CookieBackend(site, transport: transport, clock: clock).signIn("ada", Secret("wrong"))
    }
    site.isSignedOut = { $0 == "abc" }
    await #expect(throws: SessionError.invalidResponse("a successful sign-in without the cookie sid")) {
      try await CookieBackend(site, transport: transport, clock: clock).signIn("ada", Secret("right"))
    }
    site.signInForm?.path = "elsewhere"
    await #expect(throws: SessionError.invalidResponse("the sign-in page with status 200 has no form")) {
      try await CookieBackend(site, transport: transport, clock: clock).signIn("ada", Secret("right"))
    }
    site.signInForm?.path = "https://other.example.com/login"
    await #expect(throws: SessionError.invalidResponse("the site redirects to another origin")) {
      try await CookieBackend(site, transport: transport, clock: clock).signIn("ada", Secret("right"))
    }
  }
}
