import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A web URL` {
  @Test(arguments: [
    ("https://id.example.org", "https://id.example.org", "/"),
    ("HTTPS://ID.Example.org:443/a", "https://id.example.org", "/a"),
    ("http://[::1]:8080/a?b#c", "http://[::1]:8080", "/a"), ("http://127.0.0.1:/x", "http://127.0.0.1", "/x"),
    ("https://a?b=//c", "https://a", "/"),
  ])
  func `has an origin and a path`(_ text: String, _ origin: String, _ path: String) {
    #expect(WebURL(text)?.origin.text == origin)
    #expect(WebURL(text)?.path == path)
  }

  @Test(arguments: [
    "", "https://", "https:///a", "ftp://a", "javascript:alert(1)", "//a", "https://ada@a", "https://ada:pw@a",
    "https://a:0",
    "https://a:65536", "https://a:8o", "https://a:-1", "https://a b", "https://good.example\\@evil.example/",
    "https://good.example\\.evil.example", "https://a%2eb", "https://a<b", "https://::1", "https://[::1",
    "https://[::1]x",
    "https://[v1.a]", "https://a\n.b", "https://a\t", " https://a",
  ])
  func `is not what two parsers could read differently`(_ text: String) {
    #expect(WebURL(text) == nil)
  }

  @Test func `without a port has the scheme's`() {
    #expect(Origin("https://a") == Origin("https://A:443/b") && Origin("https://a") != Origin("https://a:8443"))
    #expect(Origin("http://a") != Origin("https://a") && Origin("https://a") != Origin("https://a."))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An issuer that is handed over` {
  @Test(arguments: [
    ("https://a", "https://a", true), ("https://a", "https://a/", true), ("https://a/", "https://a", true),
    ("http://[::1]:8080/", "http://[::1]:8080", true), ("https://a/b", "https://a/b", true),
    ("https://a/b", "https://a/b/", false), ("https://a/b/", "https://a/b", false), ("https://a", "https://a//", false),
    ("https://a/", "https://b/", false), ("https://a", "https://A", false), ("https://a", "https://a:443", false),
    ("https://a", "https://a/?", false), ("https://a", "https://a/#/", false), ("https://é", "https://e\u{301}", false),
  ])
  func `is the published one but for the slash of an empty path`(handed: String, published: String, isOne: Bool) {
    #expect(handed.isIssuer(published: published) == isOne)
  }

  @Test(arguments: ["https://a", "https://a/"])
  func `is followed by a path with one slash`(issuer: String) {
    #expect(WebURL.address("/v1", below: issuer) == "https://a/v1")
  }
}

@Suite(.timeLimit(.minutes(10))) struct `This machine` {
  @Test(arguments: ["localhost", "LOCALHOST", "127.0.0.1", "127.255.0.9", "::1", "[::1]", "0:0:0:0:0:0:0:1"])
  func `has these names`(_ host: String) {
    #expect(Loopback.contains(host: host))
  }

  @Test(arguments: [
    "", "127.example.org", "127.0.0.1.example.org", "127.0.0.1.", "127.1", "127.0.0.256", "127.0.0.01", "0127.0.0.1",
    "128.0.0.1",
    "localhost.example.org", "::2", "[::1", "0.0.0.0",
  ])
  func `has no other`(_ host: String) {
    #expect(!Loopback.contains(host: host))
  }

  @Test func `is the only one that may get secrets in clear`() {
    #expect(Origin("https://a")?.isTrustworthy == true && Origin("http://127.0.0.1:1")?.isTrustworthy == true)
    #expect(Origin("http://127.example.org")?.isTrustworthy == false && Origin("http://a")?.isTrustworthy == false)
  }

  @Test(arguments: [
    ("http://127.0.0.1:8080", "http://localhost:8080", true), ("http://[::1]", "http://127.0.0.1:80", true),
    ("http://localhost:80", "http://LOCALHOST", false), ("http://127.0.0.1:81", "http://localhost:80", false),
    ("https://127.0.0.1:80", "http://localhost:80", false), ("http://10.0.0.1:80", "http://localhost:80", false),
    ("http://localhost:80", "http://id.example.org:80", false), ("http://127.0.0.2:80", "http://localhost:80", false),
    // Browsers write it as the first one, and would be led back and forth.
    ("http://[::1]:80", "http://[0:0:0:0:0:0:0:1]:80", false),
  ])
  func `is one place under two names, at one port`(place: String, other: String, isAlias: Bool) throws {
    let (place, other) = (try #require(Origin(place)), try #require(Origin(other)))
    #expect(place.isAlias(of: other) == isAlias)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Percent-encoding` {
  @Test func `of every byte is undone`() {
    let text = String(decoding: (0...255).map { UInt8($0) }, as: UTF8.self)
    #expect(PercentEncoding.decode(PercentEncoding.encode(text).utf8) == Array(text.utf8))
    #expect(PercentEncoding.encode("a-._~/ é+") == "a-._~%2F%20%C3%A9%2B")
    #expect(PercentEncoding.decode("a+b".utf8) == Array("a+b".utf8))
    #expect(PercentEncoding.decode("a+b".utf8, plusIsSpace: true) == Array("a b".utf8))
  }

  @Test(arguments: ["%", "%2", "%2x", "%x2", "a%"])
  func `that is incomplete has no meaning`(_ text: String) {
    #expect(PercentEncoding.decode(text.utf8) == nil)
  }

  @Test func `of a path's segments never names another path`() {
    for text in ["", ".", ".."] { #expect(PercentEncoding.path("v1", text, "name") == nil) }
    #expect(PercentEncoding.path("v1", "../x?y#z", "a b") == "/v1/..%2Fx%3Fy%23z/a%20b")
  }
}
