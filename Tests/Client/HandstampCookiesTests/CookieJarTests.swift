import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampCookies

let noon = UnixTime(seconds: 1_800_000_000)
private let site = "https://www.example.com/forum/index.php"

extension CookieJar {
  fileprivate func sent(to url: String, at now: UnixTime = noon) -> String? {
    header(for: url, at: now)?.withExposed { $0 }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A cookie jar` {
  /// RFC 6265 section 3.1, the exchanges in order.
  @Test func `follows the examples of RFC 6265`() {
    var jar = CookieJar()
    jar.set("SID=31d4d96e407aad42", from: "https://example.com/", at: noon)
    #expect(jar.sent(to: "https://example.com/") == "SID=31d4d96e407aad42")

    jar = CookieJar()
    jar.set("SID=31d4d96e407aad42; Path=/; Domain=example.com", from: "https://www.example.com/", at: noon)
    #expect(jar.sent(to: "https://example.com/") == "SID=31d4d96e407aad42")
    #expect(jar.sent(to: "https://deep.www.example.com/x") == "SID=31d4d96e407aad42")

    jar = CookieJar()
    jar.set("SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", from: "https://example.com/", at: noon)
    jar.set("lang=en-US; Path=/; Domain=example.com", from: "https://example.com/", at: noon)
    #expect(jar.sent(to: "https://example.com/") == "SID=31d4d96e407aad42; lang=en-US")
    #expect(jar.sent(to: "http://example.com/") == "lang=en-US")

    jar.set("lang=en-US; Expires=Wed, 09 Jun 2041 10:18:14 GMT", from: "https://example.com/", at: noon)
    jar.set(
      "lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Domain=example.com; Path=/", from: "https://example.com/", at: noon
    )
    #expect(jar.sent(to: "https://example.com/") == "SID=31d4d96e407aad42")
  }

  /// RFC 6265 section 5.1.1, and the formats that servers really send.
  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed, 09 Jun 2041 10:18:14 GMT", 2_254_385_894),
    ("Thu, 01-Jan-1970 00:00:01 GMT", 1), ("01 jan 70 00:00:00", 0), ("29 Feb 2000 0:0:0", 951_782_400),
    ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
  ])
  func `parses a date as browsers do`(text: String, seconds: Int64) {
    #expect(CookieDate.parse(text) == UnixTime(seconds: seconds))
  }

  @Test(arguments: [
    "", "tomorrow", "Wed, 09 Jun 2041", "31 Feb 2000 00:00:00", "29 Feb 1900 00:00:00", "01 Jan 1600 00:00:00",
    "01 Jan 2000 24:00:00", "01 Jan 2000 00:60:00", "00 Jan 2000 00:00:00", "01 Foo 2000 00:00:00",
    "01 Jan 20000 00:00:00",
  ])
  func `ignores an invalid date`(text: String) {
    #expect(CookieDate.parse(text) == nil)
  }

  @Test(arguments: [
    ("example.com", "example.com", true), ("www.example.com", "example.com", true),
    ("wwwexample.com", "example.com", false), ("example.com", "www.example.com", false),
    ("192.168.0.1", "168.0.1", false), ("a.b.c", "c", true),
  ])
  func `matches domains`(host: String, domain: String, matches: Bool) {
    #expect(DomainRules.matches(host, domain) == matches)
  }

  @Test(arguments: [
    ("/foo", "/foo", true), ("/foo/", "/foo", true), ("/foo/bar", "/foo", true), ("/foobar", "/foo", false),
    ("/foo/bar", "/foo/", true), ("/", "/foo", false), ("/foo", "/", true), ("/Foo", "/foo", false),
  ])
  func `matches paths`(request: String, path: String, matches: Bool) {
    #expect(Cookie.path(request, matches: path) == matches)
  }

  @Test(arguments: [
    ("/forum/index.php", "/forum"), ("/index.php", "/"), ("/", "/"), ("/a/b/", "/a/b"), ("", "/"), ("nothing", "/"),
  ])
  func `defaults a cookie's path to its page's`(request: String, path: String) {
    #expect(Cookie.defaultPath(of: request) == path)
  }

  @Test(arguments: [
    "a=1; Domain=com", "a=1; Domain=example.org", "a=1; Domain=ww.example.com", "a=1; Domain=.com", "=1", "a",
    "a=1\u{0}2", "a=1\r\nSet-Cookie: b=2", "a=1\tb", "a=" + String(repeating: "x", count: 4096),
  ])
  func `refuses a cookie that may not be set`(line: String) {
    var jar = CookieJar()
    let isSet = jar.set(line, from: site, at: noon)
    #expect(!isSet)
    #expect(jar.cookies.isEmpty)
  }

  @Test func `prefers Max-Age to Expires, and deletes the cookie if it is negative`() {
    var jar = CookieJar()
    jar.set("a=1; Max-Age=60; Expires=Thu, 01-Jan-1970 00:00:01 GMT", from: site, at: noon)
    #expect(jar.cookie("a", for: site, at: noon.advanced(by: .seconds(60) - .milliseconds(1))) != nil)
    #expect(jar.cookie("a", for: site, at: noon.advanced(by: .seconds(60))) == nil)
    jar.set("a=1; Max-Age=99999999999999999999", from: site, at: noon)
    #expect(jar.cookie("a", for: site, at: UnixTime(seconds: 9_000_000_000)) != nil)
    jar.set("a=1; max-age=-1", from: site, at: noon)
    #expect(jar.cookies.isEmpty)
  }

  @Test func `measures expiry by the server's clock`() {
    var jar = CookieJar()
    let response = TransportResponse(
      status: 200,
      headers: [
        // This device's clock is more than a year ahead.
        HeaderField("Date", "Thu, 14 Jan 2026 08:00:00 GMT"),
        HeaderField("Set-Cookie", "a=1; Expires=Thu, 14 Jan 2026 09:00:00 GMT"),
      ])
    jar.take(response, from: site, at: noon)
    #expect(jar.cookie("a", for: site, at: noon)?.expires == noon.advanced(by: .seconds(3600)))
  }

