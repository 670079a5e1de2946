#if Programs
import AsyncHTTPClient
import Foundation
import HandstampTesting
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A certificate` {
  /// Runs `body` with the certificates `a` and `b`, and a server that follows links to the first, as certbot makes them.
  private func serve(
    _ configure: @escaping (inout ServerConfiguration) -> Void = { _ in },
    body: (TestServer, String) async throws -> Void
  ) async throws {
    try await Tool.inFolder { folder in
      for name in ["a", "b"] { try await Tool.makeCertificate(name, in: folder) }
      try link("a", in: folder)
      try await TestServer.run {
        $0.listener.tls = TLSFiles(
          certificate: folder + "/fullchain.pem", key: folder + "/privkey.pem", interval: .milliseconds(10))
        configure(&$0)
      } body: {
        try await body($0, folder)
      }
    }
  }

  /// Replaces both links, one after the other.
  private func link(_ name: String, in folder: String) throws {
    for (link, suffix) in [("fullchain.pem", "pem"), ("privkey.pem", "key")] {
      try? FileManager.default.removeItem(atPath: "\(folder)/\(link)")
      try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(link)", withDestinationPath: "\(name).\(suffix)")
    }
  }

  private func curl(_ arguments: String..., trusting name: String, _ folder: String, _ test: TestServer) async throws
    -> String
  {
    let outcome = try await Tool.run(
      ["curl", "-sS", "--cacert", "\(folder)/\(name).pem", "-w", " %{http_version} %{http_code}"] + arguments + [
        test.running.url + "/health"
      ])
    return outcome.status == 0 ? outcome.text : "curl \(outcome.status)"
  }

  @Test func `serves HTTP 2 or HTTP 1 dot 1, as the client likes`() async throws {
    try await serve { (test, folder) async throws -> Void in
      #expect(test.running.url.hasPrefix("https://127.0.0.1:"))
      #expect(try await curl("--http2", trusting: "a", folder, test) == #"{"status":"ok"} 2 200"#)
      #expect(try await curl("--http1.1", trusting: "a", folder, test) == #"{"status":"ok"} 1.1 200"#)
      #expect(try await curl("--no-alpn", trusting: "a", folder, test) == #"{"status":"ok"} 1.1 200"#)
      #expect(try await curl(trusting: "b", folder, test) == "curl 60")
    }
  }

  @Test(arguments: [("-tls1_1", false), ("-tls1_2", true), ("-tls1_3", true)])
  func `serves TLS 1 dot 2 and later`(version: String, isServed: Bool) async throws {
    try await serve { (test, _) async throws -> Void in
      let outcome = try await Tool.run([
        "openssl", "s_client", "-connect", "127.0.0.1:\(test.running.port)", version, "-cipher", "DEFAULT@SECLEVEL=0",
      ])
      #expect(outcome.text.contains("BEGIN CERTIFICATE") == isServed)
    }
  }

  @Test func `that is replaced serves new connections, and open ones continue`() async throws {
    try await serve { (test, folder) async throws -> Void in
      var configuration = HTTPClient.Configuration()
      configuration.tlsConfiguration = .makeClientConfiguration()
      configuration.tlsConfiguration?.trustRoots = .file(folder + "/a.pem")
      configuration.httpVersion = .http1Only
      let client = HTTPClient(configuration: configuration)
      func status() async throws -> UInt {
        let response = try await client.execute(
          HTTPClientRequest(url: test.running.url + "/health"), timeout: .seconds(240))
        _ = try await response.body.collect(upTo: 1 << 10)
        return response.status.code
      }
      do {
        #expect(try await status() == 200)
        try link("b", in: folder)
        #expect(await eventually { test.metrics.certificatesLoaded == 1 })
        #expect(try await curl(trusting: "b", folder, test) == #"{"status":"ok"} 2 200"#)
        #expect(try await curl(trusting: "a", folder, test) == "curl 60")
        // A new connection would not be trusted.
        #expect(try await status() == 200)
        #expect(test.logs.text.contains("New certificate in use"))
      } catch {
        try await client.shutdown()
        throw error
      }
      try await client.shutdown()
    }
  }

  @Test func `that cannot be used leaves the previous one in use, until a good one comes`() async throws {
    try await serve { (test, folder) async throws -> Void in
      try FileManager.default.removeItem(atPath: folder + "/fullchain.pem")
      try Data("-----BEGIN CERTIFICATE-----\njunk\n".utf8).write(to: URL(fileURLWithPath: folder + "/fullchain.pem"))
      #expect(await eventually { test.metrics.certificatesRefused >= 1 })
      #expect(try await curl(trusting: "a", folder, test) == #"{"status":"ok"} 2 200"#)
      #expect(test.logs.text.contains("the former one stays in use"))
      #expect(!test.logs.text.contains("junk"))
      try link("b", in: folder)
      #expect(await eventually { test.metrics.certificatesLoaded >= 1 })
      #expect(try await curl(trusting: "b", folder, test) == #"{"status":"ok"} 2 200"#)
    }
  }

  /// The files are looked at once a day, so that only the request can be what reads them.
  @Test func `is read again when the operator asks, who hears of an unusable one each time`() async throws {
    try await serve({ $0.listener.tls?.interval = .seconds(86_400) }) { (test, folder) async throws -> Void in
      test.server.reloadCertificate()
      #expect(test.metrics.certificatesLoaded == 0, "it is the one in use")
      try FileManager.default.removeItem(atPath: folder + "/privkey.pem")
      for count in 1...2 {
        test.server.reloadCertificate()
        #expect(test.metrics.certificatesRefused == count)
      }
      #expect(try await curl(trusting: "a", folder, test) == #"{"status":"ok"} 2 200"#)
      try link("b", in: folder)
      test.server.reloadCertificate()
      #expect(test.metrics.certificatesLoaded == 1)
      #expect(try await curl(trusting: "b", folder, test) == #"{"status":"ok"} 2 200"#)
    }
  }

  @Test func `that is unusable at the start is refused before the server listens`() async throws {
    try await serve { (test, folder) async throws -> Void in
      let good = (folder + "/a.pem", folder + "/a.key")
      let cases: [(String, String, ListenError)] = [
        (folder + "/none.pem", good.1, .unreadable(folder + "/none.pem", cause: "No such file or directory")),
        (good.0, folder + "/none.key", .unreadable(folder + "/none.key", cause: "No such file or directory")),
        (good.1, good.1, .certificate(good.1)), (good.0, good.0, .key(good.0)),
        ("/dev/null", good.1, .certificate("/dev/null")),
        (good.0, folder + "/b.key", .mismatch(certificate: good.0, key: folder + "/b.key")),
      ]
      for (certificate, key, fault) in cases {
        var configuration = ServerConfiguration(issuer: "https://id.example.org")
        configuration.listener.tls = TLSFiles(certificate: certificate, key: key)
        let server = try await SessionServer(
          configuration: configuration, registry: test.server.registry, keys: test.keys)
        await #expect(throws: fault) { try await server.start() }
        #expect(!fault.hint.isEmpty && !fault.description.isEmpty)
      }
    }
  }

  @Test func `does not wait for a handshake that never ends`() async throws {
    try await serve({ $0.listener.headLimit = .milliseconds(100) }) { (test, _) async throws -> Void in
      let slow = try RawSocket(test.client.base)
      slow.send([22, 3, 1])
      #expect(await slow.receive().end == .closed)
    }
  }
}
#endif
