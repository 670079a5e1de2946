#if Programs
import Foundation
import Handstamp
import HandstampCore
import Testing

@testable import HandstampCommand

extension Processes {
  @Suite struct `handstamp serve` {
    @Test(arguments: [
      (["--port", "70000"], "--port: 70000 is no port"), (["--access-token-life", "0s"], "--access-token-life"),
      (["--access-token-life", "10"], "no duration"), (["--max-sessions", "0"], "no number from 1 up"),
      (["--sign-up", "maybe"], "neither open nor confirmed nor closed"),
      (["--log-level", "loud"], "no level"), (["--issuer", "example"], "no issuer"),
      (["--app-config", "/none"], "no file"), (["--config", "/none"], "cannot be read"),
    ])
    func `refuses a bad setting and says where it stands`(arguments: [String], words: String) async throws {
      try await Rig.inFolder { folder in
        let outcome = try await Rig.handstamp(["serve", "--data", folder + "/data"] + arguments, home: folder)
        expectRefusal(outcome, .usage, saying: words, hint: "")
        #expect(!FileManager.default.fileExists(atPath: folder + "/data"))
      }
    }

    @Test func `refuses settings that it does not know, wherever they stand`() async throws {
      try await Rig.inFolder { folder in
        let file = folder + "/serve.json"
        try Data(#"{"prot": 1}"#.utf8).write(to: URL(fileURLWithPath: file))
        let misspelt = try await Rig.handstamp(["serve", "--config", file], home: folder)
        expectRefusal(misspelt, .usage, saying: "there is no setting prot", hint: "port")
        let variable = try await Rig.handstamp(
          ["serve", "--data", folder], home: folder, variables: ["HANDSTAMP_SERVE_PROT": "1"])
        expectRefusal(variable, .usage, saying: "HANDSTAMP_SERVE_PROT", hint: "HANDSTAMP_SERVE_PORT")
        let nowhere = try await Rig.handstamp(["serve"], home: folder)
        expectRefusal(nowhere, .usage, saying: "the folder of the server is not named", hint: "--data")
      }
    }

    @Test func `ends on SIGTERM, also while somebody listens, and starts again with everybody signed in`() async throws
    {
      try await Rig.run { stage in
        try await stage.signUp(stage.first)
        let feed = try await LiveFeed(try await stage.client(stage.first))
        try await stage.server.stop()
        _ = feed
        stage.wire.lead(to: try await stage.server.start(accessTokenLife: "10m"))
        try await stage.run(["request", "/v1/me"], on: stage.first)
        #expect(stage.wire.refreshes.isEmpty, "its access tokens are good as well")
      }
    }

    @Test func `does not start with half of its folder`() async throws {
      try await Rig.run { stage in
        try await stage.signUp(stage.first)
        try await stage.server.stop()
        let data = stage.server.folder
        func serve() async throws -> Child.Outcome {
          try await Rig.handstamp(["serve", "--data", data, "--port", "0"], home: stage.folder)
        }
        for name in ["keys.json", "registry.sqlite"] {
          try FileManager.default.moveItem(atPath: "\(data)/\(name)", toPath: "\(data)/away")
          expectRefusal(try await serve(), .failure, saying: "missing", hint: "put")
          try FileManager.default.moveItem(atPath: "\(data)/away", toPath: "\(data)/\(name)")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(data)/signing.pem")
        expectRefusal(try await serve(), .failure, saying: "others can read", hint: "chmod 600")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(data)/signing.pem")
        try Data("junk".utf8).write(to: URL(fileURLWithPath: "\(data)/signing.pem"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(data)/signing.pem")
        expectRefusal(try await serve(), .failure, saying: "no usable P-256 key", hint: "put the file back")
        #expect(FileManager.default.contents(atPath: "\(data)/signing.pem") == Data("junk".utf8), "never replaced")
      }
    }

    @Test func `says when its port is taken`() async throws {
      try await Rig.run { stage in
        let port = String(try #require(stage.server.address?.split(separator: ":").last))
        let outcome = try await Rig.handstamp(
          ["serve", "--data", stage.folder + "/second", "--port", port, "--log-level", "error"], home: stage.folder)
        expectRefusal(outcome, .failure, saying: "cannot be listened on", hint: "--port")
      }
    }

    @Test func `logs lines of JSON without any secret`() async throws {
      try await Rig.run { stage in
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
        #expect(stage.wire.secrets.count > 6)
        #expect(!SecretScan(stage.wire.secrets.union([stage.password])).finds(in: Array(log.utf8)))
      }
    }
  }
}
#endif
