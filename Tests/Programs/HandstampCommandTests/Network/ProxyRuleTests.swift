#if Programs
import HandstampCore
import HandstampTransports
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The rules of a proxy` {
  @Test(
    arguments: [
      ("proxy", "http://proxy:80", nil), ("proxy:3128", "http://proxy:3128", nil),
      ("http://proxy", "http://proxy:80", nil),
      ("HTTP://Proxy:3128/", "http://proxy:3128", nil), ("http://10.0.0.1:8080", "http://10.0.0.1:8080", nil),
      ("http://[::1]:3128", "http://[::1]:3128", nil), ("http://[::1]", "http://[::1]:80", nil),
      ("socks5://proxy", "socks5://proxy:1080", nil), ("socks5h://proxy:9050", "socks5://proxy:9050", nil),
      ("socks5://[::1]", "socks5://[::1]:1080", nil), ("socks5://[::1]:80", "socks5://[::1]:80", nil),
      ("http://name:word@proxy:3128", "http://proxy:3128", "name:word"),
      ("http://name@proxy", "http://proxy:80", "name:"), ("name:word@proxy:1", "http://proxy:1", "name:word"),
      ("http://n%40me:p%3Aw%2Fd@proxy", "http://proxy:80", "n@me:p:w/d"),
      ("http://a@b:c@proxy", "http://proxy:80", "a@b:c"),
    ] as [(String, String, String?)])
  func `name it by a URL, which it prints without credentials`(text: String, shown: String, credentials: String?) throws
  {
    let server = try ProxyServer(parsing: text)
    #expect("\(server)" == shown)
    #expect(server.credentials == credentials.map { Secret($0) })
    #expect(!String(reflecting: server).contains("word"))
  }

  @Test(
    arguments: [
      ("", .invalidProxy), ("http://", .invalidProxy), ("http://proxy:0", .invalidProxy),
      ("http://proxy:70000", .invalidProxy),
      ("http://proxy:x", .invalidProxy), ("http://proxy/path", .invalidProxy), ("http://proxy?a", .invalidProxy),
      ("http://pro xy", .invalidProxy), ("ftp://proxy", .invalidProxy), ("http://a%0Ab:c@proxy", .invalidProxy),
      ("http://a%zz@proxy", .invalidProxy), ("https://proxy", .unsupportedProxy), ("socks4://proxy", .unsupportedProxy),
      ("socks4a://proxy", .unsupportedProxy), ("socks5://a:b@proxy", .unsupportedCredentials),
    ] as [(String, NetworkSettingsError.Reason)])
  func `refuse what is no proxy`(text: String, reason: NetworkSettingsError.Reason) {
    #expect(throws: NetworkSettingsError(reason)) { try ProxyServer(parsing: text) }
  }

  /// Compared with curl 7.88 by its documentation, but for ports.
  @Test(
    arguments: [
      ("*", "id.example.org", 443, true), (" * ", "10.0.0.1", 80, true), ("*,x", "id.example.org", 443, false),
      ("example.org", "example.org", 443, true), ("example.org", "id.example.org", 443, true),
      ("example.org", "ID.Example.ORG", 443, true), ("EXAMPLE.org", "id.example.org", 443, true),
      ("example.org", "anexample.org", 443, false), ("example.org", "example.org.net", 443, false),
      (".example.org", "id.example.org", 443, true), (".example.org", "example.org", 443, true),
      ("*.example.org", "id.example.org", 443, true), ("*.example.org", "anexample.org", 443, false),
      ("example.org.", "example.org", 443, true), ("example.org", "example.org.", 443, true),
      ("a.org,b.org", "b.org", 443, true), ("a.org b.org", "b.org", 443, true), ("a.org , ,b.org", "b.org", 443, true),
      ("a.org,b.org", "c.org", 443, false), ("", "a.org", 443, false), (",", "a.org", 443, false),
      ("org", "example.org", 443, true), ("example.org:8443", "example.org", 8443, true),
      ("example.org:8443", "example.org", 443, false), ("example.org:8443", "id.example.org", 8443, true),
      ("example.org:x", "example.org", 443, false), ("10.0.0.1", "10.0.0.1", 80, true),
      ("10.0.0.1", "10.0.0.10", 80, false), ("10.0.0.1:80", "10.0.0.1", 80, true),
      ("10.0.0.1:80", "10.0.0.1", 81, false),
      ("0.0.1", "10.0.0.1", 80, false), ("10.0.0.0/8", "10.200.3.4", 80, true), ("10.0.0.0/8", "11.0.0.1", 80, false),
      ("10.0.0.1/8", "10.9.9.9", 80, true), ("192.168.0.0/23", "192.168.1.9", 80, true),
      ("192.168.0.0/23", "192.168.2.9", 80, false), ("0.0.0.0/0", "1.2.3.4", 80, true), ("0.0.0.0/0", "::1", 80, false),
      ("10.0.0.0/33", "10.0.0.1", 80, false), ("10.0.0.0/x", "10.0.0.1", 80, false),
      ("10.0.0.0/8", "example.org", 80, false),
      ("::1", "::1", 80, true), ("[::1]", "::1", 80, true), ("[::1]:80", "::1", 80, true),
      ("[::1]:80", "::1", 81, false),
      ("::1", "0:0:0:0:0:0:0:1", 80, true), ("fd00::/8", "fd12::1", 80, true), ("fd00::/8", "fe80::1", 80, false),
      ("localhost", "localhost", 80, true), ("localhost", "127.0.0.1", 80, false),
    ] as [(String, String, Int, Bool)])
  func `except hosts as curl does, and ports`(text: String, host: String, port: Int, isExcepted: Bool) {
    #expect(ProxyExceptions(text).contains(host: host, port: port) == isExcepted)
  }

  private static let rules = ProxyRules(
    http: ProxyServer(.http, host: "h", port: 1), https: ProxyServer(.socks5, host: "s", port: 2),
    exceptions: ProxyExceptions("example.net,[2001:db8::1]:8443"))

  @Test(
    arguments: [
      ("http://example.org/", "http://h:1"), ("https://example.org/a?b", "socks5://s:2"),
      ("ws://example.org", "http://h:1"),
      ("WSS://example.org", "socks5://s:2"), ("https://id.example.net", nil), ("https://[2001:db8::1]:8443/", nil),
      ("https://[2001:db8::1]/", "socks5://s:2"), ("http://localhost:80", nil), ("https://127.0.0.2", nil),
      ("http://[::1]/", nil), ("not a URL", nil),
    ] as [(String, String?)])
  func `choose by scheme and host, and leave this machine alone`(url: String, proxy: String?) {
    #expect(Self.rules.server(for: url)?.description == proxy)
    var all = Self.rules
    all.includesLoopback = true
    let isHere = ["localhost", "127.0.0.2", "[::1]/"].contains { url.contains($0) }
    let here = url.hasPrefix("https") ? "socks5://s:2" : "http://h:1"
    let expected = isHere ? here : proxy
    #expect(all.server(for: url)?.description == expected)
  }

  @Test(
    arguments: [
      ([:], nil, nil), (["HTTPS_PROXY": "a"], nil, "http://a:80"),
      (["https_proxy": "a", "HTTPS_PROXY": "b"], nil, "http://a:80"),
      (["HTTP_PROXY": "a"], "http://a:80", nil), (["http_proxy": "a", "HTTP_PROXY": "b"], "http://a:80", nil),
      (["ALL_PROXY": "socks5://a"], "socks5://a:1080", "socks5://a:1080"),
      (["all_proxy": "a", "HTTPS_PROXY": "b"], "http://a:80", "http://b:80"),
      (["HTTPS_PROXY": "", "ALL_PROXY": "b"], "http://b:80", "http://b:80"),
      // A client's header field Proxy, as a web server passes it to a program.
      (["REQUEST_METHOD": "GET", "HTTP_PROXY": "evil"], nil, nil),
      (["REQUEST_METHOD": "GET", "http_proxy": "a", "HTTP_PROXY": "evil"], "http://a:80", nil),
    ] as [([String: String], String?, String?)])
  func `are read from the environment`(variables: [String: String], http: String?, https: String?) throws {
    let settings = try NetworkSettings { variables[$0] }
    #expect(settings.proxies.http?.description == http)
    #expect(settings.proxies.https?.description == https)
  }

  @Test func `name the variable that is not valid, without its value`() throws {
    let settings = try NetworkSettings { ["no_proxy": "a.org", "NO_PROXY": "b.org", "SSL_CERT_FILE": "/ca"][$0] }
    #expect(settings.proxies.exceptions == ProxyExceptions("a.org") && settings.certificateAuthorities == "/ca")
    let error = NetworkSettingsError(.unsupportedProxy, in: "HTTPS_PROXY")
    let variables = ["HTTPS_PROXY": "https://name:word@proxy"]
    #expect(throws: error) { try NetworkSettings(variables: { variables[$0] }) }
    #expect("\(error)" == "HTTPS_PROXY: a proxy of this kind is not supported")
  }
}
#endif
