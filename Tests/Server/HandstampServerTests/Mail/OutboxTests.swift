#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Logging
import Testing

@testable import HandstampServer

extension TestServer {
  /// Requests mails for these addresses. None has to wait for a mail.
  func requestResets(_ emails: String...) async throws {
    for email in emails { #expect(try await requestReset(email).status == 202) }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The outbox` {
  @Test func `answers every request while a mail hangs`() async throws {
    let gate = Gate()
    let post = Post(behind: gate)
    try await TestServer.run(mailer: post, { $0.mail.atOnce = 1 }) { test in
      let session = try await test.signUp()
      try await test.requestResets("ada@example.org")
      await gate.arrivals(1)
      for number in 0..<20 { try await test.requestResets("a\(number)@example.org", "ada@example.org") }
      #expect(try await test.refresh(session.refresh, key: .fresh).status == 200)
      gate.open()
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.count == 1)
    }
  }

  @Test func `sends several mails at once, and no more than it may`() async throws {
    let gate = Gate()
    let post = Post(behind: gate)
    try await TestServer.run(mailer: post, { $0.mail.atOnce = 3 }) { test in
      for name in ["a", "b", "c", "d"] { _ = try await test.signUp("\(name)@example.org", device: name) }
      try await test.requestResets("a@example.org", "b@example.org", "c@example.org", "d@example.org")
      await gate.arrivals(3)
      let now = test.clock.now
      let waiting = try await test.server.registry.dueJobs(MailJob.self, at: now, limit: 9)
      #expect(waiting.count == 1)
      gate.open()
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.count == 4)
    }
  }

