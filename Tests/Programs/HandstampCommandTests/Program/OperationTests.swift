#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator
@testable import HandstampTour

extension Processes {
  @Suite struct `A server in operation` {
    private func text(at address: String) async throws -> String {
      String(
        decoding: try await URLSessionTransport().send(TransportRequest(method: "GET", url: address)).body,
        as: UTF8.self)
    }

    private func log(_ path: String) -> String {
      String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    private func count(_ message: String, in path: String) -> Int {
      log(path).components(separatedBy: "\"message\":\"\(message)\"").count - 1
    }

    @Test func `takes over new settings on SIGHUP, and keeps the previous ones if they cannot be used`() async throws {
      try await ProcessFixture.inFolder { folder in
        let (file, app, lines) = (folder + "/serve.yaml", folder + "/app.json", folder + "/log")
        func write(_ settings: String, _ config: String) throws {
          try config.write(toFile: app, atomically: true, encoding: .utf8)
          try "data: \(folder)/data\nport: 0\napp-config: \(app)\n\(settings)\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        }
        try write("sign-up: open", #"{"a":1}"#)
        let child = try Child(["serve", "--config", file, "--until-stdin-ends"], log: lines)
        defer { child.send(SIGKILL) }
        let address = try await within(.seconds(240), "the start") { try await child.line() }
        let signUp =
          #"{"email":"a@example.org","password":"correct horse battery","username":"A","device":{"id":"d-1","name":"a","platform":"b"}}"#
        func status() async throws -> Int {
          try await URLSessionTransport().send(
            TransportRequest(
              method: "POST", url: address + "/v1/sign-up", headers: [HeaderField("Content-Type", "application/json")],
              body: Array(signUp.utf8))
          ).status
        }
        #expect(try await text(at: address + "/v1/app-config") == #"{"a":1}"#)
        #expect(try await status() == 201)

        try write("sign-up: closed\nidle-limit: 1h\nlog-level: debug\nhost: 127.0.0.9", #"{"a":2}"#)
        child.send(SIGHUP)
        #expect(await eventually { count("Settings reloaded", in: lines) == 1 })
        #expect(try await text(at: address + "/v1/app-config") == #"{"a":2}"#)
        #expect(try await status() == 403)
        #expect(log(lines).contains(#""handstamp.setting":"host","#))
        #expect(count("Request completed", in: lines) > 0, "the new level of the log")

        try write("sign-up: maybe", #"{"a":3}"#)
        child.send(SIGHUP)
        #expect(await eventually { count("Settings not reloaded", in: lines) == 1 })
        try write("sign-up: open", #"[3]"#)
        child.send(SIGHUP)
        #expect(await eventually { count("Settings not reloaded", in: lines) == 2 })
        #expect(try await text(at: address + "/v1/app-config") == #"{"a":2}"#)
        #expect(try await status() == 403)

        // Sessions and the process are as before.
        try write("sign-up: open", #"{"a":4}"#)
        child.send(SIGHUP)
        #expect(await eventually { count("Settings reloaded", in: lines) == 2 })
        #expect(try await text(at: address + "/v1/app-config") == #"{"a":4}"#)
        #expect(try await status() == 409)
        child.send(SIGTERM)
        #expect(try await within(.seconds(240), "the end") { try await child.outcome() }.status == 0)
      }
    }

    @Test func `warns of sessions that a reload leaves without their client, also of one that registered itself`()
      async throws
    {
      try await ProcessFixture.inFolder { folder in
        let (file, lines) = (folder + "/serve.yaml", folder + "/log")
        func write(_ settings: String) throws {
          try "data: \(folder)/data\nport: 0\n\(settings)\n".write(toFile: file, atomically: true, encoding: .utf8)
        }
        try write("client-registration: openid")
        let id = "registered-" + String(repeating: "a", count: 22)
        let settings = try ServeSettings(flags: [:], environment: [:], file: file)
        let (store, _) = try await settings.openDatabase()
        try await store.createSessions(1, of: id)
        try store.close()
        let child = try Child(["serve", "--config", file, "--until-stdin-ends"], log: lines)
        defer { child.send(SIGKILL) }
        _ = try await within(.seconds(240), "the start") { try await child.line() }
        child.send(SIGHUP)
        #expect(await eventually { count("Settings reloaded", in: lines) == 1 })
        let warning = "client \(id) is not configured, and 1 live session(s)"
        #expect(!log(lines).contains(warning))
        try write("")
        child.send(SIGHUP)
        #expect(await eventually { log(lines).contains(warning) })
      }
    }

    @Test func `forgets no limit when it reads the same settings again`() async throws {
      try await ProcessFixture.inFolder { folder in
        let (file, lines) = (folder + "/serve.yaml", folder + "/log")
        func write(_ limits: String) throws {
          try "data: \(folder)/data\nport: 0\nrate-limits: \(limits)\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        }
        try write("none")
        let child = try Child(["serve", "--config", file, "--until-stdin-ends"], log: lines)
        defer { child.send(SIGKILL) }
        let address = try await within(.seconds(240), "the start") { try await child.line() }
        func statuses(_ count: Int) async throws -> [Int] {
          var statuses: [Int] = []
          for number in 0..<count {
            let body = #"{"device":{"id":"d-\#(number)","name":"a","platform":"b"}}"#
            statuses.append(
              try await URLSessionTransport().send(
                TransportRequest(
                  method: "POST", url: address + "/v1/sign-in/anonymous",
                  headers: [HeaderField("Content-Type", "application/json")], body: Array(body.utf8))
              ).status)
          }
          return statuses
        }
        func reload(_ number: Int) async {
          child.send(SIGHUP)
          #expect(await eventually { count("Settings reloaded", in: lines) == number })
        }
        try write("standard")
        await reload(1)
        #expect(try await statuses(30).contains(429))
        await reload(2)
        #expect(try await statuses(5).contains(429))
      }
    }

    @Test func `is not ready while its disk is full, and refuses no session for it`() async throws {
      try await ProcessFixture.inFolder { folder in
        // A write beyond the limit fails like one to a full disk, instead of ending the process.
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
          "-c", #"trap '' XFSZ; exec "$0" "$@""#, try Child.path(of: "handstamp-server"), "serve", "--data",
          folder + "/data", "--port",
          "0",
          "--log-level", "critical",
        ]
        let output = Pipe()
        process.standardOutput = output
        try Child.withUsualSignals { try process.run() }
        defer {
          process.terminate()
          process.waitUntilExit()
        }
        let address = await Blocking.run {
          String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }.trimmingCharacters(in: .newlines)
        #expect(try await ProcessFixture.status(of: address + "/ready") == 200)
        func limit(_ size: String) throws {
          let prlimit = Process()
          prlimit.executableURL = URL(fileURLWithPath: "/usr/bin/env")
          prlimit.arguments = ["prlimit", "--pid", String(process.processIdentifier), "--fsize=\(size)"]
          try prlimit.run()
          prlimit.waitUntilExit()
          try #require(prlimit.terminationStatus == 0)
        }
        try limit("4096:unlimited")
        #expect(await eventually { (try? await ProcessFixture.status(of: address + "/ready")) == 503 })
        #expect(try await ProcessFixture.status(of: address + "/health") == 200)
        try limit("unlimited:unlimited")
        #expect(await eventually { (try? await ProcessFixture.status(of: address + "/ready")) == 200 })
      }
    }

    @Test func `asks an owner whose sign-in is old for the password before it ends other sessions`() async throws {
      try await ProcessFixture.inFolder { folder in
        let child = try Child(
          [
            "serve", "--data", folder + "/data", "--port", "0", "--issuer", "http://127.0.0.1",
            "--reauthenticate-after", "5s",
            "--until-stdin-ends",
          ], log: folder + "/log")
        defer { child.send(SIGKILL) }
        let address = try await within(.seconds(240), "the start") { try await child.line() }
        let made = try await ProcessFixture.handstamp(
          ["signup", "ada@example.org", "--server", address], home: folder + "/home", input: "correct horse battery\n")
        #expect(made.status == 0, "\(made.words)")
        // At the latest five seconds after the sign-in.
        var outcome = try await ProcessFixture.handstamp(
          ["revoke", "--others"], home: folder + "/home", input: "not this one\n")
        let refused = await eventually {
          guard outcome.status == 0 else { return true }
          outcome =
            (try? await ProcessFixture.handstamp(
              ["revoke", "--others"], home: folder + "/home", input: "not this one\n"))
            ?? outcome
          return false
        }
        #expect(refused)
        #expect(outcome.words.contains("confirm that it is you"))
        #expect(outcome.status != 0 && outcome.words.contains("password is wrong"), "\(outcome.words)")
        var done = outcome
        // Confirmed again if a busy machine takes longer than the confirmation lasts.
        _ = await eventually {
          done =
            (try? await ProcessFixture.handstamp(
              ["revoke", "--others"], home: folder + "/home", input: "correct horse battery\n")) ?? done
          return done.status == 0
        }
        #expect(done.status == 0, "\(done.words)")
        #expect(done.words.contains("ended 0 other session(s)"))
      }
    }

    /// 20 of 100 is what systemd calls a small exposure.
    @Test func `has a service unit that systemd finds valid and hardened`() async throws {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      let program = try URL(fileURLWithPath: Child.path()).deletingLastPathComponent().path
      let unit = try String(contentsOf: root.appendingPathComponent("packaging/handstamp.service"), encoding: .utf8)
      #expect(unit.contains(#"ExecReload=/bin/sh -c "kill -HUP $MAINPID""#))
      try await ProcessFixture.inFolder { folder in
        let file = folder + "/handstamp.service"
        try unit.replacing("@bindir@", with: program).write(toFile: file, atomically: true, encoding: .utf8)
        for arguments in [["security", "--offline=true", "--threshold=20", file], ["verify", "--man=no", file]] {
          let process = Process()
          process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
          process.arguments = ["systemd-analyze"] + arguments
          process.standardOutput = FileHandle.nullDevice
          process.standardError = FileHandle.nullDevice
          try Child.withUsualSignals { try process.run() }
          let status = await Blocking.run {
            process.waitUntilExit()
            return process.terminationStatus
          }
          #expect(status == 0, "\(arguments)")
        }
      }
    }

    @Test func `names the address that is in use`() async throws {
      try await ProcessFixture.inFolder { folder in
        let child = try Child(
          ["serve", "--data", folder + "/data", "--port", "0", "--until-stdin-ends"], log: folder + "/log")
        defer { child.send(SIGKILL) }
        let address = try await within(.seconds(240), "the start") { try await child.line() }
        let taken = try #require(address.components(separatedBy: "://").last)
        let port = try #require(taken.components(separatedBy: ":").last)
        let page = try await ProcessFixture.handstamp(
          ["serve", "--data", folder + "/other", "--port", "0", "--metrics-address", taken], home: folder)
        try expectRefusal(page, .failure, naming: taken, hint: "--metrics-address")
        let server = try await ProcessFixture.handstamp(
          ["serve", "--data", folder + "/other", "--port", port], home: folder)
        try expectRefusal(server, .failure, naming: "127.0.0.1:" + port, hint: "--port")
      }
    }

    @Test func `is checked without a start, and nothing is written`() async throws {
      try await ProcessFixture.inFolder { folder in
        let data = folder + "/data"
        let good = try await ProcessFixture.handstamp(
          ["serve", "--data", data, "--issuer", "https://id.example.org", "--check"], home: folder)
        #expect(good.status == 0)
        #expect(good.out.contains("https://id.example.org"))
        #expect(good.words.contains("warning: mails are written to the folder"))
        let bad = try await ProcessFixture.handstamp(
          ["serve", "--data", data, "--mail-from", "me@", "--check"], home: folder)
        try expectRefusal(bad, .usage, naming: "--mail-from", hint: "accounts@example.org")
        let certificate = try await ProcessFixture.handstamp(
          ["serve", "--data", data, "--tls-certificate", "/none", "--tls-key", "/none", "--check"], home: folder)
        try expectRefusal(certificate, .usage, naming: "/none", hint: "name a file")
        let open = ["serve", "--data", data, "--host", "0.0.0.0", "--issuer", "https://id.example.org", "--check"]
        try expectRefusal(
          try await ProcessFixture.handstamp(open, home: folder), .usage, naming: "plain HTTP", hint: "--tls-")
        let proxied = try await ProcessFixture.handstamp(open + ["--trusted-proxies", "192.0.2.1"], home: folder)
        #expect(proxied.status == 0, "\(proxied.words)")
        let mail = ["serve", "--data", data, "--check", "--smtp"]
        let user = try await ProcessFixture.handstamp(mail + ["smtp://ada:secret@mail.example.org"], home: folder)
        try expectRefusal(user, .usage, naming: "contains a user", hint: "--smtp-user")
        #expect(!user.words.contains("secret@"))
        #expect(!FileManager.default.fileExists(atPath: data))
      }
    }
  }
}
#endif
