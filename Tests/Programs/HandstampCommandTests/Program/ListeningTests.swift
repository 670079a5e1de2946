#if Programs
import Foundation
import HandstampSupport
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `A server on the open network` {
    /// Runs a script of this repository on the program; returns its words if it fails.
    private func script(_ words: String...) async throws -> String? {
      let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
      process.arguments = ["\(root)/scripts/dev", "--program", try Child.path()] + words
      process.environment = ProcessInfo.processInfo.environment.merging(["HANDSTAMP_DEPS": "installed"]) { $1 }
      let output = Pipe()
      process.standardOutput = output
      try Child.withUsualSignals { try process.run() }
      return await Blocking.run {
        let words = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return process.terminationStatus == 0 ? nil : "\(process.terminationStatus): \(words)"
      }
    }

    @Test func `refuses no request and resets no connection across restarts with an inherited socket`() async throws {
      #expect(try await script("attack", "restarts") == nil)
    }

    @Test func `spends little memory on an idle connection and an event stream`() async throws {
      #expect(try await script("memory", "400") == nil)
    }

    @Test func `answers an honest client while others hold more connections than it has descriptors`() async throws {
      try await ProcessFixture.inFolder { folder in
        let log = folder + "/log"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = [
          "-c", #"ulimit -n 256; exec "$0" "$@" 2>"# + log, try Child.path(of: "handstamp-server"), "serve",
          "--data", folder + "/data", "--port", "0",
        ]
        let output = Pipe()
        process.standardOutput = output
        try Child.withUsualSignals { try process.run() }
        defer {
          process.terminate()
          process.waitUntilExit()
        }
        let line = await Blocking.run {
          String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        }.trimmingCharacters(in: .newlines)
        let port = try #require(UInt16(line.split(separator: ":").last ?? ""))
        let open = try (0..<600).map { _ in
          let connection = socket(AF_INET, PlainClient.stream, 0)
          var address = PlainClient.loopback(port)
          let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
              connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
          }
          guard isConnected else { throw PlainClient.Failed(errno: errno) }
          return connection
        }
        defer { for connection in open { close(connection) } }
        let counter = Locked(0)
        let failures = await Blocking.run {
          PlainClient(port: port) {
            counter.withLock { count in
              count += 1
              return count <= 20
            }
          }.run()
        }
        #expect(failures.isEmpty)
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(text.contains("Idle connection closed for a new one"))
        #expect(text.contains(#""handstamp.descriptors":"256""#))
        #expect(text.split(separator: "\n").count < 20, "a flood must not fill the log")
      }
    }

    @Test(arguments: ["0.0.0.0", "example.org", "::"]) func `refuses to serve passwords in clear`(host: String)
      async throws
    {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(
          ["serve", "--data", folder + "/data", "--host", host, "--port", "0", "--issuer", "https://id.example.org"],
          home: folder)
        try expectRefusal(outcome, .usage, naming: "plain HTTP", hint: "--tls-certificate")
      }
    }

    @Test(arguments: [
      (["--tls-certificate", "/none"], "--tls-certificate", "--tls-key"),
      (["--tls-key", "/none"], "--tls-key", "--tls-certificate"),
      (["--tls-certificate", "/none", "--tls-key", "/none"], "/none", "file"),
      (["--trusted-proxies", "10.0.0.0/99"], "--trusted-proxies", "addresses"),
      (["--trusted-proxies", ""], "--trusted-proxies", "addresses"),
      (["--allow-cleartext", "maybe"], "--allow-cleartext", "yes"),
    ]) func `refuses bad settings of its transport`(arguments: [String], part: String, hint: String) async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(
          ["serve", "--data", folder + "/data", "--port", "0"] + arguments, home: folder)
        try expectRefusal(outcome, .usage, naming: part, hint: hint)
      }
    }

    @Test(arguments: [["--trusted-proxies", "10.0.0.0/8"], ["--allow-cleartext", "yes"]])
    func `serves beyond loopback in clear only when told to`(arguments: [String]) async throws {
      try await ProcessFixture.inFolder { folder in
        let child = try Child(
          ["serve", "--data", folder + "/data", "--host", "0.0.0.0", "--port", "0", "--until-stdin-ends"] + arguments)
        let line = try await within(.seconds(240), "the start") { try await child.line() }
        #expect(line.hasPrefix("http://0.0.0.0:"))
        child.send(SIGTERM)
        #expect(try await within(.seconds(240), "the end") { try await child.outcome() }.status == 0)
      }
    }

    @Test func `starts on a socket that systemd's own program passes`() async throws {
      let program = "/usr/bin/systemd-socket-activate"
      try #require(FileManager.default.isExecutableFile(atPath: program), "install systemd")
      try await ProcessFixture.inFolder { folder in
        // Free for now, and the program fails if it is not.
        let port = try FreePort.find()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
          "--listen=127.0.0.1:\(port)", try Child.path(of: "handstamp-server"), "serve", "--data", folder + "/data",
          "--port", "1",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try Child.withUsualSignals { try process.run() }
        defer {
          process.terminate()
          process.waitUntilExit()
        }
        var status = 0
        let end = ContinuousClock.now + .seconds(240)
        while status != 200, process.isRunning, ContinuousClock.now < end {
          status = (try? await ProcessFixture.status(of: "http://127.0.0.1:\(port)/health")) ?? 0
        }
        #expect(status == 200)
      }
    }
  }
}
#endif