  @Test func `separates several Set-Cookie lines, joined or not`() {
    let lines = [
      "bbuserid=42; expires=Wed, 09-Jun-2041 10:18:14 GMT; path=/", "bbpassword=a,b=c; path=/; secure",
      "sessionhash=f00",
    ]
    for headers in [
      lines.map { HeaderField("Set-Cookie", $0) },
      // As URLSession has them.
      SetCookieFields.split(lines.joined(separator: ", ")).map { HeaderField("set-cookie", $0) },
    ] {
      var jar = CookieJar()
      jar.take(TransportResponse(status: 200, headers: headers), from: "https://www.example.com/", at: noon)
      #expect(jar.cookies.map(\.name) == ["bbuserid", "bbpassword", "sessionhash"])
      #expect(jar.sent(to: "https://www.example.com/")?.contains("bbuserid=42") == true)
    }
  }

  @Test func `sends cookies with longer paths first, then older ones`() {
    var jar = CookieJar()
    jar.set("b=root; Path=/", from: site, at: noon)
    jar.set("a=late; Path=/", from: site, at: noon.advanced(by: .seconds(1)))
    jar.set("c=deep; Path=/forum", from: site, at: noon.advanced(by: .seconds(2)))
    // A cookie keeps its age when its value changes.
    jar.set("b=changed; Path=/", from: site, at: noon.advanced(by: .seconds(3)))
    #expect(jar.sent(to: site, at: noon.advanced(by: .seconds(4))) == "c=deep; b=changed; a=late")
  }

  @Test func `keeps secure cookies from unencrypted pages`() {
    var jar = CookieJar()
    jar.set("sid=good; Secure; Path=/", from: site, at: noon)
    let clear = "http://www.example.com/"
    let isPlanted = jar.set("sid=planted; Path=/", from: clear, at: noon)
    let isSecure = jar.set("other=1; Secure", from: clear, at: noon)
    #expect(!isPlanted && !isSecure)
    #expect(jar.sent(to: clear) == nil)
    #expect(jar.sent(to: site) == "sid=good")
  }

  @Test func `keeps its session cookie when a server sets many others`() {
    var jar = CookieJar()
    jar.set("bbuserid=42", from: site, at: noon)
    for number in 0..<1000 { jar.set("c\(number)=x", from: site, at: noon) }
    #expect(jar.cookies.count == CookieJar.countLimit)
    #expect(jar.cookie("bbuserid", for: site, at: noon) != nil)
  }

  @Test(arguments: 0..<200 as Range<UInt64>)
  func `round-trips through the vault, and survives any header line`(seed: UInt64) {
    var random = SplitMix64(state: seed)
    var jar = CookieJar()
    let letters = Array("ab=;, \t\"'éß.-_/\\\u{7f}\u{1}Domain=Path=Secure;Max-Age=9;Expires=Wed, 09 Jun 2041 10:18:14")
    for _ in 0..<12 {
      let line = String(
        (0..<Int.random(in: 0..<60, using: &random)).map { _ in letters.randomElement(using: &random) ?? "a" })
      jar.set("n\(Int.random(in: 0..<4, using: &random))=" + line, from: site, at: noon)
      jar.set(line, from: site, at: noon)
    }
    #expect(CookieJar(.cookies(jar.text)) == jar)
    let header = jar.sent(to: site) ?? ""
    #expect(header.utf8.allSatisfy { $0 >= 32 && $0 != 127 })
  }

  @Test func `never prints a secret`() {
    var jar = CookieJar()
    jar.set("bbpassword=hunter2", from: site, at: noon)
    var text = ""
    dump(jar, to: &text)
    #expect(!text.contains("hunter2"))
    #expect(!"\(jar)".contains("hunter2"))
    #expect(CookieJar(Secret("something else")) == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A web address` {
  @Test(arguments: [
    "", "x", "ftp://a/", "https://", "https:///x", "https://u:p@h/", "https://h:0/", "https://h:99999/", "https://h:x/",
    "https://[::1/", "https://a b/",
  ])
  func `needs a scheme and a host`(text: String) {
    #expect(WebAddress(text) == nil)
  }

  @Test(arguments: [
    ("index.php", "https://h/forum/index.php"), ("/x?y=1#z", "https://h/x?y=1"),
    ("?a=b", "https://h/forum/show.php?a=b"),
    ("../up", "https://h/up"), ("./a/../b/.", "https://h/forum/b/"), ("../../../x", "https://h/x"),
    ("//other/x", "https://other/x"), ("http://H:8080/", "http://h:8080/"), ("", "https://h/forum/show.php?t=1"),
  ])
  func `resolves a page's links`(reference: String, wanted: String) {
    #expect(WebAddress("https://h/forum/show.php?t=1")?.resolving(reference)?.text == wanted)
  }

  @Test(arguments: ["javascript:alert(1)", "mailto:a@b", "data:text/html,x"])
  func `rejects links with another scheme`(reference: String) {
    #expect(WebAddress("https://h/")?.resolving(reference) == nil)
  }
}
