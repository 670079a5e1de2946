#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator
@testable import HandstampTour

extension TourFixture {
  /// Runs `handstamp-server admin` on the server's folder.
  @discardableResult
  func admin(_ arguments: String..., input: String = "", expecting status: ExitReason = .ok) async throws
    -> Child.Outcome
  {
    try await run(["admin"] + arguments + ["--data", server.folder], on: first, input: input, expecting: status)
  }

  /// Runs it with `--json`.
  func adminJSON(_ arguments: String..., input: String = "") async throws -> [String: Any] {
    let all = ["admin"] + arguments + ["--data", server.folder, "--json"]
    return try object(try await run(all, on: first, input: input).out)
  }

  func refusedAdmin(_ arguments: String...) async throws -> Child.Outcome {
    try await ProcessFixture.handstamp(["admin"] + arguments + ["--data", server.folder], home: first.path)
  }
}

extension Processes {
  @Suite struct `handstamp-server admin` {
    @Test func `creates, disables, enables and deletes accounts while the server runs`() async throws {
      try await ProcessFixture.run { stage in
        let made = try await stage.adminJSON(
          "accounts", "create", stage.email, "--name", "Ada", "--mail-link", "x:{token}")
        let account = try #require(made["account"] as? [String: Any])
        let id = try #require(account["id"] as? String)
        let reset = try #require(made["reset"] as? [String: Any])
        let code = try #require(reset["code"] as? String)
        #expect(reset["link"] as? String == "x:\(code)")
        let address = try #require(stage.server.address)
        let body = Data(#"{"token":"\#(code)","new_password":"\#(stage.password)"}"#.utf8)
        #expect(try await ProcessFixture.post(body, to: address + "/v1/password-reset/confirm") == 204)
        try await stage.login(stage.first, deviceName: "laptop")
        let feed = try await LiveFeed(try await stage.client(stage.first))

        #expect(try await stage.adminJSON("accounts", "disable", stage.email)["ended"] as? Int == 1)
        #expect(try await feed.next("session-revoked").reason == "account_closed", "the running server notices")
        let refused = try await ProcessFixture.handstamp(
          ["login", stage.email, "--server", stage.address.text], home: stage.second.path, input: stage.password + "\n")
        try expectRefusal(refused, .failure, naming: "disabled", hint: "operator")
        let shown = try await stage.admin("accounts", "show", stage.email)
        #expect(shown.out.contains("disabled, since"), "\(shown.out)")
        try await stage.admin("accounts", "enable", id)
        try await stage.login(stage.second, deviceName: "phone")
        let export = try await stage.admin("accounts", "export", stage.email)
        let document = try object(export.out)
        #expect((document["sessions"] as? [[String: Any]])?.count == 2)
        #expect(!export.out.contains("argon2"))
        let deleted = try await stage.admin("accounts", "delete", id)
        #expect(deleted.words.contains("deleted \(id), ended 1 session(s)"), "\(deleted.words)")
        let listed = try await stage.adminJSON("accounts", "list")
        #expect((listed["accounts"] as? [[String: Any]])?.map { $0["state"] as? String } == ["deleted"])

        let audit = try await stage.admin("audit", "export").out.split(separator: "\n").map { try object($0 + "\n") }
        #expect(
          audit.map { $0["action"] as? String } == [
            "account.created", "password.reset_code_issued", "password.reset", "session.began", "account.disabled",
            "sign_in.refused", "account.enabled", "session.began", "account.exported", "account.deleted",
          ])
        #expect(audit.allSatisfy { $0["account"] as? String == id })
        #expect(audit[4]["actor"] as? String == "operator:\(NSUserName())")
        let last = try #require(audit[7]["id"] as? Int)
        let rest = try await stage.admin("audit", "export", "--after", "\(last)")
        #expect(rest.out.split(separator: "\n").count == 2)
        let about = try await stage.admin("audit", "list", "--account", id, "--since", "2000-01-01")
        #expect(about.out.contains(#"{"way":"password","device":"phone"}"#), "\(about.out)")
        let session = try #require(audit[7]["session"] as? String)
        #expect(about.out.contains("SESSION") && about.out.contains(session))
        try expectRefusal(
          try await stage.refusedAdmin("audit", "list", "--since", "yesterday"), .usage, naming: "yesterday",
          hint: "2026")
        #expect(try await stage.admin("audit", "hash", stage.email).out.count == 17)
      }
    }

