#if Programs
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Accounts of the app` {
  @Test func `sign up and sign in at the app's own table`() async throws {
    try await EmbeddedServer.run { app in
      let session = try await app.signUp()
      #expect(session.account == "user-1")
      let taken = try await app.client.post(
        "/auth/v1/sign-up", json: TestServer.signUpBody("ada@example.org"))
      #expect(taken.status == 409 && taken.code == "email_taken")

      await app.users.rename("ada@example.org", to: "Countess")
      let again = try await app.signIn()
      #expect(again.status == 200)
      #expect(again.json[object: "profile"]["id"] == "user-1")
      #expect(again.json[object: "profile"]["name"] == "Countess")
      #expect(again.json[object: "profile"]["is_anonymous"] == false)
      let token: String = try #require(again.json["access_token"])
      #expect(try await app.client.get("/auth/v1/sessions", token: token).json[list: "sessions"].count == 2)

      #expect(try await app.signIn(password: "wrong horse battery").code == "wrong_credentials")
      let stranger = try await app.client.post(
        "/auth/v1/sign-in", json: TestServer.signInBody("eve@example.org"))
      #expect(stranger.status == 401 && stranger.code == "wrong_credentials")
      // The work is the same without an account.
      #expect(await app.users.verified.count == 3)
      #expect(await app.users.verified.last == .some(nil))
    }
  }

  @Test func `lose their sessions when the app says that the password has changed`() async throws {
    try await EmbeddedServer.run { app in
      let phone = try await app.signUp()
      let laptop: String = try #require(try await app.signIn().json["access_token"])
      await app.users.setPassword("another horse", of: "ada@example.org")
      #expect(try await app.server.credentialsChanged(of: AccountID("user-1"), keeping: SessionID(phone.id)) == 1)
      #expect(try await app.client.get("/notes", token: phone.access).status == 200)
      #expect(try await app.client.get("/notes", token: laptop).code == "session_ended")
      #expect(try await app.signIn().code == "wrong_credentials")
      #expect(try await app.signIn(password: "another horse").status == 200)
      #expect(try await app.server.credentialsChanged(of: AccountID("unknown")) == 0)
    }
  }

  @Test(arguments: [false, true])
  func `refuse a sign-in whose password changed while it was checked`(isRenamed: Bool) async throws {
    try await EmbeddedServer.run { app in
      _ = try await app.signUp()
      if isRenamed { await app.users.rename("ada@example.org", to: "Countess") }
      let server = app.server
      await app.users.interrupt { _ = try? await server.credentialsChanged(of: AccountID("user-1")) }
      let answer = try await app.signIn()
      #expect(answer.status == 503)
      #expect(try await app.server.registry.sessions(of: AccountID("user-1"), now: .current).isEmpty)
    }
  }

  @Test func `refuse a first sign-in whose password changed while it was checked`() async throws {
    try await EmbeddedServer.run { app in
      let email = try #require(EmailAddress("ada@example.org"))
      _ = try await app.users.create(email: email, username: "Ada", password: Secret(TestServer.password))
      let (server, users) = (app.server, app.users)
      await users.interrupt {
        await users.setPassword("another horse", of: "ada@example.org")
        _ = try? await server.credentialsChanged(of: AccountID("user-1"))
      }
      #expect(try await app.signIn().code == "wrong_credentials")
      #expect(try await app.server.registry.sessions(of: AccountID("user-1"), now: .current).isEmpty)
    }
  }

  @Test func `that were deleted cannot come back`() async throws {
    try await EmbeddedServer.run { app in
      let session = try await app.signUp()
      #expect(try await app.server.accountDeleted(AccountID("user-1")) == 1)
      let ended = try await app.client.get("/notes", token: session.access)
      #expect(ended.code == "session_ended" && ended.json["reason"] == "account_closed")
      #expect(try await app.signIn().code == "wrong_credentials")
      #expect(try await app.server.accountDeleted(AccountID("unknown")) == 0)
    }
  }

  @Test func `can be disabled and enabled at the server, but are created and reset by the app`() async throws {
    try await EmbeddedServer.run { app in
      let session = try await app.signUp()
      let administration = app.server.administration(by: .administrator("eve", from: nil))
      #expect(try await administration.disable(AccountID("user-1")) == 1)
      #expect(try await app.client.get("/notes", token: session.access).json["reason"] == "account_closed")
      #expect(try await app.signIn().code == "account_disabled")
      await #expect(throws: AdministrationError.notOffered) {
        try await administration.createAccount(email: "bob@example.org")
      }
      await #expect(throws: AdministrationError.notOffered) {
        try await administration.issueResetCode(of: AccountID("user-1"))
      }
      try await administration.enable(AccountID("user-1"))
      #expect(try await app.signIn().status == 200)
    }
  }

  @Test(arguments: [
    ("/v1/sign-up/confirm", false), ("/v1/sign-in/anonymous", false), ("/v1/password-reset", false),
    ("/v1/password-reset/confirm", false), ("/v1/upgrade", true), ("/v1/password", true),
  ])
  func `are managed by the app alone`(path: String, needsToken: Bool) async throws {
    try await EmbeddedServer.run { app in
      let token = needsToken ? try await app.signUp().access : nil
      let answer = try await app.client.post("/auth" + path, token: token, json: "{}")
      #expect(answer.status == 403 && answer.code == "not_offered")
    }
  }

  @Test func `that cannot be read decide nothing`() async throws {
    try await EmbeddedServer.run { app in
      let session = try await app.signUp()
      await app.users.fail()
      #expect(try await app.signIn().status == 503)
      #expect(try await app.client.get("/notes", token: session.access).status == 200)
      #expect(app.logs.lines.contains { $0.contains("Account directory unavailable") })
    }
  }

  @Test func `do not go with settings for accounts of the server's own`() async throws {
    await #expect(throws: ServerConfigurationError.directoryWithConfirmedSignUp) {
      try await EmbeddedServer.run {
        $0.signUp = .confirmed
      } body: { _ in
      }
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Session events in an app` {
  @Test func `tell of each beginning and end, in order, with the reason`() async throws {
    try await EmbeddedServer.run { app in
      let before = try await app.server.registry.lastEventID()
      let events = try await app.server.events()
      let phone = try await app.signUp()
      var iterator = events.makeAsyncIterator()
      let began = try #require(await iterator.next()).event
      #expect(began.kind == .sessionEstablished && began.session == SessionID(phone.id))
      #expect(began.account == AccountID("user-1"))

      // An end that happens while the reader waits.
      async let waiting = Self.first(events, after: .sessionEstablished)
      _ = try await app.client.post("/auth/v1/sign-out", token: phone.access, json: "")
      let ended = try #require(await iterator.next()).event
      #expect(ended.kind == .sessionRevoked && ended.reason == .signedOut && ended.session == SessionID(phone.id))
      #expect(await waiting == ended)

      // A reader that was away reads on where it stopped.
      var late = try await app.server.events(after: before).makeAsyncIterator()
      #expect(await late.next()?.event == began)
      #expect(await late.next()?.event == ended)

      await app.shutDown()
      #expect(await iterator.next() == nil)
    }
  }

  @Test func `go on at a store that was restored, and no longer has the last one`() async throws {
    try await TestServer.run { test async throws in
      let events = try await test.server.events(after: EventID(rawValue: 1000))
      let found = Locked<StoredEvent?>(nil)
      let reader = Task {
        var iterator = events.makeAsyncIterator()
        let event = await iterator.next()
        found.withLock { $0 = event }
      }
      // Those from before the reader has looked are not for it.
      var number = 0
      while found.withLock({ $0 }) == nil {
        _ = try await test.signUp("person\(number)@example.org")
        number += 1
      }
      await reader.value
      #expect(found.withLock { $0 }.map { $0.id < EventID(rawValue: 1000) } == true)
    }
  }

  private static func first(_ events: SessionEvents, after kind: RegistryEvent.Kind) async -> RegistryEvent? {
    for await stored in events where stored.event.kind != kind { return stored.event }
    return nil
  }
}
#endif
