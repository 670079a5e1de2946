#if Programs
import Foundation
import HandstampCore
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A server with certificates of its own authority` {
  private func settings(
    _ folder: String, authority: String = "ca", certificate: String? = nil, key: String = "client.key",
    passphrase: String? = nil
  ) -> NetworkSettings {
    NetworkSettings(
      certificateAuthorities: "\(folder)/\(authority).pem",
      clientCertificate: certificate.map {
        ClientCertificate(
          certificate: "\(folder)/\($0)", key: "\(folder)/\(key)", passphrase: passphrase.map { Secret($0) })
      })
  }

  private func send(
    _ url: String, _ settings: NetworkSettings, over kind: NetworkTransport
  ) async throws(TransportError) -> TransportResponse {
    try await kind.make(settings).send(TransportRequest(method: "GET", url: url))
  }

  @Test func `accepts the client's certificate, with a key under a passphrase too`() async throws {
    try await ProcessFixture.inFolder { folder in
      try await NetworkProgram.makeCertificates(in: folder)
      let server = try await NetworkProgram.nginx(in: folder)
      defer { server.end() }
      let url = "https://127.0.0.1:\(server.port)/"
      for kind in NetworkTransport.allCases {
        for settings in [
          settings(folder, certificate: "client.pem"),
          settings(folder, certificate: "client.pem", key: "locked.key", passphrase: "word"),
        ] {
          let answer = try await send(url, settings, over: kind)
          #expect(String(decoding: answer.body, as: UTF8.self) == "CN=client")
        }
        let without = try await send(url, settings(folder), over: kind)
        #expect(without.status == 400, "nginx says that no certificate was sent")

        for (broken, failure) in [
          (settings(folder, certificate: "none.pem"), NetworkFailure.certificateUnreadable),
          (settings(folder, certificate: "client.pem", key: "locked.key", passphrase: "wrong"), .certificateUnreadable),
          (settings(folder, certificate: "client.pem", key: "locked.key"), .certificateUnreadable),
          // libcurl has the same words for a key that it cannot read.
          (
            settings(folder, certificate: "client.pem", key: "server.key"),
            kind == .libcurl ? .certificateUnreadable : .certificateMismatch
          ),
        ] {
          let failure = failure.error()
          await #expect(throws: failure, "\(kind)") { try await send(url, broken, over: kind) }
        }
      }
    }
  }

  @Test(arguments: ["-tls1_2", "-tls1_3"])
  func `that ends the handshake without one is reported as such`(version: String) async throws {
    try await ProcessFixture.inFolder { folder in
      try await NetworkProgram.makeCertificates(in: folder)
      let server = try await NetworkProgram.start("openssl", in: folder) {
        [
          "s_server", "-accept", "127.0.0.1:\($0)", "-cert", folder + "/server.pem", "-key", folder + "/server.key",
          "-CAfile", folder + "/ca.pem", "-Verify", "1", "-verify_return_error", "-www", version,
        ]
      }
      defer { server.end() }
      for kind in NetworkTransport.allCases {
        await #expect(throws: NetworkFailure.wantsCertificate.error(), "\(kind)") {
          try await send("https://127.0.0.1:\(server.port)/", settings(folder), over: kind)
        }
      }
    }
  }

  @Test func `is refused by the name of what is wrong with its certificate`() async throws {
    try await ProcessFixture.inFolder { folder in
      try await NetworkProgram.makeCertificates(in: folder)
      func server(_ name: String) async throws -> NetworkProgram {
        try await NetworkProgram.start("openssl", in: folder) {
          ["s_server", "-accept", "\($0)", "-cert", "\(folder)/\(name).pem", "-key", "\(folder)/\(name).key", "-www"]
        }
      }
      let (good, old, elsewhere) = (try await server("server"), try await server("old"), try await server("elsewhere"))
      defer { for server in [good, old, elsewhere] { server.end() } }
      for kind in NetworkTransport.allCases {
        func failure(_ url: String, _ settings: NetworkSettings) async -> TransportError? {
          do throws(TransportError) {
            _ = try await send(url, settings, over: kind)
            return nil
          } catch { return error }
        }
        // AsyncHTTPClient does not say which of the two it is.
        let (untrusted, expired): (NetworkFailure, NetworkFailure) =
          kind == .asyncHTTPClient
          ? (.certificateUnverified, .certificateUnverified) : (.certificateUntrusted, .certificateExpired)
        let (url, trusting) = ("https://127.0.0.1:\(good.port)/", settings(folder))
        for (url, settings, expected) in [
          (url, trusting, nil), (url, settings(folder, authority: "other"), untrusted),
          (url, NetworkSettings(), untrusted), (url, settings(folder, authority: "none"), .authoritiesUnreadable),
          ("https://127.0.0.1:\(elsewhere.port)/", trusting, .certificateOfAnotherHost),
          ("https://127.0.0.1:\(old.port)/", trusting, expired),
        ] as [(String, NetworkSettings, NetworkFailure?)] {
          let failure = await failure(url, settings)
          let file = expected == .authoritiesUnreadable ? folder + "/none.pem" : nil
          #expect(failure == expected?.error(file), "\(kind)")
        }
      }
    }
  }

  /// To the client, a proxy that inspects TLS is a server with a certificate of an authority that it does not know.
  @Test func `is told from a proxy that inspects TLS`() async throws {
    try await ProcessFixture.inFolder { folder in
      try await NetworkProgram.makeCertificates(in: folder)
      let (tinyproxy, _) = try await NetworkProgram.tinyproxy(in: folder)
      defer { tinyproxy.end() }
      let server = try await NetworkProgram.start("openssl", in: folder) {
        [
          "s_server", "-accept", "127.0.0.1:\($0)", "-cert", folder + "/fake.pem", "-key", folder + "/fake.key", "-www",
        ]
      }
      defer { server.end() }
      let url = "https://127.0.0.1:\(server.port)/"
      let proxies = ProxyRules.all(through: ProxyServer(.http, host: "127.0.0.1", port: tinyproxy.port))
      let settings = NetworkSettings(proxies: proxies, certificateAuthorities: folder + "/ca.pem")
      let trusting = NetworkSettings(proxies: proxies, certificateAuthorities: folder + "/other.pem")
      let failure = NetworkFailure.intercepted.error()
      for kind in NetworkTransport.allCases {
        await #expect(throws: failure, "\(kind)") { try await send(url, settings, over: kind) }
        let answer = try await send(url, trusting, over: kind)
        #expect(answer.status == 200, "with the authority of the proxy")
      }
    }
  }
}
#endif