    @Test func `takes an account back for its owner, and shows the ways into it`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.admin("accounts", "create", stage.email, "--password", input: stage.password + "\n")
        try await stage.login(stage.first, deviceName: "phone")
        #expect(try await stage.admin("credentials", stage.email).out.contains("password"))
        let sessions = try #require(
          try await stage.adminJSON("sessions", "list", stage.email)["sessions"] as? [[String: Any]])
        #expect(sessions.map { $0["address"] as? String } == ["127.0.0.1"])
        try expectRefusal(
          try await stage.refusedAdmin("accounts", "create", "eve@example.org", "--invite", "--password"), .usage,
          naming: "--invite", hint: "choose a password")
        let taken = try await stage.adminJSON("accounts", "take-back", stage.email)
        #expect(taken["ended"] as? Int == 1)
        #expect((taken["reset"] as? [String: Any])?["code"] as? String != nil)
        #expect(try await stage.adminJSON("credentials", stage.email)["hasPassword"] as? Bool == false)
      }
    }

    @Test func `sets a password from stdin, and refuses what the server would refuse`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.admin("accounts", "create", stage.email, "--password", input: stage.password + "\n")
        try await stage.login(stage.first, deviceName: "laptop")
        try expectRefusal(
          try await stage.refusedAdmin("accounts", "create", "ADA@example.org", "--json"), .failure,
          code: "email_taken",
          hint: "show")
        try expectRefusal(
          try await stage.refusedAdmin("accounts", "create", "nowhere"), .usage, naming: "email", hint: "ada@")
        try expectRefusal(
          try await stage.refusedAdmin("accounts", "show", "acc_none"), .failure, naming: "account", hint: "list")
        let weak = try await ProcessFixture.handstamp(
          ["admin", "accounts", "create", "eve@example.org", "--password", "--data", stage.server.folder],
          home: stage.first.path, input: "password\n")
        try expectRefusal(weak, .failure, naming: "common", hint: "another one")
      }
    }

    @Test func `ends sessions of one, of an account and of everyone, and the log keeps them ended`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.login(stage.second, deviceName: "phone")
        let sessions = try #require(
          try await stage.adminJSON("sessions", "list", stage.email)["sessions"] as? [[String: Any]])
        let phone = try #require(sessions.first { $0["deviceName"] as? String == "phone" }?["id"] as? String)
        #expect(try await stage.adminJSON("sessions", "end", phone)["ended"] as? Int == 1)
        let ended = try await ProcessFixture.handstamp(["refresh"], home: stage.second.path)
        #expect(ended.status == ExitReason.signInNeeded.rawValue, "\(ended.words)")
        try await stage.run(["refresh"], on: stage.first)
        let log = try String(contentsOfFile: stage.server.folder + "/ends.log", encoding: .utf8)
        #expect(log.contains(phone), "a restored backup does not revive it")
        #expect(try await stage.adminJSON("sessions", "end", "--everyone")["ended"] as? Int == 1)
        let gone = try await ProcessFixture.handstamp(["refresh"], home: stage.first.path)
        #expect(gone.status == ExitReason.signInNeeded.rawValue, "\(gone.words)")
        try expectRefusal(
          try await stage.refusedAdmin("sessions", "end", phone, "--everyone"), .usage, naming: "specify", hint: "list")
        try expectRefusal(
          try await stage.refusedAdmin("sessions", "end", phone), .failure, naming: "session", hint: "list")
      }
    }

    @Test func `refuses a folder that is not a server's, and creates nothing in it`() async throws {
      try await ProcessFixture.inFolder { folder in
        let missing = try await ProcessFixture.handstamp(["admin", "stats", "--data", folder + "/none"], home: folder)
        try expectRefusal(missing, .failure, naming: "registry.sqlite", hint: "--data")
        let empty = try await ProcessFixture.handstamp(["admin", "accounts", "list", "--data", folder], home: folder)
        try expectRefusal(empty, .failure, naming: "registry.sqlite", hint: "--data")
        try expectRefusal(try await ProcessFixture.handstamp(["admin", "stats"], home: folder), .usage, hint: "--data")
        try expectRefusal(
          try await ProcessFixture.handstamp(["admin", "stats", "--verbose"], home: folder), .usage,
          naming: "--verbose",
          hint: "--log-level")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      }
    }

    @Test(.enabled(if: geteuid() == 0)) func `run by root leaves all files to the folder's owner`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        try await stage.server.stop()
        let folder = stage.server.folder
        func owners() throws -> [String: Int?] {
          let names = try FileManager.default.contentsOfDirectory(atPath: folder)
          return try Dictionary(
            uniqueKeysWithValues: names.map { name in
              let facts = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")
              return (name, (facts[.ownerAccountID] as? NSNumber)?.intValue)
            })
        }
        for path in try [folder] + owners().keys.map({ "\(folder)/\($0)" }) { #expect(lchown(path, 65534, 65534) == 0) }
        try await stage.admin("sessions", "end", "--everyone")
        try await stage.admin("keys", "rotate", "refresh")
        try await stage.admin("keys", "rotate", "signing")
        // As systemd has it for a dynamic user.
        let link = stage.folder + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder)
        #expect(lchown(folder + "/keys.json", 0, 0) == 0)
        let stats = try await ProcessFixture.handstamp(["admin", "stats", "--data", link], home: stage.folder)
        #expect(stats.status == 0, "\(stats.words)")
        let left = try owners()
        #expect(left["signing.json"] != nil)
        #expect(left.values.allSatisfy { $0 == 65534 }, "\(left)")
      }
    }

    @Test func `writes a file of clients that the server's user can read, and keeps the mode of one that is there`()
      async throws
    {
      try await ProcessFixture.run { stage in
        let folder = stage.folder + "/etc"
        let file = folder + "/clients.json"
        func mode(_ path: String) throws -> Int? {
          try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        try await stage.run(["admin", "clients", "add", "wiki", "--clients", file], on: stage.first)
        #expect(try mode(folder) == 0o755)
        #expect(try mode(file) == 0o644)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
        try await stage.run(["admin", "clients", "add", "notes", "--clients", file], on: stage.first)
        #expect(try mode(file) == 0o640)
        try await stage.admin("clients", "remove", "wiki", "--clients", file)
        #expect(try mode(file) == 0o640)
        let left = try await ProcessFixture.handstamp(
          ["admin", "clients", "check", "--clients", file], home: stage.folder)
        #expect(left.out == "ok, 1 client(s)\n", "\(left.words)")
      }
    }

    @Test func `ends no session of a client whose file is not named, and needs no file for one that registered itself`()
      async throws
    {
      try await ProcessFixture.inFolder { folder in
        let settings = try ServeSettings(flags: ["data": folder], environment: [:], file: nil)
        let id = "registered-" + String(repeating: "a", count: 22)
        let (store, _) = try await settings.openDatabase()
        try await store.createSessions(1, of: "wiki", account: "ada")
        try await store.createSessions(1, of: id, account: "bob")
        try store.close()
        func remove(_ id: String) async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(
            ["admin", "clients", "remove", id, "--data", folder], home: folder + "/home")
        }
        let refused = try await remove("wiki")
        #expect(refused.status == ExitReason.usage.rawValue, "\(refused.words)")
        let ended = try await remove(id)
        #expect(ended.out == "not in the file, tokens and sessions ended: 1\n", "\(ended.words)")
        let (after, _) = try await settings.openDatabase()
        #expect(try await after.clientSessions() == ["wiki": 1])
        try after.close()
      }
    }

    @Test func `takes accounts back and ends sessions whatever the file of clients holds, and imports only if it can`()
      async throws
    {
      try await ProcessFixture.inFolder { folder in
        let settings = try ServeSettings(flags: ["data": folder], environment: [:], file: nil)
        let (store, _) = try await settings.openDatabase()
        try await store.createSessions(1, of: "wiki", account: "ada")
        try await store.createSessions(1, of: "wiki", account: "bob")
        try store.close()
        let file = folder + "/clients.json"
        func admin(_ words: String...) async throws -> Child.Outcome {
          try await ProcessFixture.handstamp(
            ["admin"] + words + ["--data", folder, "--json"], home: folder + "/home",
            variables: ["HANDSTAMP_SERVE_CLIENTS": file])
        }
        let missing = try await admin("sessions", "end", "--account", "bob")
        #expect(try object(missing.out)["ended"] as? Int == 1 && missing.words.isEmpty, "\(missing.words)")
        try Data("[{".utf8).write(to: URL(fileURLWithPath: file))
        let damaged = try await admin("accounts", "take-back", "ada", "--email", "ada@example.org")
        #expect(try object(damaged.out)["ended"] as? Int == 1, "\(damaged.words)")
        #expect(damaged.words.hasPrefix("warning: \(file): not a list of clients"), "\(damaged.words)")
        let refused = try await admin("import", "-", "--from", "handstamp")
        #expect(refused.status == ExitReason.usage.rawValue && refused.words.contains(file), "\(refused.words)")
      }
    }

    @Test func `adds an API that introspects, without the scopes of users, and refuses one without a secret`()
      async throws
    {
      try await ProcessFixture.run { stage in
        let file = stage.folder + "/clients.json"
        try await stage.run(["admin", "clients", "add", "api", "--clients", file, "--introspects"], on: stage.first)
        let client = try #require(try ClientFile.clients(at: file).first)
        #expect(client.introspects && client.isConfidential)
        #expect(client.scopes.isEmpty && client.flows.isEmpty)
        // A list that is the default of other clients is not the default of this one.
        let scopes = ["openid", "profile", "email"]
        try await stage.run(
          ["admin", "clients", "add", "mail", "--clients", file, "--introspects"] + scopes.flatMap { ["--scope", $0] },
          on: stage.first)
        #expect(try ClientFile.clients(at: file).last?.scopes == scopes)
        let open = try await ProcessFixture.handstamp(
          ["admin", "clients", "add", "open", "--clients", file, "--introspects", "--is-public"], home: stage.folder)
        try expectRefusal(open, .usage, naming: "introspects needs a secretSHA256", hint: "[{")
      }
    }

    @Test func `counts rows, and checks the file of clients`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let stats = try await stage.adminJSON("stats")
        #expect(stats["accounts"] as? Int == 1 && stats["liveSessions"] as? Int == 1)
        let file = stage.folder + "/clients.json"
        func check(_ text: String) async throws -> Child.Outcome {
          try Data(text.utf8).write(to: URL(fileURLWithPath: file))
          return try await ProcessFixture.handstamp(
            ["admin", "clients", "check", "--clients", file], home: stage.folder)
        }
        let good = #"{"id": "cli", "redirectURIs": ["http://127.0.0.1/callback"]}"#
        #expect(try await check("[\(good)]").out == "ok, 1 client(s)\n")
        let listed = try await ProcessFixture.handstamp(
          ["admin", "clients", "list", "--clients", file], home: stage.folder)
        #expect(listed.out.contains("cli") && listed.out.contains("public"), "\(listed.out)")
        try expectRefusal(try await check("[\(good), \(good)]"), .usage, naming: "duplicate client cli", hint: "[{")
        try expectRefusal(try await check(#"[{"id": "cli"}]"#), .usage, naming: "redirect URI", hint: "[{")
        // The subject of its tokens would be an account's.
        let accounts = try await stage.adminJSON("accounts", "list")["accounts"] as? [[String: Any]]
        let id = try #require(accounts?.first?["id"] as? String)
        try expectRefusal(
          try await stage.refusedAdmin("clients", "add", id, "--machine", "--clients", file + ".new"), .usage,
          naming: id, hint: "another ID")
        #expect(!FileManager.default.fileExists(atPath: file + ".new"))
      }
    }
  }
}

extension ProcessFixture {
  /// Posts JSON, and returns the status.
  static func post(_ body: Data, to address: String) async throws -> Int {
    try await URLSessionTransport().send(
      TransportRequest(
        method: "POST", url: address, headers: [HeaderField("Content-Type", "application/json")], body: Array(body))
    ).status
  }
}
#endif
