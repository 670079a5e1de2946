#if Programs
import Foundation
import Handstamp
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `The command behind a proxy` {
    private func lines(_ log: String) throws -> Int {
      try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").count { $0.contains("CONNECT 127.0.0.1") }
    }

    @Test func `uses the one that was given with the sign-in, for all of the account's requests`() async throws {
      try await ProcessFixture.run { stage in
        let (tinyproxy, log) = try await NetworkProgram.tinyproxy(in: stage.folder)
        defer { tinyproxy.end() }
        try await stage.signUp(stage.first)
        #expect(try lines(log) == 0)
        let url = "http://127.0.0.1:\(tinyproxy.port)"
        try await stage.run(["login", "--force", "--proxy", url], on: stage.first, input: stage.password + "\n")
        var seen = 0
        for arguments in [["refresh"], ["request", "/v1/me"], ["sessions"], ["status", "--verify"], ["doctor"]] {
          seen = try lines(log)
          try await stage.run(arguments, on: stage.first)
          #expect(try lines(log) > seen, "\(arguments) went through the proxy")
        }
        let status = try await stage.run(["status"], on: stage.first)
        #expect(status.out.contains("through \(url), as set for the account"), "\(status.out)")
        let json = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect((json["network"] as? [String: Any])?["proxy"] as? String == url)
        let doctor = try await stage.run(["doctor"], on: stage.first)
        #expect(doctor.out.contains("is reached through \(url)"), "\(doctor.out)")

        // Without the proxy, nothing reaches the server, and nothing is lost.
        tinyproxy.end()
        #expect(await eventually { !(await NetworkProgram.answers(tinyproxy.port)) })
        let (session, refreshes) = (try await stage.session(of: stage.first).id, stage.proxy.refreshes.count)
        let refused = try await ProcessFixture.handstamp(["refresh"], home: stage.first.path)
        try expectRefusal(refused, .network, naming: "the proxy cannot be reached", hint: "handstamp login --proxy")
        #expect(try await stage.session(of: stage.first).id == session)
        #expect(stage.proxy.refreshes.count == refreshes)

        try await stage.run(["login", "--proxy", "none"], on: stage.first)
        try await stage.run(["refresh"], on: stage.first)
        #expect(try await stage.session(of: stage.first).id == session)
        let direct = try await stage.run(["status"], on: stage.first)
        #expect(direct.out.contains("directly, as set for the account"), "\(direct.out)")
      }
    }

    @Test func `keeps the proxy's password sealed, and takes none from the command line`() async throws {
      try await ProcessFixture.inFolder { folder in
        let squid = try await NetworkProgram.squid(in: folder)
        defer { squid.end() }
        try await ProcessFixture.run { stage in
          try await stage.signUp(stage.first)
          let url = "http://127.0.0.1:\(squid.port)"
          let onLine = try await ProcessFixture.handstamp(
            ["login", "--proxy", "http://name:\(NetworkProgram.squidPassword)@127.0.0.1:\(squid.port)"],
            home: stage.first.path)
          try expectRefusal(onLine, .usage, hint: "--proxy-credentials-file FILE")
          #expect(!onLine.words.contains(NetworkProgram.squidPassword))

          let without = try await ProcessFixture.handstamp(
            ["login", "--force", "--proxy", url], home: stage.first.path, input: stage.password + "\n")
          try expectRefusal(without, .configuration, naming: "status 407", hint: "--proxy-credentials-file FILE")

          let file = stage.folder + "/credentials"
          _ = FileManager.default.createFile(
            atPath: file, contents: Data("name:\(NetworkProgram.squidPassword)\n".utf8),
            attributes: [.posixPermissions: 0o600])
          try await stage.run(
            ["login", "--force", "--proxy", url, "--proxy-credentials-file", file], on: stage.first,
            input: stage.password + "\n")
          try FileManager.default.removeItem(atPath: file)
          try await stage.run(["refresh"], on: stage.first)
          // The next sign-in needs nothing again.
          try await stage.run(["login", "--force"], on: stage.first, input: stage.password + "\n")
          try await stage.run(["refresh"], on: stage.first)

          let scan = SecretScan([NetworkProgram.squidPassword])
          let paths = try #require(FileManager.default.enumerator(atPath: stage.first.path)).compactMap {
            $0 as? String
          }
          #expect(paths.contains { $0.hasPrefix("networks/") && $0.hasSuffix(".json") })
          for path in paths {
            let bytes = [UInt8](FileManager.default.contents(atPath: "\(stage.first.path)/\(path)") ?? Data())
            #expect(!scan.finds(in: bytes), "\(path)")
          }
          for arguments in [["status", "--json"], ["doctor", "--json"]] {
            let shown = try await stage.run(arguments, on: stage.first)
            #expect(!scan.finds(in: Array((shown.out + shown.words).utf8)))
          }
        }
      }
    }

    @Test func `uses that of the environment, by name and with the test's own authority`() async throws {
      try await ProcessFixture.inFolder { folder in
        try await NetworkProgram.makeCertificates(in: folder)
        let squid = try await NetworkProgram.squid(in: folder)
        defer { squid.end() }
        let port = try FreePort.find()
        let address = "https://id.example.test:\(port)"
        let server = try Child(
          [
            "serve", "--data", folder + "/data", "--port", "\(port)", "--issuer", address, "--rate-limits", "none",
            "--sign-up", "open",
            "--tls-certificate", folder + "/server.pem", "--tls-key", folder + "/server.key", "--until-stdin-ends",
          ], log: folder + "/serve.log")
        defer { server.send(SIGKILL) }
        _ = try await within(.seconds(240), "the server's start") { try await server.line() }
        let home = folder + "/home"
        let proxy = "http://name:\(NetworkProgram.squidPassword)@127.0.0.1:\(squid.port)"
        let known = ["HTTPS_PROXY": proxy, "SSL_CERT_FILE": folder + "/ca.pem", "NO_PROXY": "", "no_proxy": ""]
        func run(_ arguments: [String], _ more: [String: String] = [:], input: String = "") async throws
          -> Child.Outcome
        {
          try await ProcessFixture.handstamp(
            arguments, home: home, input: input, variables: known.merging(more) { $1 })
        }
        let password = "a long password of this test\n"
        let signedUp = try await run(["signup", "ada@example.org", "--server", address], input: password)
        #expect(signedUp.status == 0, "\(signedUp.words)")
        let status = try await run(["status"])
        #expect(status.out.contains("through http://127.0.0.1:\(squid.port), from the environment"), "\(status.out)")
        #expect(!status.out.contains(NetworkProgram.squidPassword))
        #expect(try await run(["refresh"]).status == 0)

        let direct = try await run(["refresh"], ["NO_PROXY": "example.test"])
        #expect(direct.status == ExitReason.network.rawValue, "only the proxy knows the name: \(direct.words)")
        try expectRefusal(
          try await run(["refresh"], ["SSL_CERT_FILE": folder + "/other.pem"]), .configuration,
          naming: "a proxy is in use", hint: "set SSL_CERT_FILE")
        try expectRefusal(
          try await run(["refresh"], ["HTTPS_PROXY": "https://name:word-in-a-url@proxy"]), .configuration,
          naming: "HTTPS_PROXY: a proxy of this kind is not supported", hint: "http://HOST:PORT")
        #expect(try await run(["refresh"]).status == 0, "no session is lost by any of this")
      }
    }
  }
}
#endif