  @Test func `tries a mail again after a while, with a new code`() async throws {
    let post = Post(failing: [.refused(status: 75), .timedOut])
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      try await test.requestResets("ada@example.org")
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsFailed == 1)
      test.clock.advance(by: .milliseconds(14_999))
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsFailed == 1)
      test.clock.advance(by: .milliseconds(15_001))
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsFailed == 2)
      test.clock.advance(by: .seconds(29))
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.isEmpty)
      test.clock.advance(by: .seconds(31))
      let code = try #require(try await post.next(after: test).code)
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsSent == 1 && test.metrics.mailsAbandoned == 0)
      #expect(try await test.confirmReset(code).status == 204)
    }
  }

  @Test func `gives a mail up after a day, or at once if it can never be sent`() async throws {
    let post = Post(failing: [.refused(status: 67)] + Array(repeating: .unavailable("no network"), count: 100))
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      try await test.requestResets("ada@example.org")
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsFailed == 1 && test.metrics.mailsAbandoned == 1)
      test.clock.advance(by: .seconds(60))
      try await test.requestResets("ada@example.org")
      for hour in 0..<25 {
        await test.server.lasting.outbox.bell.waitUntilIdle()
        #expect((test.metrics.mailsAbandoned == 2) == (hour == 24), "hour \(hour)")
        test.clock.advance(by: .seconds(3600))
      }
      let failed = test.metrics.mailsFailed
      #expect(failed > 20)
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(test.metrics.mailsFailed == failed && post.all.isEmpty)
    }
  }

  @Test func `logs a failure with its cause and without the address`() async throws {
    try await TestServer.run(mailer: Post(failing: [.unavailable("no network"), .refused(status: 67)])) { test in
      _ = try await test.signUp()
      try await test.requestResets("ada@example.org")
      await test.server.lasting.outbox.bell.waitUntilIdle()
      test.clock.advance(by: .seconds(30))
      await test.server.lasting.outbox.bell.waitUntilIdle()
      let entries = test.logs.entries.filter { $0.message.hasPrefix("Mail ") }
      #expect(entries.map(\.level) == [.warning, .error])
      #expect(entries.map { $0.metadata["handstamp.cause"] } == ["unavailable(\"no network\")", "refused(status: 67)"])
      for entry in entries {
        #expect(entry.metadata["handstamp.mail"] == "reset")
        #expect(entry.metadata["handstamp.email_hash"] == test.mint.mac(of: "ada@example.org", for: .logName))
      }
      #expect(!test.logs.text.contains("ada@") && !test.logs.text.contains("hsl1."))
    }
  }

  @Test func `keeps mails for the next start, and the interval as well`() async throws {
    let (gate, store, clock) = (Gate(), FaultyStore(), TestClock())
    let first = Post(behind: gate)
    try await TestServer.run(clock: clock, store: store, mailer: first, { $0.mail.atOnce = 1 }) { test in
      for name in ["ada", "bob"] { _ = try await test.signUp("\(name)@example.org", device: name) }
      try await test.requestResets("ada@example.org", "bob@example.org")
      await gate.arrivals(1)
      // What was begun is finished, and nothing else is begun.
      async let stopped: Void = test.running.stop()
      await test.server.lasting.outbox.stopping()
      gate.open()
      try await stopped
    }
    #expect(first.all.map(\.to) == ["ada@example.org"])
    let second = Post()
    try await TestServer.run(clock: clock, store: store, mailer: second) { test in
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(second.all.map(\.to) == ["bob@example.org"])
      try await test.requestResets("ada@example.org", "BOB@example.org")
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(second.all.count == 1)
      clock.advance(by: .seconds(60))
      try await test.requestResets("ada@example.org")
      #expect(try await second.next(after: test).to == "bob@example.org")
      #expect(try await second.next(after: test).to == "ada@example.org")
    }
  }

  @Test func `leaves a mail to another server while that has claimed it, and takes over when that is gone`()
    async throws
  {
    let (store, clock) = (FaultyStore(), TestClock())
    let post = Post()
    try await TestServer.run(clock: clock, store: store, mailer: post) { test in
      _ = try await test.signUp()
      let email = try #require(EmailAddress("ada@example.org"))
      let registry = test.server.registry
      // A server that is killed between its claim and the mail.
      try await registry.post(.reset(email), to: email, delay: .zero, now: clock.now)
      let item = try #require(try await registry.dueJobs(MailJob.self, at: clock.now, limit: 9).first)
      let lease = clock.now.advanced(by: .seconds(120))
      let lost = try #require(try await registry.claim(item, as: MailJob.self, until: lease, now: clock.now))
      clock.advance(by: .milliseconds(119_999))
      await test.server.lasting.outbox.bell.waitUntilIdle()
      #expect(post.all.isEmpty)
      clock.advance(by: .milliseconds(1))
      _ = try await post.next(after: test)
      #expect(try await registry.write(lost, leasedUntil: clock.now, now: clock.now)?.letter == nil)
    }
  }

  @Test func `sends each mail once, with two servers on one store`() async throws {
    let (store, clock, post) = (FaultyStore(), TestClock(), Post())
    func run(_ body: (TestServer) async throws -> Void) async throws {
      try await TestServer.run(clock: clock, store: store, mailer: post, { $0.signUp = .confirmed }, body: body)
    }
    try await run { one in
      try await run { other in
        for number in 0..<60 {
          let server = number.isMultiple(of: 2) ? one : other
          _ = try await server.client.post("/v1/sign-up", json: TestServer.signUpBody("a\(number)@example.org"))
          if number.isMultiple(of: 7) { other.server.lasting.outbox.bell.signal(.look) }
        }
        await one.server.lasting.outbox.bell.waitUntilIdle()
        await other.server.lasting.outbox.bell.waitUntilIdle()
      }
      await one.server.lasting.outbox.bell.waitUntilIdle()
    }
    #expect(post.all.count == 60)
    #expect(Set(post.all.map(\.to)).count == 60)
  }

  @Test func `waits at random before it looks at a mail`() async throws {
    try await TestServer.run(mailer: Post(), { $0.mail.jitter = .seconds(1000) }) { test in
      for number in 0..<8 { try await test.requestResets("a\(number)@example.org") }
      let start = test.clock.now
      let items = try await test.server.registry.dueJobs(MailJob.self, at: start.advanced(by: .seconds(1000)), limit: 9)
      let delays = items.compactMap { $0.dueAt?.since(start) }
      #expect(Set(delays).count > 4 && delays.allSatisfy { $0 >= .zero && $0 < .seconds(1000) })
    }
  }

  @Test func `survives a store that fails for a while`() async throws {
    let post = Post()
    try await TestServer.run(mailer: post) { test in
      _ = try await test.signUp()
      test.store.fail(.all)
      let (known, unknown) = (
        try await test.requestReset("ada@example.org"), try await test.requestReset("eve@example.org")
      )
      #expect(known.status == 503 && unknown.status == 503 && known.body == unknown.body)
      await test.server.lasting.outbox.bell.waitUntilIdle()
      test.store.fail(.none)
      try await test.requestResets("ada@example.org")
      #expect(try await post.next(after: test).to == "ada@example.org")
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An administrator's mail` {
  @Test func `invites someone in their language, and its use confirms the address`() async throws {
    let post = Post()
    try await AdministeredServer.run(mailer: post) {
      ($0.signUp, $0.pages.name) = (.closed, "Example")
    } body: { admin, test in
      let body = #"{"email":"ada@example.org","invite":true,"language":"de"}"#
      let invited = try await admin.post("/accounts", json: body)
      #expect(invited.status == 201 && !invited.text.contains("hsl1."))
      #expect(try await admin.post("/accounts", json: body).code == "email_taken")
      let both = #"{"email":"eve@example.org","invite":true,"password":"\#(TestServer.password)"}"#
      #expect(try await admin.post("/accounts", json: both).status == 400)
      let letter = try await post.next(after: test)
      #expect(letter.subject == "Example: Willkommen, wählen Sie ein Passwort" && letter.text.hasPrefix("Example\n"))
      let (link, browser) = (try #require(letter.link), Browser(test.client.base))
      #expect(try await browser.get(link).title == "Choose a password")
      let email = try #require(EmailAddress("ada@example.org"))
      func confirmedAt() async throws -> UnixTime? {
        try await test.server.registry.account(email: email)?.emailConfirmedAt
      }
      #expect(try await confirmedAt() == nil)
      let fields = [("token", try #require(letter.code)), ("new_password", TestServer.password)]
      #expect(try await browser.fill(link, "reset", fields).title == "Your password is set")
      #expect(try await confirmedAt() != nil)
      let account = try await test.signIn().account
      let sessions = try await admin.get("/accounts/\(account)/sessions").json[list: "sessions"]
      #expect(sessions.map { $0["address"] } == ["127.0.0.1"])
    }
    try await AdministeredServer.run { admin, _ in
      let refused = try await admin.post("/accounts", json: #"{"email":"ada@example.org","invite":true}"#)
      #expect(refused.code == "not_offered", "there is no mailer")
    }
  }

  @Test(arguments: [nil, .refused(status: 75), .rejected(code: 550)] as [MailError?])
  func `shows whether mails arrive`(fault: MailError?) async throws {
    let post = Post(failing: fault.map { [$0] } ?? [])
    try await TestServer.run(mailer: post) { test in
      let administration = test.server.administration(by: .server())
      await #expect(throws: AdministrationError.invalidEmail) { try await administration.testMail(to: "ada", in: nil) }
      let id = try await administration.testMail(to: "ada@example.org", in: "de")
      #expect(try await administration.waitingTest(id)?.tries.failure == nil)
      await test.server.lasting.outbox.bell.waitUntilIdle()
      let waiting = try await administration.waitingTest(id)
      #expect((waiting == nil) == (fault == nil) && waiting?.tries.failure == fault.map { "\($0)" })
      #expect(post.all.map(\.subject) == (fault == nil ? ["id.example.org: Testmail"] : []))
    }
  }
}

extension Post {
  /// Has the server look at its mails, and returns the next one.
  func next(after test: TestServer) async throws -> Letter {
    test.server.lasting.outbox.bell.signal(.look)
    return try await next()
  }
}

extension Outbox {
  /// Returns when the server has begun to shut down.
  func stopping() async {
    await othersFirst { bell.isStopping }
  }
}
#endif
