#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp-server serve` {
    @Test(arguments: [
      ["--port", "70000"], ["--access-token-life", "0s"], ["--access-token-life", "10"], ["--max-sessions", "0"],
      ["--sign-up", "maybe"], ["--log-level", "loud"], ["--issuer", "example"], ["--app-config", "/none"],
    ])
    func `refuses a bad setting, and names its source and value`(arguments: [String]) async throws {
      try await ProcessFixture.inFolder { folder in
        let outcome = try await ProcessFixture.handstamp(
          ["serve", "--data", folder + "/data"] + arguments, home: folder)
        try expectRefusal(outcome, .usage, naming: "\(arguments[0]): \"\(arguments[1])\"", hint: "")
        #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
      }
    }

    @Test func `refuses unknown settings from any source`() async throws {
      try await ProcessFixture.inFolder { folder in
        let file = folder + "/serve.json"
        try Data(#"{"prot": 1}"#.utf8).write(to: URL(fileURLWithPath: file))
        let misspelt = try await ProcessFixture.handstamp(["serve", "--config", file], home: folder)
        try expectRefusal(misspelt, .usage, naming: "prot", hint: "port")
        let variable = try await ProcessFixture.handstamp(
          ["serve", "--data", folder], home: folder, variables: ["HANDSTAMP_SERVE_PROT": "1"])
        try expectRefusal(variable, .usage, naming: "HANDSTAMP_SERVE_PROT", hint: "HANDSTAMP_SERVE_PORT")
        let unread = try await ProcessFixture.handstamp(["serve", "--data", folder, "--config", "/none"], home: folder)
        try expectRefusal(unread, .usage, naming: "/none", hint: "")
        let nowhere = try await ProcessFixture.handstamp(["serve"], home: folder)
        try expectRefusal(nowhere, .usage, hint: "--data")
      }
    }

    @Test func `stops on SIGTERM despite open streams, and restarts with all sessions intact`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let feed = try await LiveFeed(try await stage.client(stage.first))
        try await stage.server.stop()
        _ = feed
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        try await stage.run(["request", "/v1/me"], on: stage.first)
        #expect(stage.proxy.refreshes.isEmpty, "its access tokens are still valid")
      }
    }

    /// A note from the past is what a pause leaves.
    @Test func `believes its clock after a night, by the boot clock or as its machine was off`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.server.stop()
        let path = stage.server.folder + "/clock"
        /// Restarts the server with a note that was written before the pause. Returns how often it has doubted its clock so
        /// far.
        func doubts(afterPause seconds: Int64, _ mark: (_ boot: Substring, _ uptime: Int64) -> String) async throws
          -> Int
        {
          let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
          let (note, boot) = (lines[1].split(separator: " "), lines[2].split(separator: " "))
          let (revision, at) = (try #require(Int64(note[0])), try #require(Int64(note[1])))
          let uptime = try #require(Int64(boot[2])) - seconds * 1000
          // Newer than the database's, so that it counts.
          try Data("\(lines[0])\n\(revision + 1) \(at - seconds * 1000)\n\(mark(boot[1], uptime))".utf8)
            .write(to: URL(fileURLWithPath: path))
          _ = try await stage.server.start(accessTokenLife: "10m")
          try await stage.server.stop()
          return stage.server.log().components(separatedBy: "The clock differs from the last run").count - 1
        }
        #expect(try await doubts(afterPause: 30 * 86_400) { "boot \($0) \($1)\n" } == 0)
        #expect(try await doubts(afterPause: 8 * 3600) { "boot 1\($0.dropFirst(2)) \($1)\n" } == 0)
        #expect(try await doubts(afterPause: 652) { _, _ in "" } == 1, "another machine's")
      }
    }

    @Test func `does not start with an incomplete folder`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.server.stop()
        let data = stage.server.folder
        func serve() async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(["serve", "--data", data, "--port", "0"], home: stage.folder)
        }
        for name in ["keys.json", "registry.sqlite"] {
          try FileManager.default.moveItem(atPath: "\(data)/\(name)", toPath: "\(data)/away")
          try expectRefusal(try await serve(), .failure, naming: name, hint: "restore")
          try FileManager.default.moveItem(atPath: "\(data)/away", toPath: "\(data)/\(name)")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(data)/signing.pem")
        try expectRefusal(try await serve(), .failure, naming: "signing.pem", hint: "chmod 600")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(data)/signing.pem")
        try Data("junk".utf8).write(to: URL(fileURLWithPath: "\(data)/signing.pem"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(data)/signing.pem")
        try expectRefusal(try await serve(), .failure, naming: "signing.pem", hint: "restore the file")
        #expect(FileManager.default.contents(atPath: "\(data)/signing.pem") == Data("junk".utf8), "never replaced")
      }
    }

    @Test func `does not start on a database that was emptied, or copied while it ran`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let (data, copy) = (stage.server.folder, stage.folder + "/copy")
        func copyFiles() throws {
          try? FileManager.default.removeItem(atPath: copy)
          try FileManager.default.createDirectory(
            atPath: copy, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
          for name in ["keys.json", "signing.pem", "registry.sqlite"] {
            try FileManager.default.copyItem(atPath: "\(data)/\(name)", toPath: "\(copy)/\(name)")
          }
        }
        func serve() async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(["serve", "--data", copy, "--port", "0"], home: stage.folder)
        }
        try copyFiles()
        try expectRefusal(try await serve(), .failure, naming: "registry.sqlite", hint: "-wal")
        try await stage.server.stop()
        try copyFiles()
        try Data().write(to: URL(fileURLWithPath: copy + "/registry.sqlite"))
        try expectRefusal(try await serve(), .failure, naming: "registry.sqlite", hint: "-wal")
        // After a clean stop, the database file is complete.
        try copyFiles()
        let restored = ServerProcess(folder: copy, logs: stage.folder + "/logs")
        defer { restored.abandon() }
        stage.proxy.lead(to: try await restored.start(accessTokenLife: "10m"))
        try await stage.run(["refresh"], on: stage.first)
      }
    }

    @Test func `responds with 503 while its database is missing, and ends no session`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let database = stage.server.folder + "/registry.sqlite"
        try FileManager.default.moveItem(atPath: database, toPath: database + ".away")
        // An empty file in its place is not accepted.
        try Data().write(to: URL(fileURLWithPath: database))
        let address = try #require(stage.server.address)
        #expect(try await ProcessFixture.status(of: address + "/ready") == 503)
        let refused = try await ProcessFixture.handstamp(["refresh"], home: stage.first.path)
        #expect(refused.status == ExitReason.network.rawValue, "\(refused.words)")
        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.moveItem(atPath: database + ".away", toPath: database)
        #expect(try await ProcessFixture.status(of: address + "/ready") == 200)
        try await stage.run(["refresh"], on: stage.first)
      }
    }

    @Test func `reports an ended session on the streams of every server on its folder`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.run(
          ["login", stage.email, "--server", stage.address.text], on: stage.second, input: stage.password + "\n")
        let feed = try await LiveFeed(try await stage.client(stage.first))
        // The second device signs out at another server process.
        let other = ServerProcess(folder: stage.server.folder, logs: stage.folder + "/logs-2")
        try FileManager.default.createDirectory(atPath: stage.folder + "/logs-2", withIntermediateDirectories: false)
        defer { other.abandon() }
        stage.proxy.lead(to: try await other.start(accessTokenLife: "10m"))
        try await stage.run(["logout"], on: stage.second)
        let ended = try await feed.next("session-revoked")
        #expect(ended.reason == "signed_out")
        try await other.stop()
      }
    }

    @Test func `ends sessions again that ended after a restored backup was made`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.run(
          ["login", stage.email, "--server", stage.address.text], on: stage.second, input: stage.password + "\n")
        let (data, copy) = (stage.server.folder, stage.folder + "/copy")
        try FileManager.default.copyItem(atPath: stage.second.path, toPath: stage.folder + "/thief")
        try await stage.server.stop()
        try FileManager.default.copyItem(atPath: data + "/registry.sqlite", toPath: copy)
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        try await stage.run(["logout"], on: stage.second)
        try await stage.server.stop()
        try FileManager.default.removeItem(atPath: data + "/registry.sqlite")
        try FileManager.default.moveItem(atPath: copy, toPath: data + "/registry.sqlite")
        stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        let thief = try await ProcessFixture.handstamp(["refresh"], home: stage.folder + "/thief")
        #expect(thief.status == ExitReason.signInNeeded.rawValue, "\(thief.words)")
        try await stage.run(["refresh"], on: stage.first)
        #expect(stage.server.log().contains("\"handstamp.ended_sessions\":\"1\""))
      }
    }

    @Test func `takes its keys from the environment once their database exists`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.server.stop()
        let text = try String(contentsOfFile: stage.server.folder + "/keys.json", encoding: .utf8)
        let data = stage.folder + "/elsewhere"
        func serve(_ more: String..., keys: String? = text) async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(
            ["serve", "--data", data, "--port", "0"] + more, home: stage.folder,
            variables: keys.map { ["HANDSTAMP_SERVE_KEYS": $0] } ?? [:])
        }
        try expectRefusal(try await serve(keys: "{}"), .usage, naming: "HANDSTAMP_SERVE_KEYS", hint: "keys.json")
        try expectRefusal(try await serve(), .failure, naming: "registry.sqlite", hint: "--new-database")
        try expectRefusal(
          try await serve("--new-database", keys: nil), .usage, naming: "--new-database", hint: "omit it")
        #expect(try await serve("--new-database").status == 0)
        #expect(!FileManager.default.fileExists(atPath: data + "/keys.json"))
        try Data().write(to: URL(fileURLWithPath: data + "/registry.sqlite"))
        try expectRefusal(try await serve(), .failure, naming: "registry.sqlite", hint: "--new-database")
      }
    }

    @Test func `reports that its port is taken`() async throws {
      try await ProcessFixture.run { stage in
        let port = String(try #require(stage.server.address?.split(separator: ":").last))
        let outcome = try await ProcessFixture.handstamp(
          ["serve", "--data", stage.folder + "/second", "--port", port, "--log-level", "error"], home: stage.folder)
        try expectRefusal(outcome, .failure, naming: port, hint: "--port")
      }
    }

    @Test func `logs JSON lines without secrets`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.run(["login", stage.email, "--force"], on: stage.first, input: stage.password + "\n")
        try await stage.run(["logout"], on: stage.first)
        try await stage.server.stop()
        let log = stage.server.log()
        #expect(log.contains("Signed in"))
        for line in log.split(separator: "\n") {
          let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
          #expect(fields["at"] != nil && fields["level"] != nil && fields["message"] != nil)
        }
        #expect(stage.proxy.secrets.count > 6)
        #expect(!SecretScan(stage.proxy.secrets.union([stage.password])).finds(in: Array(log.utf8)))
      }
    }
  }
}
#endif
