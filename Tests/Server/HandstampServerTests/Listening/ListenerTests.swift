#if Programs
import Foundation
import HTTPTypes
import HandstampCore
import HandstampTesting
import Hummingbird
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The listener` {
  private static let request = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `lets requests in flight finish when it stops, and then ends their connections`() async throws {
    let gate = RequestGate()
    try await TestServer.run(middlewares: [gate]) {
      $0.shutdownLimit = .seconds(600)
    } body: { test in
      let idle = try RawSocket(test.client.base)
      let busy = try RawSocket(test.client.base)
      busy.send(Self.request)
      await gate.arrivals(1)
      async let stopping: Void = test.running.stop()
      #expect(await idle.receive() == ("", .closed))
      gate.open()
      let (answer, end) = await busy.receive()
      #expect(answer.hasPrefix("HTTP/1.1 200 "))
      #expect(answer.lowercased().contains("connection: close\r\n"))
      #expect(answer.hasSuffix(#"{"status":"ok"}"#))
      #expect(end == .closed)
      try await stopping
      #expect(throws: RawSocket.Failed.self) { try RawSocket(test.client.base) }
    }
  }

  @Test func `does not wait for requests longer than the limit`() async throws {
    let gate = RequestGate()
    try await TestServer.run(middlewares: [gate]) {
      $0.shutdownLimit = .milliseconds(200)
    } body: { test in
      let busy = try RawSocket(test.client.base)
      busy.send(Self.request)
      await gate.arrivals(1)
      async let stopping: Void? = try? test.running.stop()
      #expect(await busy.receive().end != .open)
      gate.open()
      _ = await stopping
    }
  }

  /// Their client will send no more HTTP/1.1, so the next request must not be waited for.
  @Test(arguments: ["CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n"])
  func `ends the connection of a tunnel that it does not open`(request: String) async throws {
    try await TestServer.run { test in
      let client = try RawSocket(test.client.base)
      client.send(request)
      let (answer, end) = await client.receive()
      #expect(answer.hasPrefix("HTTP/1.1 4"))
      #expect(answer.lowercased().contains("connection: close\r\n"))
      #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2)
      #expect(end == .closed)
    }
  }

  @Test func `answers requests that were sent before the first answer in their order`() async throws {
    try await TestServer.run { test in
      let client = try RawSocket(test.client.base)
      let post = "POST /v1/sign-in HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
      client.send(Self.request + post + Self.request + post + Self.request)
      client.finish()
      let (answer, end) = await client.receive()
      let statuses = answer.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
      #expect(statuses == ["200", "400", "200", "400", "200"])
      #expect(end == .closed)
    }
  }

  @Test func `works on event loops on what the routes call prompt, and on nothing else`() async throws {
    try await TestServer.run {
      $0.issuer = "https://id.example.org/auth"
      $0.mountPath = "/auth"
    } body: { test in
      let paths = [
        "/oauth/token", "/oauth/introspect", "/oauth/revoke", "/oauth/userinfo", "/v1/me", "/v1/sessions", "/health",
      ]
      #expect(PromptRoute.paths(below: "/auth") == Set(paths.map { Substring("/auth" + $0) }))
      let router = Router(context: ServerContext.self)
      test.server.addRoutes(to: router)
      #expect(PromptRoute.paths(below: "/auth").isSubset(of: router.routes.map { Substring($0.path.description) }))
    }
  }

  @Test func `says why it does not listen`() async throws {
    try await TestServer.run { test in
      let port = test.running.port
      await #expect {
        try await test.server.start(port: port)
      } throws: {
        guard case .address(.host("127.0.0.1", port), let cause) = $0 as? ListenError else { return false }
        return cause.contains("in use")
      }
      await #expect(throws: ListenError.cleartext(.host("0.0.0.0", port: 0))) {
        try await test.server.start(host: "0.0.0.0")
      }
      await #expect(throws: ListenError.cleartext(.host("example.org", port: 0))) {
        try await test.server.start(host: "example.org")
      }
      let file = open("/dev/null", O_RDONLY)
      defer { close(file) }
      await #expect(throws: ListenError.notListening(.descriptor(file))) {
        try await test.server.start(on: .descriptor(file))
      }
      for fault: ListenError in [
        .cleartext(.unixSocket("/")), .address(.unixSocket("/"), cause: ""), .notListening(.descriptor(3)),
      ] {
        #expect(!fault.hint.isEmpty)
      }
    }
  }

  @Test(arguments: [true, false]) func `serves beyond loopback in clear only when told to`(isBehindProxy: Bool)
    async throws
  {
    try await TestServer.run {
      $0.listener.allowsCleartext = !isBehindProxy
      if isBehindProxy { $0.trustedProxies = TrustedProxies([AddressRange("10.0.0.0/8")].compactMap { $0 }) }
    } body: { test in
      let running = try await test.server.start(host: "0.0.0.0")
      #expect(running.port > 0)
      if isBehindProxy {
        var settings = test.server.configuration
        settings.trustedProxies = .none
        await #expect(throws: ListenError.cleartext(.host("0.0.0.0", port: 0))) {
          try await test.server.reload(settings, registry: test.server.registry, keys: test.keys)
        }
        #expect(!test.server.current.configuration.trustedProxies.ranges.isEmpty)
      }
      try await running.stop()
    }
  }

  @Test func `serves a Unix domain socket, and replaces the one of a previous process`() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "hs-\(UUID().uuidString.prefix(8)).sock").path
    defer { unlink(path) }
    try await TestServer.run { test in
      for _ in 0..<2 {
        let running = try await test.server.start(on: .unixSocket(path))
        let client = try RawSocket(path: path)
        client.send(Self.request)
        #expect(await client.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
        try await running.stop()
      }
    }
  }

  @Test(arguments: [
    ("GET", "/health", 200), ("GET", "/nowhere", 404), ("DELETE", "/health", 405), ("POST", "/oauth/token", 400),
    ("GET", "/v1/me", 401), ("GET", "/device", 200), ("GET", "/oauth/authorize", 400),
    ("GET", "/.well-known/oauth-authorization-server", 200), ("HEAD", "/health", 200), ("GET", "//health", 404),
  ]) func `protects every response from being taken for another type, or for plain HTTP`(
    method: String, path: String, status: Int
  ) async throws {
    func answer(_ configure: (inout ServerConfiguration) -> Void) async throws -> WireClient.Answer {
      try await TestServer.run(configure) { try await $0.client.send(method, path) }
    }
    let standard = try await answer { _ in }
    #expect(standard.status == status)
    #expect(standard.headers["x-content-type-options"] == "nosniff")
    #expect(standard.headers["strict-transport-security"] == "max-age=63072000")
    let all = try await answer { $0.transportSecurity?.includesSubdomains = true }
    #expect(all.headers["strict-transport-security"] == "max-age=63072000; includeSubDomains")
    #expect(try await answer { $0.transportSecurity = nil }.headers["strict-transport-security"] == nil)
    #expect(try await answer { $0.issuer = "http://127.0.0.1" }.headers["strict-transport-security"] == nil)
  }
}
#endif
