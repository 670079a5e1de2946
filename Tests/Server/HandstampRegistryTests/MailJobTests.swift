import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

/// A memory store that counts its operations.
private final class CountingStore: StoreDecorator {
  let base = MemoryRegistryStore()
  private let operations = Locked<[String]>([])

  func willRead() { operations.withLock { $0.append("read") } }
  func willWrite() { operations.withLock { $0.append("write") } }

  /// Returns the operations since the last call.
  func taken() -> [String] {
    operations.withLock { operations in
      defer { operations = [] }
      return operations
    }
  }
}

extension Registry {
  /// Asks for a mail, and returns the token in the letter that the server writes; `nil` if it writes none.
  func mailedToken(_ job: MailJob, now: UnixTime) async throws -> OneTimeToken? {
    try await post(job, to: try #require(job.email), delay: .zero, now: now)
    let item = try #require(try await dueJobs(MailJob.self, at: now, limit: 1).first)
    let lease = now.advanced(by: .seconds(120))
    let claimed = try #require(try await claim(item, as: MailJob.self, until: lease, now: now))
    let (mail, letter) = try #require(try await write(claimed, leasedUntil: lease, now: now))
    try await finish(mail, interval: .zero, now: now)
    return switch letter?.content {
    case .reset(let token), .confirmation(let token): token
    default: nil
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A mail to be sent` {
  private func email(_ text: String) throws -> EmailAddress { try #require(EmailAddress(text)) }

  private func post(
    _ job: MailJob, _ registry: Registry, delay: Duration = .zero, now: UnixTime = start
  ) async throws {
    try await registry.post(job, to: try #require(job.email), delay: delay, now: now)
  }

  private func claim(_ registry: Registry, now: UnixTime = start) async throws -> ClaimedMail? {
    guard let item = try await registry.dueJobs(MailJob.self, at: now, limit: 1).first else { return nil }
    return try await registry.claim(item, as: MailJob.self, until: now.advanced(by: .seconds(120)), now: now)
  }

  @Test func `exists for each notice to an account`() {
    let notices = MailJob.Kind.allCases.compactMap(\.notice)
    #expect(notices.count == AccountNotice.allCases.count)
    #expect(Set(notices) == Set(AccountNotice.allCases))
  }

  @Test(arguments: [MailJob.Kind.reset, .signUp, .upgrade])
  func `costs the same operations for every address, known or not, when asked for and when sent`(
    kind: MailJob.Kind
  ) async throws {
    let store = CountingStore()
    let world = try await World(store: store)
    let guest = try await world.registry.openAccount(email: nil, username: "", passwordHash: nil, now: start)
    var courses: [[String]] = []
    for address in ["ada@example.org", "eve@example.org"] {
      _ = store.taken()
      let job =
        kind == .reset
        ? MailJob.reset(try email(address))
        : .confirmation(try email(address), username: "A", guest: kind == .upgrade ? guest.id : nil)
      for _ in 0..<2 { try await post(job, world.registry) }
      let claimed = try #require(try await claim(world.registry))
      let (mail, letter) = try #require(
        try await world.registry.write(claimed, leasedUntil: after(.seconds(9)), now: start))
      try await world.registry.finish(mail, interval: .seconds(60), now: start)
      try await post(job, world.registry)
      courses.append(store.taken())
      if kind == .reset { #expect((letter != nil) == (address == "ada@example.org")) }
    }
    #expect(courses[0] == courses[1])
    #expect(courses[0].filter { $0 == "write" }.count == 6)
  }

  @Test func `is one at a time for an address and kind, and again after the interval`() async throws {
    let world = try await World()
    let registry = world.registry
    let address = try email("Eve@example.org")
    func due(_ now: UnixTime) async throws -> Int { try await registry.dueJobs(MailJob.self, at: now, limit: 9).count }
    for _ in 0..<3 { try await post(.reset(address), registry, delay: .seconds(1)) }
    try await post(.reset(try email("EVE@example.org")), registry)
    try await post(.confirmation(address, username: "E"), registry, delay: .seconds(1))
    #expect(try await due(after(.milliseconds(999))) == 0)
    #expect(try await due(after(.seconds(1))) == 2)
    while let mail = try await claim(registry, now: after(.seconds(1))) {
      try await registry.finish(mail, interval: .seconds(60), now: after(.seconds(1)))
    }
    for (time, count) in [(Duration.milliseconds(59_999), 0), (.seconds(60), 1)] {
      try await post(.reset(address), registry, now: after(time))
      #expect(try await due(after(time)) == count)
    }
  }

  @Test func `keeps neither address nor name once it is sent`() async throws {
    let world = try await World()
    let guest = try await world.registry.openAccount(email: nil, username: "", passwordHash: nil, now: start)
    let job = MailJob.confirmation(try email("Eve@example.org"), username: "Zoë & = %", guest: guest.id)
    try await post(job, world.registry)
    let claimed = try #require(try await claim(world.registry))
    #expect(claimed.job.email == job.email && claimed.job.name == job.name && claimed.job.account == guest.id)
    #expect(claimed.job.tries.attempts == 1)
    try await world.registry.finish(claimed, interval: .seconds(60), now: start)
    let item = try #require(try await world.store.item(claimed.item.id))
    #expect(item.payload == "" && item.subject == "" && item.dueAt == nil && item.expiresAt == after(.seconds(60)))
  }

  @Test func `belongs to one worker until the lease passes, and then to the next`() async throws {
    let world = try await World()
    let registry = world.registry
    try await post(.reset(try email("ada@example.org")), registry)
    let item = try #require(try await registry.dueJobs(MailJob.self, at: start, limit: 9).first)
    let lease = after(.seconds(120))
    let claims = try await withThrowingTaskGroup(of: ClaimedMail?.self) { group in
      for _ in 0..<8 { group.addTask { try await registry.claim(item, as: MailJob.self, until: lease, now: start) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(claims.count { $0 != nil } == 1)
    let first = try #require(claims.compactMap { $0 }.first)
    #expect(try await claim(registry, now: after(.milliseconds(119_999))) == nil)
    // Asking again changes nothing about the claim.
    try await post(.reset(try email("ada@example.org")), registry)
    let (renewed, letter) = try #require(try await registry.write(first, leasedUntil: after(.seconds(200)), now: start))
    #expect(letter?.to.typed == "Ada@example.org")
    #expect(try await claim(registry, now: after(.milliseconds(199_999))) == nil)
    let second = try #require(try await claim(registry, now: after(.seconds(200))))
    #expect(second.job.tries.attempts == 2)
    #expect(try await registry.write(renewed, leasedUntil: lease, now: start) == nil)
    try await registry.finish(renewed, interval: .seconds(600), now: start)
    try await registry.postpone(renewed, until: start)
    #expect(try await registry.write(second, leasedUntil: lease, now: after(.seconds(200))) != nil)
  }

  @Test func `is left alone if a newer version wrote it`() async throws {
    let world = try await World()
    let item = StoredItem(
      id: StoredItemID(.mail, "new"), kind: .mail, payload: "kind=birthday&email=ada%40example.org&attempts=0",
      createdAt: start, dueAt: start, expiresAt: after(.seconds(86_400)))
    try await world.store.write([.createItem(item)], events: [])
    #expect(try await claim(world.registry) == nil)
    let left = try await world.store.item(item.id)
    #expect(left?.payload == item.payload && left?.dueAt == after(.seconds(3600)))
  }

  @Test func `is in the language of the account that it is about, whoever asked for it`() async throws {
    let world = try await World()
    var registry = world.registry
    registry.notices = [.emailChange]
    func reading(_ locale: String, _ account: AccountRecord) async throws -> AccountRecord {
      var changed = account
      changed.locale = LanguageTag(rawValue: locale)
      return try await world.registry.update(changed)
    }
    /// The language of the next mail, and the token of one that changes an address.
    func written() async throws -> (language: String?, token: OneTimeToken?) {
      let mail = try #require(try await claim(world.registry))
      let (sent, letter) = try #require(
        try await world.registry.write(mail, leasedUntil: after(.seconds(9)), now: start))
      try await world.registry.finish(sent, interval: .seconds(60), now: start)
      guard case .emailChange(let token) = letter?.content else { return (letter?.language, nil) }
      return (letter?.language, token)
    }
    let ada = try await reading("de", world.ada)
    let guest = try await reading(
      "fr", try await registry.openAccount(email: nil, username: "", passwordHash: nil, now: start))
    let (known, new) = (try email("ada@example.org"), try email("eve@example.org"))
    for (job, language) in [
      (.reset(known), "de, en;q=0.5"), (.ownerProof(known, isRecovery: false), "de, en;q=0.5"),
      (.ownerProof(known, isRecovery: true), "de, en;q=0.5"), (.confirmation(known, username: "A"), "de, en;q=0.5"),
      (.confirmation(known, username: "A", guest: guest.id), "de, en;q=0.5"),
      (MailJob(kind: .emailChange, email: known, account: guest.id), "de, en;q=0.5"),
      (.confirmation(new, username: "E", guest: guest.id), "fr, en;q=0.5"), (.confirmation(new, username: "E"), "en"),
      (MailJob(kind: .test, email: known), "en"),
    ] as [(MailJob, String)] {
      var asked = job
      asked.language = "en"
      try await post(asked, registry)
      #expect(try await written().language == language, "\(job.kind), \(language)")
    }
    let browser = try await registry.beginBrowserSession(by: .password(of: ada), on: .browser("b"), now: start)
    try await registry.beginEmailChange(of: ada, to: new, now: start)
    let both = [try await written(), try await written()]
    #expect(both.allSatisfy { $0.language == "de" })
    let token = try #require(both.compactMap(\.token).first)
    let user = try #require(try await registry.browserSession(browser.cookie, now: start))
    _ = try await registry.completeEmailChange(with: token, by: user, now: start)
    // To the former address, which another account may have by now.
    _ = try await reading(
      "it", try await registry.openAccount(email: known, username: "", passwordHash: nil, now: start))
    #expect(try await written().language == "de")
  }

  @Test func `has no letter for an account of another provider, a closed one, or a guest whose account is gone`()
    async throws
  {
    let world = try await World()
    let registry = world.registry
    let guest = try await registry.openAccount(email: nil, username: "", passwordHash: nil, now: start)
    let bob = AccountRecord(
      id: AccountID("bob"), email: try email("bob@example.org"),
      identity: ExternalIdentity(issuer: "https://elsewhere.example", subject: "bob"), username: "Bob",
      passwordHash: nil, createdAt: start)
    try await world.store.write([.createAccount(bob)], events: [])
    _ = try await registry.closeAccount(world.ada, now: start)
    _ = try await registry.deleteAccount(guest, now: start)
    let jobs = [
      MailJob.reset(try email("ada@example.org")), .reset(try email("bob@example.org")),
      .confirmation(try email("eve@example.org"), username: "Eve", guest: guest.id),
    ]
    for job in jobs {
      try await post(job, registry)
      let mail = try #require(try await claim(registry))
      let written = try #require(try await registry.write(mail, leasedUntil: after(.seconds(9)), now: start))
      #expect(written.letter == nil)
      try await registry.finish(written.mail, interval: .seconds(60), now: start)
    }
  }
}
