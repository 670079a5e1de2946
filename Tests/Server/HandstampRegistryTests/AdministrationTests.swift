import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A disabled account` {
  @Test func `can be opened again, and then signs in as before`() async throws {
    let world = try await World()
    let phone = try await world.signIn()
    _ = try await world.registry.closeAccount(world.ada, now: start)
    let closed = try #require(try await world.registry.account(world.ada.id))
    #expect(closed.state == .disabled)
    let open = try await world.registry.reopenAccount(closed, now: after(.seconds(1)))
    #expect(open.state == .active && open.passwordHash == world.ada.passwordHash)
    #expect(try await world.registry.account(world.ada.id) == open)
    #expect(outline(try await world.refresh(world.token(of: phone), key: 1)) == "ended accountClosed")
    _ = try await world.signIn("phone", open)
    await #expect(throws: RegistryError.accountChanged) { try await world.registry.reopenAccount(closed, now: start) }
  }

  @Test func `keeps nothing that signs in once it is open again`() async throws {
    let world = try await World()
    let browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser("b"), now: start)
    let reset = try await world.registry.issueResetCode(of: world.ada, now: start)
    let grant = CodeGrant(
      client: "cli", clientName: "cli", redirectURI: "http://127.0.0.1/", challenge: String(repeating: "c", count: 43),
      scope: "")
    let user = try #require(try await world.registry.browserSession(browser.cookie, now: start))
    let code = try await world.registry.issueCode(grant, by: user, now: start)
    let device = try await world.registry.beginDevice(
      DeviceGrant(client: "tv", clientName: "tv", scope: ""), now: start)
    let shown = try #require(UserCode(typed: device.user.text))
    #expect(try await world.registry.answerDevice(showing: shown, by: user, allows: true, now: start))
    _ = try await world.registry.closeAccount(world.ada, now: start)
    let closed = try #require(try await world.registry.account(world.ada.id))
    _ = try await world.registry.reopenAccount(closed, now: start)
    #expect(try await world.registry.browserSession(browser.cookie, now: start) == nil)
    #expect(try await world.registry.account(forResetToken: reset, now: start) == nil)
    #expect(try await world.registry.oneTimeToken(OneTimeTokenID(of: code.secret, purpose: .authorizationCode)) == nil)
    #expect(try await world.registry.redeemDevice(device.device.secret, client: "tv", now: start) == .invalid)
  }

  @Test func `is opened once for an address, even concurrently`() async throws {
    let world = try await World()
    let email = try #require(EmailAddress("eve@example.org"))
    let outcomes = await withTaskGroup(of: RegistryError?.self) { group in
      for _ in 0..<40 {
        group.addTask {
          do throws(RegistryError) {
            _ = try await world.registry.openAccount(
              email: email, username: "Eve", codeLasting: .seconds(60), now: start)
            return nil
          } catch { return error }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.filter { $0 == nil }.count == 1)
    #expect(outcomes.allSatisfy { $0 == nil || $0 == .emailTaken }, "\(outcomes)")
  }

  @Test func `that was deleted stays closed`() async throws {
    let world = try await World()
    _ = try await world.registry.deleteAccount(world.ada, now: start)
    let husk = try #require(try await world.registry.account(world.ada.id))
    #expect(husk.state == .deleted)
    await #expect(throws: RegistryError.accountClosed) { try await world.registry.reopenAccount(husk, now: start) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An audited change` {
  @Test func `is stored with its change, or not at all`() async throws {
    let world = try await World()
    let registry = world.registry.acting(as: .administrator("eve", from: "192.0.2.1"))
    var stale = world.ada
    stale.revision = 7
    await #expect(throws: RegistryError.accountChanged) { try await registry.closeAccount(stale, now: start) }
    _ = try await registry.closeAccount(world.ada, now: start)
    let entries = try await registry.auditedActions(limit: 9).map(\.audited)
    #expect(entries.map(\.action) == ["account.created", "account.disabled"])
    #expect(entries.map(\.actor) == ["server", "admin:eve"])
    #expect(entries.last?.address == "192.0.2.1")
  }

  @Test func `is not logged if nothing changed`() async throws {
    let world = try await World()
    let phone = try await world.signIn()
    for _ in 0..<2 {
      _ = try await world.registry.endAll(of: world.ada.id, now: start)
      _ = try await world.registry.end(phone.row.id, of: world.ada.id, isAudited: true, now: start)
    }
    let entries = try await world.registry.auditedActions(limit: 9).map(\.audited.action)
    #expect(entries == ["account.created", "session.began", "sessions.ended"])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The use of a master key` {
  @Test func `is known from the last note of a server that made tokens with it`() async throws {
    let store = MemoryRegistryStore()
    let old = Registry(store: store, mint: TokenMint(try masterKeys("k1", "k2", current: "k1")))
    let new = Registry(store: store, mint: TokenMint(try masterKeys("k1", "k2", current: "k2")))
    #expect(try await old.lastUse(of: KeyID("k1")) == nil)
    try await old.noteKeyUse(now: start)
    try await old.noteKeyUse(now: after(.seconds(60)))
    try await new.noteKeyUse(now: after(.seconds(120)))
    #expect(try await new.lastUse(of: KeyID("k1")) == after(.seconds(60)))
    #expect(try await new.lastUse(of: KeyID("k2")) == after(.seconds(120)))
    let retention = Retention(eventsBefore: start, endedBefore: start, now: after(.seconds(3600 * 86_400)))
    #expect(await store.prune(retention, limit: 9) == 0, "it outlasts the sessions")
  }
}
