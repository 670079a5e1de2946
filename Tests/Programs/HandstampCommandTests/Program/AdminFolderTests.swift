#if Programs
import Foundation
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp-server admin keys` {
    /// The key ID in the header of an access token.
    private func signer(of token: String) throws -> String {
      let header = try #require(token.split(separator: ".").first)
      let padded = header.replacing("-", with: "+").replacing("_", with: "/")
      let data = try #require(Data(base64Encoded: padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)))
      let fields = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      return try #require(fields["kid"] as? String)
    }

    private func published(by stage: TourFixture) async throws -> [String] {
      let address = try #require(stage.server.address)
      let answer = try await URLSessionTransport().send(
        TransportRequest(method: "GET", url: address + "/.well-known/jwks.json"))
      let set = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
      return try #require(set["keys"] as? [[String: Any]]).compactMap { $0["kid"] as? String }
    }

    private func status(of token: String, at stage: TourFixture) async throws -> Int {
      try await stage.status(of: "/v1/me", with: AccessToken(token)).status
    }

    @Test func `publish a new signing key before it signs, and accept the former one until it is retired`()
      async throws
    {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let old = try await stage.storedToken(of: stage.first)
        let next = try await stage.adminJSON("keys", "rotate", "signing")
        let ids = try #require(next["ids"] as? [String])
        #expect(next["state"] as? String == "next" && ids.count == 1, "there is no RSA key without clients")
        try expectRefusal(
          try await stage.refusedAdmin("keys", "rotate", "signing"), .failure, naming: "verifiers", hint: "--at-once")
        let times = URL(fileURLWithPath: stage.server.folder + "/signing.json")
        let written = try Data(contentsOf: times)
        try Data("{".utf8).write(to: times)
        try expectRefusal(
          try await stage.refusedAdmin("keys", "rotate", "signing", "--at-once"), .failure, naming: "signing.json",
          hint: "backup")
        try written.write(to: times)
        try await stage.restart(accessTokenLife: "10m")
        #expect(Set(ids).isSubset(of: Set(try await published(by: stage))))
        try await stage.run(["refresh"], on: stage.first)
        #expect(try signer(of: try await stage.storedToken(of: stage.first)) == signer(of: old), "not signing yet")

        #expect(try await stage.adminJSON("keys", "rotate", "signing", "--at-once")["state"] as? String == "signing")
        try await stage.restart(accessTokenLife: "10m")
        try await stage.run(["refresh"], on: stage.first)
        #expect(ids.contains(try signer(of: try await stage.storedToken(of: stage.first))))
        #expect(try await status(of: old, at: stage) == 200, "the former key still verifies")
        let former = try signer(of: old)
        try expectRefusal(
          try await stage.refusedAdmin("keys", "retire", former), .failure, naming: former, hint: "--force")
        let signing = try signer(of: try await stage.storedToken(of: stage.first))
        try expectRefusal(
          try await stage.refusedAdmin("keys", "retire", signing, "--force"), .failure, naming: signing, hint: "rotate")
        try await stage.admin("keys", "retire", former, "--force")
        try await stage.restart(accessTokenLife: "10m")
        #expect(try await status(of: old, at: stage) == 401)
        try await stage.run(["request", "/v1/me"], on: stage.first)
        let actions = try #require(try await stage.adminJSON("audit", "list")["entries"] as? [[String: Any]])
        let keys = actions.compactMap { $0["action"] as? String }.filter { $0.hasPrefix("key.") }
        #expect(keys == ["key.added", "key.used", "key.retired"])
      }
    }

    @Test func `make a new refresh key the current one, and keep one that sessions need`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.login(stage.second, deviceName: "phone")
        let rotated = try await stage.adminJSON("keys", "rotate", "refresh")["ids"] as? [String]
        let second = try #require(rotated?.first)
        #expect(second.hasPrefix("k2-"))
        try await stage.restart(accessTokenLife: "10m")
        try await stage.run(["refresh"], on: stage.first)
        let token = try #require(try await stage.session(of: stage.first).refresh)
        #expect(token.secret.withExposed { $0.hasPrefix("hst1.\(second).") })
        let keys = try #require(try await stage.adminJSON("keys", "list")["keys"] as? [[String: Any]])
        let refresh = keys.filter { $0["kind"] as? String == "refresh" }
        #expect(refresh.map { $0["id"] as? String } == ["k1", second])
        #expect(refresh.map { $0["state"] as? String } == ["accepted", "current"])
        try expectRefusal(
          try await stage.refusedAdmin("keys", "retire", "k1"), .failure,
          naming: "a server has made tokens with k1 within the last two minutes", hint: "restart")
        try expectRefusal(
          try await stage.refusedAdmin("keys", "retire", second, "--force"), .failure, naming: "current", hint: "rotate"
        )
        try expectRefusal(try await stage.refusedAdmin("keys", "retire", "k9"), .failure, naming: "k9", hint: "list")
        try await stage.admin("keys", "retire", "k1", "--force")
        // A key that is lost with a file of which no backup has it.
        try await stage.admin("keys", "retire", "k9", "--force")
        try await stage.restart(accessTokenLife: "10m")
        try await stage.run(["refresh"], on: stage.first)
        // Its token is of the retired key, which may have leaked: it is not told to try again for ever.
        try expectRefusal(
          try await stage.run(["refresh"], on: stage.second, expecting: .signInNeeded), .signInNeeded,
          naming: "ended", hint: "login")
        // The number after the highest, that of the lost key.
        #expect(try await stage.adminJSON("keys", "rotate", "refresh")["ids"].map { "\($0)".contains("k10-") } == true)
      }
    }
  }

  @Suite struct `handstamp-server admin database` {
    @Test func `backs up a running server, and restores it elsewhere and in place`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.login(stage.second, deviceName: "phone")
        let backup = stage.folder + "/backup"
        let made = try await stage.adminJSON("database", "backup", backup)
        #expect(Set(made["files"] as? [String] ?? []).isSuperset(of: ["registry.sqlite", "keys.json", "signing.pem"]))
        try expectRefusal(
          try await stage.refusedAdmin("database", "backup", backup), .failure, naming: backup, hint: "not exist")
        try expectRefusal(
          try await stage.refusedAdmin("database", "restore", backup), .failure, naming: "in use", hint: "stop")
        try await stage.run(["logout"], on: stage.second)

        let copy = ServerProcess(folder: stage.folder + "/copy", logs: stage.folder + "/logs-2")
        try FileManager.default.createDirectory(atPath: stage.folder + "/logs-2", withIntermediateDirectories: false)
        defer { copy.abandon() }
        let elsewhere = try await ProcessFixture.handstamp(
          ["admin", "database", "restore", backup, "--data", copy.folder, "--json"], home: stage.first.path)
        #expect(try object(elsewhere.out)["restored"] as? String == "everything", "\(elsewhere.words)")
        #expect(try object(elsewhere.out)["keys"] as? [String] == ["k1"])
        stage.proxy.lead(to: try await copy.start(accessTokenLife: "10m"))
        try await stage.run(["refresh"], on: stage.first)
        try await copy.stop()

        try await stage.server.stop()
        let inPlace = try await stage.adminJSON("database", "restore", backup)
        #expect(inPlace["restored"] as? String == "database" && inPlace["endedAgain"] as? Int == 1)
        // The backup has the note of the server that ran then, with its signing keys.
        try FileManager.default.removeItem(atPath: stage.server.folder + "/signing.pem")
        try await stage.server.start(accessTokenLife: "10m")
        try await stage.server.stop()
        let check = try await stage.admin("database", "check")
        #expect(check.out.contains("intact") && !check.out.contains("problem"), "\(check.out)")
      }
    }

    @Test func `finds a damaged database and log`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        #expect(try await stage.adminJSON("database", "check")["ok"] as? Bool == true)
        try await stage.server.stop()
        let log = stage.server.folder + "/ends.log"
        try Data((String(contentsOfFile: log, encoding: .utf8) + "junk\n").utf8).write(to: URL(fileURLWithPath: log))
        let outcome = try await stage.refusedAdmin("database", "check")
        #expect(outcome.status == 1 && outcome.out.contains("1 unreadable line(s) in ends.log"), "\(outcome.out)")
        #expect(outcome.words.contains("hint: "))
        let file = stage.server.folder + "/registry.sqlite"
        try Data("junk".utf8).write(to: URL(fileURLWithPath: file))
        try expectRefusal(
          try await stage.refusedAdmin("database", "check"), .failure, naming: "registry.sqlite", hint: "backup")
      }
    }
  }
}
#endif
