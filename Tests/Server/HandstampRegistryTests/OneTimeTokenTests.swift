import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A one-time token` {
  private let device = DeviceInfo(id: DeviceID("d"), name: "d", platform: "linux")

  @Test func `is a 256-bit secret stored only as a hash`() async throws {
    let world = try await World()
    let token = try await world.registry.issueResetCode(of: world.ada, now: start)
    #expect(token.secret.count == 5 + 43)
    #expect(OneTimeToken(presented: token.secret) == token)
    #expect(OneTimeToken(presented: Secret("hst1.x")) == nil)
    #expect(OneTimeToken(presented: Secret("hsl1." + String(repeating: "A", count: 60))) == nil)
    let (text, issuer) = (token.secret.withExposed { $0 }, "https://id.example.org")
    for typed in [
      text, " \(text)\r\n", "\u{200B}\(text).", "\(text.prefix(20))=\n\(text.dropFirst(20))",
      "https://id.example.org/reset-password?token=" + text, "<https://id.example.org/x?a=b&token=\(text)#c>\n",
    ] {
      #expect(OneTimeToken(typed: Secret(typed), at: issuer) == token, "\(typed)")
    }
    let elsewhere = "https://id.example.net/reset-password?token=" + text
    for typed in ["", " \n", ".", "\u{200B}", elsewhere, "token " + text, String(repeating: "x", count: 9999)] {
      #expect(OneTimeToken(typed: Secret(typed), at: issuer) == nil, "\(typed)")
    }
    // In the link of the operator's own page or app.
    for (template, typed) in [
      ("https://app.example.org/{action}#{token}", "https://app.example.org/reset#\(text)."),
      ("app://open/?do={action}&code={token}&x=y", "<app://open/?do=confirm&code=\(text)&x=y>"),
      ("app://open/{token}/{action}", "app://open/\(text)/reset"),
    ] {
      let pasted = OneTimeToken(typed: Secret(typed), at: issuer, template: template)
      #expect(pasted == token, "\(typed)")
      let own = OneTimeToken(typed: Secret("\(issuer)/recover?token=\(text)"), at: issuer, template: template)
      #expect(own == token)
      #expect(OneTimeToken(typed: Secret(elsewhere), at: issuer, template: template) == nil)
    }
    let ids = OneTimeTokenRecord.Purpose.allCases.map { OneTimeTokenID(of: token.secret, purpose: $0) }
    #expect(Set(ids).count == ids.count)
  }

  @Test func `can be used once, even concurrently`() async throws {
    let world = try await World()
    let token = try await world.registry.issueResetCode(of: world.ada, now: start)
    let results = await withTaskGroup(of: String.self) { group in
      for number in 0..<16 {
        group.addTask {
          do throws(RegistryError) {
            _ = try await world.registry.resetPassword(with: token, hash: Secret("hash \(number)"), now: start)
            return "done"
          } catch {
            return "\(error)"
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(results.count { $0 == "done" } == 1)
    #expect(results.count { $0 == "oneTimeTokenInvalid" } == 15)
    let events = try await world.events()
    #expect(events.count { $0.kind == .credentialChange } == 1)
  }

  @Test func `is not issued for an account without an address, and not valid once its account is closed`() async throws
  {
    let world = try await World()
    let guest = try await world.registry.openAccount(email: nil, username: "", passwordHash: nil, now: start)
    await #expect(throws: RegistryError.notFound) { try await world.registry.issueResetCode(of: guest, now: start) }
    let ada = try #require(world.ada.email)
    let token = try await world.registry.issueResetCode(of: world.ada, now: start)
    _ = try await world.registry.closeAccount(world.ada, now: start)
    #expect(try await world.registry.mailedToken(.reset(ada), now: start) == nil)
    let closed = try #require(try await world.registry.account(world.ada.id))
    await #expect(throws: RegistryError.accountClosed) {
      try await world.registry.issueResetCode(of: closed, now: start)
    }
    await #expect(throws: RegistryError.oneTimeTokenInvalid) {
      try await world.registry.resetPassword(with: token, hash: Secret("x"), now: start)
    }
  }

  @Test func `stays valid if its use could not be written`() async throws {
    let store = FailingStore()
    let world = try await World(store: store)
    let email = try #require(EmailAddress("new@example.org"))
    let token = try #require(try await world.registry.mailedToken(.confirmation(email, username: "N"), now: start))
    store.fail(.unavailable("disk"))
    await #expect(throws: RegistryError.unavailable("disk")) {
      try await world.registry.completeSignUp(
        token, passwordHash: Secret("h"), SessionStart(device: device), now: start)
    }
    store.fail(nil)
    let new = try await world.registry.completeSignUp(
      token, passwordHash: Secret("h"), SessionStart(device: device), now: start)
    #expect(new.account.email == email)
    #expect(try await world.registry.account(email: email) == new.account)
    await #expect(throws: RegistryError.oneTimeTokenInvalid) {
      try await world.registry.completeSignUp(
        token, passwordHash: Secret("h"), SessionStart(device: device), now: start)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An external identity` {
  private let identity = ExternalIdentity(issuer: "https://a.example", subject: "1")

  private func nonce(_ text: String) -> OneTimeTokenRecord {
    OneTimeTokenRecord(
      id: OneTimeTokenID(of: Secret(text), purpose: .nonce), purpose: .nonce, subject: "", createdAt: start,
      expiresAt: after(.seconds(600)))
  }

  @Test func `creates one account, and its nonce counts once`() async throws {
    let world = try await World()
    func signIn(_ text: String, device: String) async throws -> NewSession {
      try await world.registry.signIn(
        as: identity, username: "Zoë", SessionStart(device: DeviceInfo(id: DeviceID(device), name: "d", platform: "")),
        nonce: nonce(text), now: start)
    }
    let sessions = try await withThrowingTaskGroup(of: NewSession.self) { group in
      for number in 0..<8 { group.addTask { try await signIn("n\(number)", device: "d\(number)") } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(sessions.map(\.account.id)).count == 1)
    #expect(Set(sessions.map(\.row.id)).count == 8)
    await #expect(throws: RegistryError.nonceUsed) { try await signIn("n3", device: "other") }
    let account = try #require(sessions.first?.account)
    #expect(!account.isGuest)
    let before = try await world.store.lastEventID()
    let again = try await signIn("n9", device: "d1")
    #expect(try await world.events(after: before).map(\.kind) == [.sessionEstablished])
    let outcome = try await world.registry.recordFirstUse(of: again.row, now: start)
    #expect(outcome.map(\.device.id) == [DeviceID("d1")])
    _ = try await world.registry.deleteAccount(
      try #require(try await world.registry.account(account.id)), now: start)
    #expect(try await signIn("n10", device: "d1").account.id != account.id)
  }

  @Test(arguments: ["", "1:", "9:abc", "-1:abc", "x:abc", "abc", "99999999999999999999:a"])
  func `is not parsed from a malformed key`(_ key: String) {
    let identity = ExternalIdentity(key: key)
    #expect(identity == nil || identity?.key == key)
    if key != "1:" { #expect(identity == nil) }
    #expect(ExternalIdentity(key: self.identity.key) == self.identity)
  }
}
