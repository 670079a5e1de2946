import HandstampCore
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A linked identity` {
  private let identity = ExternalIdentity(issuer: "https://a.example", subject: "1")
  private let device = DeviceInfo(id: DeviceID("d"), name: "d", platform: "")

  private func proof(_ subject: String = "1", _ change: (inout IdentityProof) -> Void = { _ in }) -> IdentityProof {
    var proof = IdentityProof(
      ExternalIdentity(issuer: "https://a.example", subject: subject), provider: "a", label: "ada@a.example")
    change(&proof)
    return proof
  }

  private func account(_ registry: Registry, _ email: String) async throws -> NewSession {
    try await registry.signUp(
      email: EmailAddress(email), username: "Ada", passwordHash: Secret("hash"), SessionStart(device: device),
      now: start)
  }

  @Test func `belongs to one account, whichever of two is faster`() async throws {
    let world = try await World()
    let ada = try await account(world.registry, "zoe@example.org")
    let bob = try await account(world.registry, "bob@example.org")
    let changes = try await withThrowingTaskGroup(of: IdentityChange.self) { group in
      for new in [ada, bob, ada, bob] {
        group.addTask {
          try await world.registry.link(self.proof(), to: new.account.id, in: new.row.id, now: start)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(changes.count { if case .done = $0 { true } else { false } } == 2)
    #expect(changes.count { $0 == .taken } == 2)
    let owner = try #require(try await world.registry.account(identity: identity))
    #expect(try await world.registry.identities(of: owner).map(\.identity) == [identity])
  }

  @Test func `is not linked by a session that has ended, nor without bound`() async throws {
    let world = try await World()
    let ada = try await account(world.registry, "zoe@example.org")
    for number in 0..<LinkedIdentity.most {
      guard
        case .done = try await world.registry.link(proof("\(number)"), to: ada.account.id, in: ada.row.id, now: start)
      else {
        Issue.record("\(number)")
        return
      }
    }
    #expect(
      try await world.registry.link(proof("x"), to: ada.account.id, in: ada.row.id, now: start) == .tooMany)
    let bob = try await account(world.registry, "bob@example.org")
    _ = try await world.registry.end(bob.row.id, of: bob.account.id, now: start)
    await #expect(throws: RegistryError.accountChanged) {
      try await world.registry.link(proof("y"), to: bob.account.id, in: bob.row.id, now: start)
    }
  }

  @Test func `and the password cannot both go, when they are removed at once`() async throws {
    let world = try await World()
    let registry = world.registry
    let use = registry.credentialUse(
      opening: proof(), email: EmailAddress("zoe@example.org"), username: "A", now: start)
    let new = try await registry.createSession(by: use, SessionStart(device: device), now: start)
    let link = try #require(try await registry.identities(of: new.account).first)
    // Its address counts only with a mailer.
    #expect(
      try await registry.unlink(link.id, of: new.account.id, orMailed: false, in: new.row.id, now: start) == .isLast)
    let gone = try await registry.unlink(link.id, of: new.account.id, orMailed: true, in: new.row.id, now: start)
    #expect(gone == .done(link))
    #expect(
      try await registry.unlink(link.id, of: new.account.id, orMailed: true, in: new.row.id, now: start) == .unknown)
  }

  @Test func `pins the end of the session that begins by it, and when the user had signed in`() async throws {
    let world = try await World()
    let registry = world.registry
    let proof = proof("1") {
      $0.authenticatedAt = start.advanced(by: .seconds(-300))
      $0.latestExpiry = after(.seconds(600))
    }
    let use = registry.credentialUse(opening: proof, email: nil, username: "A", now: start)
    let new = try await registry.beginBrowserSession(by: use, on: device, now: start)
    #expect(new.row.absoluteExpiry == after(.seconds(600)))
    #expect(new.row.authenticatedAt == start.advanced(by: .seconds(-300)))
    #expect(!new.account.isGuest && new.account.identity == identity)
    // A proof can bring the end nearer, never further away.
    let known = try #require(try await registry.account(identity: identity))
    let later = try #require(
      try await registry.credentialUse(
        by: self.proof("1") { $0.latestExpiry = after(.seconds(900)) }, of: known, now: start))
    let again = try await registry.reauthenticate(new, by: later, now: start)
    #expect(again.row.absoluteExpiry == after(.seconds(600)))
  }

  @Test(arguments: [TakeBack.pending, .waysIn, .everything])
  func `that the record has as well is gone after a reset, unless its owner keeps it`(extent: TakeBack) async throws {
    let world = try await World()
    let record = AccountRecord(
      id: AccountID("acc_1"), email: EmailAddress("zoe@example.org"), identity: identity, username: "Z",
      passwordHash: Secret("$old"), createdAt: start)
    let link = LinkedIdentity(identity, of: record.id, at: start)
    try await world.store.write([.createAccount(record), .createItem(link.item)], events: [])
    let reset = try await world.registry.issueResetCode(of: record, now: start)
    _ = try await world.registry.resetPassword(with: reset, hash: Secret("$new"), takingBack: extent, now: start)
    #expect((try await world.registry.account(identity: identity) != nil) == (extent == .pending))
    #expect(try await world.registry.identities(of: record).isEmpty == (extent != .pending))
  }

  @Test func `counts as used from the sign-in that made it, and at each one`() async throws {
    let registry = try await World().registry
    for (number, time) in [start, after(.seconds(5))].enumerated() {
      let nonce = OneTimeTokenRecord(usedNonce: "\(number)", at: time, until: after(.seconds(99)))
      let new = try await registry.signIn(
        as: identity, username: "A", SessionStart(device: device), nonce: nonce, now: time)
      #expect(try await registry.identities(of: new.account).map(\.lastUsedAt) == [time])
    }
  }
}
