#if Programs
import Foundation
import Handstamp
import HandstampRegistry
import HandstampServer
import HandstampSupport
import HandstampTesting
import Testing

/// Captures a server's mails, and waits for the next one.
final class Post: Mailer {
  private let mails = Locked<[String]>([])
  private let (arrivals, continuation) = AsyncStream.makeStream(of: String.self)

  @concurrent func send(_ mail: Mail) async throws(MailError) {
    let text = mail.text.withExposed { $0 }
    mails.withLock { $0.append(text) }
    continuation.yield(text)
  }

  var count: Int { mails.withLock { $0.count } }

  /// The code in the next mail.
  func nextCode() async throws -> Secret {
    for await text in arrivals {
      guard let code = text.split(separator: "\n").first(where: { $0.hasPrefix("hsl1.") }) else { break }
      return Secret(String(code))
    }
    throw CancellationError()
  }
}

/// Account operations, from the client to the server's store and back.
@Suite(.timeLimit(.minutes(10))) struct `An account of our own server` {
  @Test(arguments: Kind.allCases)
  func `asks for the code of an authenticator app, and takes it`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let (email, registry) = ("ada@example.org", server.server.registry)
      let up = try await server.backend(kind).signUp(email: email, password: password, username: "Ada").get()
      let id = try #require(up.profile?.id)
      let account = try #require(try await registry.account(id))
      let session = try #require(try await registry.sessions(of: id, now: SystemClock().now().wall).first).id
      let now = SystemClock().now().wall
      let setup = try registry.newTOTP(in: session, now: now)
      let step = TOTPSecret.step(at: now)
      #expect(
        try await registry.addTOTP(setup, code: setup.secret.code(at: step), to: account, in: session, now: now))
      let backend = server.backend(kind, device: "laptop")
      let asked = await #expect(throws: SessionError.self) {
        try await backend.signIn(email: email, password: password)
      }
      #expect(asked?.code == "second_factor_required")
      let used = await #expect(throws: SessionError.self) {
        try await backend.signIn(email: email, password: password, code: Secret(setup.secret.code(at: step)))
      }
      #expect(used?.code == "second_factor_wrong")
      let controller = SessionController(backend: backend, vault: MemoryVault())
      let signedIn = try await controller.signIn {
        try await backend.signIn(email: email, password: password, code: Secret(setup.secret.code(at: step + 1)))
      }
      #expect(signedIn.profile?.id == id)
      // Of the two sessions, this one has shown the code.
      let refused = await #expect(throws: SessionError.self) {
        try await backend.deleteAccount(proof: .password(password), token: up.accessToken)
      }
      #expect(refused?.code == "second_factor_required")
      let late = await #expect(throws: SessionError.self) {
        try await backend.changePassword(
          to: Secret("another password"), endingOthers: false,
          proof: .password(password, code: Secret(setup.secret.code(at: step))), token: up.accessToken)
      }
      #expect(late?.code == "second_factor_wrong")
      try await backend.deleteAccount(proof: .password(password), token: try await controller.token())
    }
  }

  @Test(arguments: Kind.allCases)
  func `a guest signs in, is upgraded and keeps the same id`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let backend = server.backend(kind)
      let controller = SessionController(backend: backend, vault: MemoryVault())
      let guest = try await controller.signIn { try await backend.signInAnonymously() }
      #expect(guest.profile?.isAnonymous == true)
      let token = try await controller.token()
      let outcome = try await backend.upgrade(
        by: .password(email: "ada@example.org", password: password, username: "Ada"), token: token)
      let full = try await controller.signIn { try outcome.get() }
      #expect(full.profile?.id == guest.profile?.id)
      #expect(full.profile?.isAnonymous == false)
      #expect(full.profile?.name == "Ada")
      // By the first use of the new session.
      try await backend.registerPushToken(nil, token: try await controller.token())
      await #expect(throws: SessionError.self) {
        try await backend.registerPushToken(nil, token: token)
      }
      #expect(try await controller.token() != token)
      let again = try await backend.signIn(email: "ada@example.org", password: password)
      #expect(again.profile?.id == guest.profile?.id)
    }
  }

  @Test func `knows whether the app stores the session`() async throws {
    try await RealServer.run { server in
      let (backend, registry) = (server.backend(.asyncHTTPClient), server.server.registry)
      let controller = SessionController(backend: backend, vault: MemoryVault())
      _ = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      for remember in [true, false] {
        let facts = try await controller.signIn(remember: remember) {
          try await backend.signIn(email: "ada@example.org", password: password)
        }
        let id = try #require(facts.profile?.id)
        let rows = try await registry.sessions(of: id, now: SystemClock().now().wall)
        let row = try #require(rows.first { $0.id == facts.id })
        #expect(row.persistence == (remember ? .persistent : .ephemeral))
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func `a password change needs the current one, and ends the other sessions on request`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let backend = server.backend(kind)
      let other = server.backend(kind, device: "laptop")
      let grant = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      let second = try await other.signIn(email: "ada@example.org", password: password)
      let next = Secret("another password")
      await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: "The password is wrong")) {
        try await backend.changePassword(
          to: next, endingOthers: true, proof: .password(next), token: grant.accessToken)
      }
      try await backend.changePassword(
        to: next, endingOthers: false, proof: .password(password), token: grant.accessToken)
      try await other.registerPushToken(Secret("push"), token: second.accessToken)
      try await backend.changePassword(
        to: password, endingOthers: true, proof: .password(next), token: grant.accessToken)
      await #expect(throws: SessionError.sessionEnded(.revoked)) {
        try await other.registerPushToken(nil, token: second.accessToken)
      }
      try await backend.renameDevice(of: #require(grant.sessionID), to: "Ada’s", token: grant.accessToken)
      try await backend.endOtherSessions(token: grant.accessToken)
    }
  }

  @Test(arguments: Kind.allCases)
  func `an account is deleted, and its address is free again`(_ kind: Kind) async throws {
    try await RealServer.run { server in
      let backend = server.backend(kind)
      let grant = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: "The password is wrong")) {
        try await backend.deleteAccount(token: grant.accessToken)
      }
      try await backend.deleteAccount(proof: .password(password), token: grant.accessToken)
      var random = SystemRandomNumberGenerator()
      let refresh = try #require(grant.tokens.refresh)
      #expect(
        await backend.refresh(refresh, key: RotationKey(from: &random)) == .rejected(.accountClosed))
      let again = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      #expect(again.profile?.id != grant.profile?.id)
    }
  }

  @Test(arguments: Kind.allCases)
  func `a forgotten password is reset by mail, once`(_ kind: Kind) async throws {
    let post = Post()
    try await RealServer.run(mailer: post) { server in
      let backend = server.backend(kind)
      let grant = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada").get()
      try await backend.requestPasswordReset(email: "nobody@example.org")
      try await backend.requestPasswordReset(email: "ADA@example.org")
      let code = try await post.nextCode()
      let next = Secret("another password")
      try await backend.confirmPasswordReset(code, newPassword: next)
      await #expect(throws: SessionError.self) { try await backend.confirmPasswordReset(code, newPassword: password) }
      await #expect(throws: SessionError.sessionEnded(.revoked)) {
        try await backend.endOtherSessions(token: grant.accessToken)
      }
      _ = try await backend.signIn(email: "ada@example.org", password: next)
      #expect(post.count == 1)
    }
  }

  @Test(arguments: Kind.allCases)
  func `an address is confirmed before there is an account`(_ kind: Kind) async throws {
    let post = Post()
    try await RealServer.run(mailer: post, { $0.signUp = .confirmed }) { server in
      let backend = server.backend(kind)
      let outcome = try await backend.signUp(email: "ada@example.org", password: password, username: "Ada")
      #expect(outcome == .confirmationSent)
      let grant = try await backend.confirmSignUp(try await post.nextCode(), password: Secret("another password"))
      #expect(grant.profile?.name == "Ada")
      let guest = try await server.backend(kind, device: "tablet").signInAnonymously()
      let pending = try await backend.upgrade(
        by: .password(email: "bob@example.org", password: password, username: "Bob"), token: guest.accessToken)
      #expect(pending == .confirmationSent)
      let full = try await server.backend(kind, device: "tablet").confirmSignUp(
        try await post.nextCode(), password: password)
      #expect(full.profile?.id == guest.profile?.id)
    }
  }

  @Test func `a server without mail reports these calls as unsupported`() async throws {
    try await RealServer.run { server in
      let backend = server.backend(.asyncHTTPClient)
      await #expect(throws: SessionError.unsupported("Mail is not set up on this server")) {
        try await backend.requestPasswordReset(email: "ada@example.org")
      }
    }
  }
}
#endif
