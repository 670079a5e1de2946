#if Programs
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampOperator

private let start = UnixTime(seconds: 1_800_000_000)
private func after(_ seconds: Int64) -> UnixTime { start.advanced(by: .seconds(seconds)) }

@Suite(.timeLimit(.minutes(10))) struct `A refresh key` {
  /// Runs `body` with a folder whose former key is k1, and a session that began and was refreshed at these times.
  private func run(
    begun: Int64, refreshed: Int64, _ body: (RefreshKeyRing, Registry, _ current: KeyID) async throws -> Void
  ) async throws {
    try await ProcessFixture.inFolder { path in
      let folder = ServerFolder(path: path + "/data")
      try folder.open().store.close()
      let current = try folder.rotateKey(besides: [])
      let (store, keys) = try folder.open()
      let account = AccountRecord(
        id: AccountID("ada"), email: nil, username: "Ada", passwordHash: nil, createdAt: start)
      var random = SystemRandomNumberGenerator()
      let row = SessionRow(
        session: SessionBytes(from: &random), account: account.id,
        device: DeviceInfo(id: DeviceID("d"), name: "", platform: ""), kind: .keyed, createdAt: after(begun),
        rotatedAt: after(refreshed))
      try await store.write([.createAccount(account), .createSession(row)], events: [])
      let old = Registry(
        store: store, mint: TokenMint(try MasterKeys(current: KeyID("k1"), keys: keys.master.keys)))
      try await body(RefreshKeyRing(store: AdminStore(store: store, keys: keys)), old, current)
      try store.close()
    }
  }

  private func refusal(_ ring: RefreshKeyRing, _ id: String = "k1", now: UnixTime = after(10_000)) async
    -> CommandError?
  {
    do throws(CommandError) {
      _ = try await ring.requireUnused(KeyID(id), now: now)
      return nil
    } catch { return error }
  }

  @Test func `can go when every session began after its last use`() async throws {
    try await run(begun: 1121, refreshed: 1121) { ring, old, current in
      try await old.noteKeyUse(now: after(1000))
      #expect(await refusal(ring) == nil)
    }
  }

  @Test(arguments: [(Int64(1120), Int64(5000), "0 live session(s)"), (0, 1120, "1 live session(s)")])
  func `stays while a session has a refresh token or a revocation handle of it`(
    begun: Int64, refreshed: Int64, words: String
  ) async throws {
    try await run(begun: begun, refreshed: refreshed) { ring, old, current in
      try await old.noteKeyUse(now: after(1000))
      let refused = await refusal(ring)
      #expect(refused?.code == "key_in_use" && refused?.message.contains(words) == true, "\(refused?.message ?? "")")
      #expect(refused?.message.contains("and 1 a revocation handle") == true)
    }
  }

  @Test func `stays while a server uses it, or if no server ever said so`() async throws {
    try await run(begun: 5000, refreshed: 5000) { ring, old, current in
      #expect(await refusal(ring)?.message.contains("1 live session(s)") == true)
      try await old.noteKeyUse(now: after(1000))
      #expect(await refusal(ring, now: after(1119))?.message.contains("two minutes") == true)
      #expect(await refusal(ring, now: after(1120)) == nil)
      #expect(await refusal(ring, current.rawValue)?.message.contains("current") == true)
      #expect(await refusal(ring, "k3")?.code == "key_not_found")
    }
  }

  @Test func `stays while a webhook's secret or something sealed needs it, and can be lost by force`() async throws {
    try await run(begun: 5000, refreshed: 5000) { ring, old, _ in
      try await old.noteKeyUse(now: after(1000))
      let settings = Webhook.Settings(name: "crm", url: "https://crm.example.org/hook", events: [])
      _ = try await old.addWebhook(settings, now: start)
      let refused = await refusal(ring)
      #expect(refused?.code == "key_in_use" && refused?.message.contains("1 webhook secret(s)") == true)
      #expect(refused?.hint.contains("webhooks secret") == true)
      #expect(try await ring.requireUnused(KeyID("k1"), force: true, now: after(10_000)).items == [.webhook: 1])
      // One that was lost with its file is known by the log alone.
      #expect(try await ring.requireUnused(KeyID("k3"), force: true, now: after(10_000)).isEmpty)
      #expect(try await ring.losses(now: after(10_000)).isEmpty)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Signing keys of a folder` {
  private func rotate(_ folder: String, at time: UnixTime, atOnce: Bool = false) throws -> SigningKeyRing.State {
    try SigningKeyRing.locked(in: folder) { ring throws(CommandError) in
      try ring.rotate(at: time, atOnce: atOnce).state
    }
  }

  private func states(_ folder: String) throws -> [SigningKeyRing.State] {
    try SigningKeyRing.locked(in: folder) { ring throws(CommandError) in ring.keys.ids.map { ring.state(of: $0) } }
  }

  @Test func `sign ten minutes after they were added, and not a moment before`() async throws {
    try await ProcessFixture.inFolder { folder in
      let first = try SigningKeyFile(path: folder + "/signing.pem").keys(needsRSA: true)
      #expect(try rotate(folder, at: start) == .next)
      #expect(try states(folder) == [.signing, .next, .signing, .next], "of P-256, then RSA")
      #expect(throws: CommandError.self) { try rotate(folder, at: start.advanced(by: .milliseconds(599_999))) }
      #expect(try rotate(folder, at: after(600)) == .signing)
      #expect(try states(folder) == [.signing, .former, .signing, .former])
      let keys = try SigningKeyFile(path: folder + "/signing.pem").keys(needsRSA: true)
      #expect(Set(keys.ids).isSuperset(of: first.ids) && !keys.signingIDs.contains(first.ids[0]))
      let id = first.ids[0]
      func retire(at time: UnixTime) throws {
        try SigningKeyRing.locked(in: folder) { ring throws(CommandError) in try ring.retire(id, at: time, force: false)
        }
      }
      #expect(throws: CommandError.self) { try retire(at: after(600 + 86_399)) }
      try retire(at: after(600 + 86_400))
      #expect(try states(folder) == [.signing, .signing, .former])
      #expect(try rotate(folder, at: after(90_000), atOnce: true) == .signing)
    }
  }

  @Test func `of P-256 alone are rotated as they are`() async throws {
    try await ProcessFixture.inFolder { folder in
      _ = try SigningKeyFile(path: folder + "/signing.pem").keys(needsRSA: false)
      #expect(try rotate(folder, at: start) == .next)
      #expect(try states(folder) == [.signing, .next])
    }
  }

  @Test func `are not created by an administrator, nor lost without the file of their times`() async throws {
    try await ProcessFixture.inFolder { folder in
      #expect(throws: CommandError.self) { try states(folder) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
      _ = try SigningKeyFile(path: folder + "/signing.pem").keys(needsRSA: true)
      _ = try rotate(folder, at: start)
      try Data(#"{"format":2,"keys":{}}"#.utf8).write(to: URL(fileURLWithPath: folder + "/signing.json"))
      #expect(throws: CommandError.self) { try states(folder) }
      try FileManager.default.removeItem(atPath: folder + "/signing.json")
      #expect(try states(folder) == [.signing, .former, .signing, .former])
      #expect(try rotate(folder, at: after(1)) == .next)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The program's arguments` {
  @Test(arguments: [
    (["handstamp", "--verbose", "token"], ["token"], true), (["handstamp", "token", "--verbose"], ["token"], true),
    (["handstamp", "exec", "--", "a", "--verbose"], ["exec", "--", "a", "--verbose"], false),
    (["handstamp", "--verbose", "exec", "--", "--verbose"], ["exec", "--", "--verbose"], true),
    (["/usr/bin/docker-credential-handstamp", "get"], ["credential-helper", "docker", "get"], false),
    (["bin/keyring", "--verbose", "get", "x"], ["credential-helper", "keyring", "get", "x"], true),
    (["handstamp", "--cargo-plugin"], ["credential-helper", "cargo"], false),
    (["handstamp", "token", "--cargo-plugin"], ["token", "--cargo-plugin"], false), (["handstamp"], [], false),
    ([], [], false),
  ])
  func `are arranged for the parser`(given: [String], words: [String], isVerbose: Bool) {
    let arguments = ProgramArguments(given)
    #expect(arguments.words == words && arguments.isVerbose == isVerbose)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `IDs on the command line` {
  private func arranged(_ words: [String]) -> [String] { ProgramArguments(["handstamp"] + words).words }

  @Test func `may begin with a dash`() {
    let id = "-AECAwQFBgcICQoLDA0ODw"
    #expect(
      arranged(["admin", "sessions", "end", id, "--json"]) == ["admin", "sessions", "end", "--json", "--", id])
    #expect(arranged(["revoke", id]) == ["revoke", "--", id])
    #expect(arranged(["admin", "stats", id]) == ["admin", "stats", id])
    let key = "-" + String(repeating: "A", count: 42)
    #expect(arranged(["admin", "keys", "retire", key]) == ["admin", "keys", "retire", "--", key])
  }

  @Test func `may begin with a dash in options`() throws {
    let words = [
      "token", "--dpop", "https://example.org", "--dpop-nonce", "-a", "--client-id", "-b", "--account", "-c",
    ]
    let token = try #require(try HandstampTool.parseAsRoot(words) as? Token)
    #expect(token.dpopNonce == "-a" && token.machine.clientID == "-b" && token.account.account == "-c")
    let login = try #require(try HandstampTool.parseAsRoot(["login", "--client-id", "-b"]) as? Login)
    #expect(login.clientID == "-b")
  }
}
#endif
