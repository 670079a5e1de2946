import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A master key` {
  private let store = MemoryRegistryStore()
  private let week = after(TOTPRecord.sealLife)

  /// A registry at the store with these keys, the first one current.
  private func registry(_ names: String..., retired: Set<KeyID> = []) throws -> Registry {
    let keys = try masterKeys("k1", "k2", "k9").keys
    let named = Dictionary(uniqueKeysWithValues: names.map { (KeyID($0), keys[KeyID($0)] ?? Secret("")) })
    return Registry(
      store: store, mint: TokenMint(try MasterKeys(current: KeyID(names[0]), keys: named, retired: retired)))
  }

  /// Stores an authenticator app, sealed with the registry's current key.
  private func addApp(of account: String, _ registry: Registry) async throws {
    let id = AccountID(account)
    let record = AccountRecord(id: id, email: nil, username: "", passwordHash: nil, createdAt: start)
    let app = try registry.creating(MovingTOTP(TOTPSecret(bytes: 0..<20)), of: id, now: start)
    try await store.write([.createAccount(record), app], events: [])
  }

  private func secret(of account: String, _ registry: Registry) async throws -> TOTPSecret? {
    try await registry.movingTOTP(of: AccountID(account))?.secret
  }

  /// Stores a former token with a successor and a queued end, both sealed with the registry's current key.
  private func addFormer(_ registry: Registry) async throws -> FormerToken {
    let known = FormerToken(try #require(FormerToken.id(of: Secret("former"))))
    var record = known.record
    record.successor = try registry.mint.seal(Secret("next"), for: .formerToken, boundTo: known.context)
    let stored = try #require(try await registry.store(record, of: known, now: start))
    let context = FormerEnd.context(of: known)
    let end = FormerEnd(
      refresh: try registry.mint.seal(Secret("refresh"), for: .formerToken, boundTo: context),
      access: try registry.mint.seal(Secret("access"), for: .formerToken, boundTo: context))
    try await store.write([end.change(for: known, now: start)], events: [])
    return stored
  }

  @Test func `is needed by everything that it has made, and by nothing once that was made anew`() async throws {
    let old = try registry("k1")
    try await old.noteKeyUse(now: start)
    try await addApp(of: "ada", old)
    let former = try await addFormer(old)
    let hook = Webhook.Settings(name: "crm", url: "https://crm.example.org/hook", events: [])
    let token = Webhook.Settings(name: "set", url: "https://set.example.org/hook", events: [], format: .set)
    for settings in [hook, token] { #expect(try await old.addWebhook(settings, now: start) != nil) }
    let new = try registry("k2", "k1")
    func items(now: UnixTime = start) async throws -> [StoredItem.Kind: Int]? {
      try await new.keyDependents(now: now)[KeyID("k1")]?.items
    }
    #expect(try await items() == [.totp: 1, .formerToken: 1, .formerEnd: 1, .webhook: 1])
    try await new.resealAll(now: start)
    #expect(try await items() == [.webhook: 1], "its secret is its receiver's as well")
    _ = try await new.renewSecret(ofWebhook: "crm", now: start)
    #expect(try await items(now: after(.seconds(86_399))) == [.webhook: 1], "messages have both signatures for a day")
    let dependents = try await new.keyDependents(now: after(.seconds(86_400)))
    #expect(dependents[KeyID("k1")]?.isEmpty == true && dependents[KeyID("k2")]?.items.count == 4)
    // Everything opens without the former key.
    let alone = try registry("k2", retired: [KeyID("k1")])
    #expect(try await secret(of: "ada", alone) == TOTPSecret(bytes: 0..<20))
    let stored = try await alone.formerToken(former.id)
    let successor = try #require(stored.record.successor)
    #expect(try alone.mint.secret(successor, for: .formerToken, boundTo: stored.context) == Secret("next"))
    let due = try #require(try await alone.dueJobs(FormerEnd.self, at: start, limit: 9).first)
    let job = try #require(try await alone.claim(due, as: FormerEnd.self, until: start, now: start))
    for (sealed, plain) in [(job.job.refresh, "refresh"), (job.job.access ?? "", "access")] {
      #expect(try alone.mint.secret(sealed, for: .formerToken, boundTo: job.context) == Secret(plain))
    }
  }

  @Test func `is needed by sessions that began, or were refreshed, before its last note`() async throws {
    let world = try await World(keys: try masterKeys("k1"), store: store)
    try await world.registry.noteKeyUse(now: start)
    _ = try await world.signIn(now: after(.seconds(120)))
    _ = try await world.signIn("laptop", now: after(.seconds(121)))
    let both = try masterKeys("k1", "k2", current: "k2")
    let dependents = try await Registry(store: store, mint: TokenMint(both)).keyDependents(now: after(.seconds(999)))
    #expect(dependents[KeyID("k1")].map { [$0.refreshTokens, $0.handles] } == [1, 1])
    #expect(dependents[KeyID("k2")].map { [$0.refreshTokens, $0.handles] } == [2, 2], "the current one")
  }

  @Test func `that is missing keeps no other secret from being sealed anew`() async throws {
    try await addApp(of: "eve", try registry("k9"))
    try await addApp(of: "ada", try registry("k1"))
    let new = try registry("k2", "k1")
    let (count, failures) = try await new.resealDue(now: week, limit: 9)
    #expect(count == 2 && failures == [.unknownKey(KeyID("k9"))])
    #expect(try await secret(of: "ada", try registry("k2")) != nil)
    // Those that cannot be opened are not the first ones again.
    #expect(try await new.resealDue(now: week, limit: 1).count == 0)
    #expect(try await new.resealDue(now: week.advanced(by: .seconds(3600)), limit: 9).failures.count == 1)
    // With the key back, nothing is lost.
    let whole = try registry("k2", "k9")
    let later = week.advanced(by: .seconds(7200))
    #expect(try await whole.resealDue(now: later, limit: 9).failures.isEmpty)
    #expect(try await secret(of: "eve", try registry("k2")) != nil)
  }

  @Test func `that servers have used is missed by a server that has neither the key nor its end`() async throws {
    try await registry("k9").noteKeyUse(now: start)
    try await addApp(of: "eve", try registry("k9"))
    let new = try registry("k2")
    #expect(try await new.missingKeys() == [KeyID("k9")])
    #expect(try await new.lostKeys(now: start)[KeyID("k9")]?.words == "it has made 1 authenticator app(s)")
    #expect(try await registry("k2", "k9").missingKeys().isEmpty)
    let retired = try registry("k2", retired: [KeyID("k9")])
    #expect(try await retired.missingKeys().isEmpty)
    #expect(try await retired.lostKeys(now: start)[KeyID("k9")] != nil, "no restored backup brings the app back")
  }
}
