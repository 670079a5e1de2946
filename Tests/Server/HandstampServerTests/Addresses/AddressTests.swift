#if Programs
import HTTPTypes
import NIOCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `IP addresses` {
  @Test(arguments: [
    ("192.0.2.7", "192.0.2.7"), ("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"), ("::", "::"), ("::1", "::1"),
    ("fe80::1%eth0", "fe80::1"), ("::ffff:192.0.2.7", "192.0.2.7"), ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
    ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("1::", "1::"),
  ])
  func `have one spelling`(typed: String, canonical: String) {
    #expect(IPAddress(typed)?.description == canonical)
  }

  @Test(arguments: ["", "192.0.2", "192.0.2.256", "[::1]", "1::2::3", "example.org", "192.0.2.7:80", " 192.0.2.7"])
  func `are not other texts`(text: String) {
    #expect(IPAddress(text) == nil)
  }

  @Test func `count by address in IPv4 and by 64 bits in IPv6`() {
    #expect(IPAddress("192.0.2.7")?.network == IPAddress("192.0.2.7"))
    #expect(IPAddress("2001:db8:1:2:3:4:5:6")?.network == IPAddress("2001:db8:1:2:ffff::1")?.network)
    #expect(IPAddress("2001:db8:1:2::1")?.network != IPAddress("2001:db8:1:3::1")?.network)
  }

  @Test func `are in ranges`() throws {
    let range = try #require(AddressRange("10.1.128.0/17"))
    #expect(IPAddress("10.1.255.1").map(range.contains) == true)
    #expect(IPAddress("10.1.127.1").map(range.contains) == false)
    #expect(IPAddress("::ffff:10.1.255.1").map(range.contains) == true)
    #expect(IPAddress("2001:db8::1").map(range.contains) == false)
    #expect(AddressRange("0.0.0.0/0")?.contains(try #require(IPAddress("8.8.8.8"))) == true)
    #expect(AddressRange("2001:db8::/33")?.contains(try #require(IPAddress("2001:db8:7fff::1"))) == true)
    #expect(AddressRange("2001:db8::/33")?.contains(try #require(IPAddress("2001:db8:8000::1"))) == false)
    #expect(AddressRange("::1").map { "\($0)" } == "::1/128")
  }

  @Test(arguments: ["10.1.2.0/33", "10.1.2.0/", "10.1.2.1/24", "10.1.2.0/+8", "10.1.2.0/8/8", "2001:db8::/129", "/8"])
  func `have only ranges without bits behind the prefix`(text: String) {
    #expect(AddressRange(text) == nil)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The address of a client` {
  private func client(
    _ fields: [(String, String)], peer: String = "10.0.0.1", _ field: TrustedProxies.Field = .xForwardedFor
  ) throws -> String? {
    var headers = HTTPFields()
    for (name, value) in fields {
      headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
    }
    let proxies = TrustedProxies(try ["10.0.0.0/8", "fd00::/8"].map { try #require(AddressRange($0)) }, field: field)
    return ClientAddress(
      of: headers, peer: try SocketAddress(ipAddress: peer, port: 4711), behind: proxies
    ).address?.description
  }

  @Test func `is the peer's without a trusted proxy, whatever it sends`() throws {
    #expect(try client([("X-Forwarded-For", "192.0.2.1")], peer: "203.0.113.9") == "203.0.113.9")
    #expect(try client([("Forwarded", "for=192.0.2.1")], peer: "203.0.113.9", .forwarded) == "203.0.113.9")
    #expect(try client([], peer: "203.0.113.9") == "203.0.113.9")
    #expect(try client([], peer: "10.0.0.1") == "10.0.0.1")
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"),
    ("1.1.1.1, 192.0.2.1", "192.0.2.1"),
    ("1.1.1.1,192.0.2.1 ,10.9.9.9", "192.0.2.1"),
    ("192.0.2.1:4711", "192.0.2.1"),
    ("2001:db8::7", "2001:db8::7"),
    ("[2001:db8::7]:80", "2001:db8::7"),
    ("10.2.2.2, 10.3.3.3", "10.2.2.2"),
    ("1.1.1.1, unknown, 10.9.9.9", "10.9.9.9"),
    ("1.1.1.1, unknown", "10.0.0.1"),
    ("", "10.0.0.1"),
    ("1.1.1.1\u{600}, 192.0.2.1", "192.0.2.1"),
  ])
  func `is the last that a trusted proxy did not write for another`(value: String, expected: String) throws {
    #expect(try client([("X-Forwarded-For", value)]) == expected)
  }

  @Test func `is read from all lines of the field, in order`() throws {
    #expect(try client([("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-For", "192.0.2.1")]) == "192.0.2.1")
    #expect(try client([("X-Forwarded-For", "192.0.2.1"), ("X-Forwarded-For", "10.9.9.9")]) == "192.0.2.1")
  }

  @Test(arguments: [
    ("for=192.0.2.1", "192.0.2.1"),
    (#"for=1.1.1.1, For="[2001:db8::7]:80";proto=https;by=10.0.0.1"#, "2001:db8::7"),
    (#"for="1.1.1.1, for=2.2.2.2";host=x, for=192.0.2.1"#, "192.0.2.1"),
    (#"for=192.0.2.1;by="a\"b;for=3.3.3.3""#, "192.0.2.1"),
    ("for=1.1.1.1, for=_hidden", "10.0.0.1"),
    ("for=1.1.1.1;for=2.2.2.2", "10.0.0.1"),
    ("proto=https", "10.0.0.1"),
  ])
  func `is read from Forwarded`(value: String, expected: String) throws {
    #expect(try client([("Forwarded", value)], .forwarded) == expected)
  }

  @Test func `is not read from the field that the proxies pass on`() throws {
    #expect(try client([("Forwarded", "for=1.1.1.1"), ("X-Forwarded-For", "192.0.2.1")]) == "192.0.2.1")
    #expect(try client([("X-Forwarded-For", "1.1.1.1"), ("Forwarded", "for=192.0.2.1")], .forwarded) == "192.0.2.1")
    #expect(try client([("Forwarded", "for=1.1.1.1")]) == "10.0.0.1")
  }
}
#endif
