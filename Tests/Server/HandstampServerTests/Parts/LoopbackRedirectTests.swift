#if Programs
import Testing

@testable import HandstampServer

/// RFC 8252 section 7.3.
@Suite(.timeLimit(.minutes(10))) struct `A loopback address registered without a port` {
  @Test(arguments: [
    ("http://127.0.0.1/a", "http://127.0.0.1:49152/a"), ("http://127.0.0.1/a", "http://127.0.0.1:80/a"),
    ("http://127.0.0.1", "http://127.0.0.1:1"), ("http://[::1]/a?b=c", "http://[::1]:65535/a?b=c"),
    ("http://127.8.9.10/a", "http://127.8.9.10:2/a"), ("http://localhost/a", "http://localhost:2/a"),
  ])
  func `matches every port`(_ registered: String, _ asked: String) throws {
    #expect(try ConfiguredClient(id: "app", redirectURIs: [registered]).allows(redirect: asked))
  }

  @Test(arguments: [
    ("http://127.0.0.1/a", "http://127.0.0.1:2/b"), ("http://127.0.0.1/a", "http://127.0.0.2:2/a"),
    ("http://127.0.0.1/a", "https://127.0.0.1:2/a"), ("http://127.0.0.1/a", "HTTP://127.0.0.1:2/a"),
    ("http://127.0.0.1/a", "http://127.0.0.1:65536/a"), ("http://127.0.0.1/a", "http://127.0.0.1:2/a#b"),
    ("http://127.0.0.1:1/a", "http://127.0.0.1:2/a"), ("http://localhost/a", "http://127.0.0.1:2/a"),
    ("http://localhost:1/a", "http://localhost:2/a"), ("http://localhost/a", "http://localhost.example.org:2/a"),
    ("http://127.0.0.1", "http://127.0.0.1:2.example.org"), ("http://localhost", "http://localhost:2@example.org"),
  ])
  func `matches no other address`(_ registered: String, _ asked: String) throws {
    #expect(try !ConfiguredClient(id: "app", redirectURIs: [registered]).allows(redirect: asked))
  }

  @Test func `matches its port alone if it is localhost and the client has a secret`() throws {
    let site = try ConfiguredClient(
      id: "site", secretHash: [UInt8](repeating: 1, count: 32),
      redirectURIs: ["http://localhost/a", "http://127.0.0.1/a"])
    #expect(!site.allows(redirect: "http://localhost:2/a") && site.allows(redirect: "http://127.0.0.1:2/a"))
  }

  @Test(arguments: ["http://127.0.0.1.example.org/", "http://127.1/", "http://example.org/", "http://127.0.0.1:0/"])
  func `is the only one that may be http`(_ uri: String) {
    #expect(throws: ServerConfigurationError.client(.badRedirect("app", uri))) {
      try ConfiguredClient(id: "app", redirectURIs: [uri])
    }
  }
}
#endif
