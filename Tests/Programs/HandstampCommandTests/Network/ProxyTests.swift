#if Programs
import Foundation
import HandstampCore
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A transport behind a proxy` {
  private func transport(
    _ port: Int, _ credentials: String? = nil, kind: ProxyServer.Kind = .http, over transport: NetworkTransport
  ) -> any Transport {
    let server = ProxyServer(kind, host: "127.0.0.1", port: port, credentials: credentials.map { Secret($0) })
    return transport.make(NetworkSettings(proxies: .all(through: server)))
  }

  /// A request as a refresh sends it: with a body that must not be sent twice, and on a connection of its own.
  private func post(_ url: String) -> TransportRequest {
    TransportRequest(method: "POST", url: url, body: Array("refresh_token=secret".utf8), mayReuseConnection: false)
  }

  /// Sends a request, and returns which failure of the network it reports; `nil` for any other outcome.
  private func failure(_ request: TransportRequest, _ transport: any Transport) async -> NetworkFailure? {
    do throws(TransportError) {
      _ = try await transport.send(request)
      return nil
    } catch { return NetworkFailure(error) }
  }

  @Test func `reaches a server by a name that only the proxy knows, with a password`() async throws {
    try await ProcessFixture.inFolder { folder in
      let squid = try await NetworkProgram.squid(in: folder)
      defer { squid.end() }
      try await Echo.run { base, seen in
        let url = base.replacing("127.0.0.1", with: "id.example.test") + "/echo"
        for kind in NetworkTransport.allCases {
          let known = transport(squid.port, "name:" + NetworkProgram.squidPassword, over: kind)
          let answer = try await known.send(post(url))
          #expect(answer.header("x-echo")?.hasPrefix("POST /echo") == true)
          #expect(String(decoding: answer.body, as: UTF8.self) == "refresh_token=secret")

          #expect(await failure(post(url), transport(squid.port, over: kind)) == .proxyWantsCredentials)
          let wrong = transport(squid.port, "name:wrong", over: kind)
          #expect(await failure(post(url), wrong) == .proxyRefusesCredentials)
          // Port 1 has no server.
          #expect(await failure(post("http://id.example.test:1/"), known) == .proxyRefuses)
        }
        let expected = NetworkTransport.allCases.map { _ in "/echo" }
        #expect(seen.paths == expected, "a request that is refused by the proxy is not sent")
      }
    }
  }

  @Test func `streams responses, and uploads files`() async throws {
    try await ProcessFixture.inFolder { folder in
      let (tinyproxy, log) = try await NetworkProgram.tinyproxy(in: folder)
      defer { tinyproxy.end() }
      try await Echo.run { base, seen in
        for kind in NetworkTransport.allCases {
          let transport = transport(tinyproxy.port, over: kind)
          let stream = try await transport.open(TransportRequest(method: "GET", url: base + "/chunked"))
          var count = 0
          for try await chunk in stream.body { count += chunk.count }
          #expect(count == 1000)
          try "a file".write(toFile: folder + "/file", atomically: true, encoding: .utf8)
          let answer = try await transport.upload(
            TransportRequest(method: "PUT", url: base + "/file"), fromFile: folder + "/file")
          #expect(String(decoding: answer.body, as: UTF8.self) == "a file")
        }
        #expect(seen.paths == NetworkTransport.allCases.flatMap { _ in ["/chunked", "/file"] })
        let connections = try String(contentsOfFile: log, encoding: .utf8)
        #expect(connections.contains("CONNECT \(base.dropFirst("http://".count))"), "\(connections)")
      }
    }
  }

  @Test func `never connects directly when its proxy is down, and the request is known as not sent`() async throws {
    let dead = try FreePort.find()
    try await Echo.run { base, seen in
      for kind in NetworkTransport.allCases {
        #expect(await failure(post(base + "/echo"), transport(dead, over: kind)) == .proxyUnreachable)
        let socks = transport(dead, kind: .socks5, over: kind)
        #expect(await failure(post(base + "/echo"), socks) == .proxyUnreachable)
      }
      #expect(seen.paths.isEmpty)
    }
  }

  @Test func `connects directly to an exception, and to this machine unless asked`() async throws {
    let dead = ProxyServer(.http, host: "127.0.0.1", port: try FreePort.find())
    var excepted = ProxyRules.all(through: dead)
    excepted.exceptions = ProxyExceptions("10.0.0.0/8, 127.0.0.1")
    try await Echo.run { base, _ in
      for kind in NetworkTransport.allCases {
        for rules in [excepted, ProxyRules(http: dead, https: dead)] {
          let answer = try await kind.make(NetworkSettings(proxies: rules)).send(post(base + "/echo"))
          #expect(answer.status == 200)
        }
      }
    }
  }

  /// A proxy that ends the connection instead of answering `CONNECT`: nothing has left this machine that a server could have read.
  @Test func `knows a request as not sent whose tunnel was never there`() async throws {
    let script = """
      import socket, sys
      server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
      while True:
        client, _ = server.accept()
        client.recv(4096)
        client.close()
      """
    try await ProcessFixture.inFolder { folder in
      let closing = try await NetworkProgram.start("python3", in: folder) { ["-c", script, "\($0)"] }
      defer { closing.end() }
      for kind in NetworkTransport.allCases {
        let failure = await failure(post("http://id.example.test/token"), transport(closing.port, over: kind))
        #expect(failure == .proxyLost)
      }
    }
  }

  /// RFC 9110 section 15.5.8 has 407 for it; some proxies send 401.
  @Test(arguments: [("401", true), ("407", true), ("403", false)])
  func `says that the proxy wants a password, by either status`(status: String, isOfPassword: Bool) async throws {
    let script = """
      import socket, sys
      server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
      while True:
        client, _ = server.accept()
        client.recv(4096)
        client.sendall(b"HTTP/1.1 \(status) No\\r\\nContent-Length: 0\\r\\n\\r\\n")
        client.close()
      """
    try await ProcessFixture.inFolder { folder in
      let strict = try await NetworkProgram.start("python3", in: folder) { ["-c", script, "\($0)"] }
      defer { strict.end() }
      for kind in NetworkTransport.allCases {
        for (credentials, expected) in [(nil, NetworkFailure.proxyWantsCredentials), ("a:b", .proxyRefusesCredentials)]
        {
          let failure = await failure(
            post("http://id.example.test/token"), transport(strict.port, credentials, over: kind))
          #expect(failure == (isOfPassword ? expected : .proxyRefuses), "\(kind)")
        }
      }
    }
  }

  @Test func `reaches a server through SOCKS, and says if that wants a password`() async throws {
    try await ProcessFixture.inFolder { folder in
      let open = try await NetworkProgram.start("microsocks", in: folder) { ["-i", "127.0.0.1", "-p", "\($0)"] }
      defer { open.end() }
      let closed = try await NetworkProgram.start("microsocks", in: folder) {
        ["-i", "127.0.0.1", "-p", "\($0)", "-u", "name", "-P", "word"]
      }
      defer { closed.end() }
      try await Echo.run { base, seen in
        for kind in NetworkTransport.allCases {
          let answer = try await transport(open.port, kind: .socks5, over: kind).send(post(base + "/echo"))
          #expect(answer.status == 200)
          let refused = transport(closed.port, kind: .socks5, over: kind)
          #expect(await failure(post(base + "/echo"), refused) == .socksWantsCredentials)
        }
        #expect(seen.paths == NetworkTransport.allCases.map { _ in "/echo" })
      }
    }
  }
}
#endif
