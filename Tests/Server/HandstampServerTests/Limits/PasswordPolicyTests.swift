#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A new password` {
  private func fault(
    _ password: String, _ policy: PasswordPolicy = PasswordPolicy(contextWords: ["id.example.org", "handstamp"]),
    names: [String] = ["ada.lovelace@mail.example", "Ada Lovelace"]
  ) -> PasswordPolicy.Weakness? {
    policy.weakness(of: Secret(password), names: names)
  }

  @Test(arguments: [
    ("éééééé7", PasswordPolicy.Weakness.tooShort), (String(repeating: "x", count: 1025), .tooLong),
    ("password1", .common), ("Password1", .common), ("QWERTYUIOP", .common), ("ｐａｓｓｗｏｒｄ１", .common),
    ("handstamp", .context), ("Handstamp1!", .context), ("handstamphandstamp", .context),
    ("ada.lovelace@mail.example", .context), ("Lovelace1815", .context), ("example!", .context),
    ("mail.example1", .context), ("1Mail.Example", .context), ("example.org1", .context),
  ])
  func `is refused for a reason`(password: String, reason: PasswordPolicy.Weakness) {
    #expect(fault(password) == reason)
  }

  @Test(arguments: [
    "correct horse battery", "éééééé78", "        ", "📱📱📱📱📱📱📱📱", "пароль другой", "handstamp of the day",
    String(repeating: "xyz ", count: 256),
  ])
  func `may be any other`(password: String) {
    #expect(fault(password) == nil)
  }

  @Test func `is longer where the operator wants it`() {
    let policy = PasswordPolicy(minimumLength: 15)
    #expect(fault("correct horse!", policy) == .tooShort)
    #expect(fault("correct horse!!", policy) == nil)
    #expect(PasswordPolicy(minimumLength: 1).minimumLength == 8)
  }

  @Test func `is compared with the most common ones`() {
    #expect(CommonPasswords.all.count > 8000)
    #expect(CommonPasswords.all.allSatisfy { $0.unicodeScalars.count >= PasswordPolicy.least })
  }

  @Test func `is looked up in the files of breached ones`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let policy = PasswordPolicy(breachedPasswords: folder.path)
    #expect(fault("a password of a range without a file", policy) == .uncheckable)
    let digest = try sha1("correct horse battery staple")
    try Data("\(digest.dropFirst(5)):7\n".utf8).write(to: folder.appending(path: String(digest.prefix(5)) + ".txt"))
    #expect(fault("correct horse battery staple", policy) == .breached)
    try Data("\(digest.dropFirst(5)):0\n".utf8).write(to: folder.appending(path: String(digest.prefix(5)) + ".txt"))
    #expect(fault("correct horse battery staple", policy) == nil)
  }

  /// The SHA-1 by another program.
  private func sha1(_ text: String) throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "printf %s \"$0\" | sha1sum", text]
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return line.prefix(40).uppercased()
  }

  @Test func `is refused by the server with the reason`() async throws {
    try await TestServer.run { test in
      let answer = try await test.client.post(
        "/v1/sign-up", json: TestServer.signUpBody("ada@example.org", password: "password1"))
      #expect(answer.status == 400)
      #expect(answer.code == "weak_password")
      #expect(answer.json["reason"] == "common")
      let ada = try await test.signUp()
      let change = try await test.client.post(
        "/v1/password", token: ada.access,
        json: #"{"current":"\#(TestServer.password)","new":"ada@example.org","end_others":false}"#)
      #expect(change.code == "weak_password")
      #expect(change.json["reason"] == "context")
    }
  }

  @Test func `is the same however its characters are composed`() async throws {
    try await TestServer.run { test in
      let (composed, decomposed) = ("caf\u{E9} cr\u{E8}me", "cafe\u{301} cre\u{300}me")
      _ = try await test.client.post(
        "/v1/sign-up", json: TestServer.signUpBody("ada@example.org", password: decomposed))
      for typed in [composed, decomposed] {
        let answer = try await test.client.post(
          "/v1/sign-in", json: TestServer.signInBody("ada@example.org", password: typed))
        #expect(answer.status == 200)
      }
    }
  }

  @Test func `from before normalization still fits`() async throws {
    let pool = PasswordPool(parameters: .forTests)
    let typed = Secret("cafe\u{301} cre\u{300}me")
    let old = Secret(try Argon2Parameters.forTests.hash(typed))
    #expect(try await pool.verify(typed, against: old))
    #expect(try await !pool.verify(Secret("caf\u{E9} creme"), against: old))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `Stronger password hashing` {
  @Test func `is used from the next sign-in`() async throws {
    let (store, clock) = (FaultyStore(), TestClock())
    let stronger = Argon2Parameters(memory: 16, passes: 2, lanes: 1)
    let email = try #require(EmailAddress("ada@example.org"))
    try await TestServer.run(clock: clock, store: store) { test in
      _ = try await test.signUp()
    }
    func hash() async throws -> String? {
      await store.base.account(email: email.normalized)?.passwordHash?.withExposed { $0 }
    }
    #expect(try await hash()?.contains("m=8,t=1,p=1") == true)
    try await TestServer.run(clock: clock, store: store) {
      $0.passwords.hashing = stronger
    } body: { test in
      _ = try await test.signIn()
      #expect(try await hash()?.contains("m=16,t=2,p=1") == true)
      let before = try await hash()
      _ = try await test.signIn()
      #expect(try await hash() == before)
    }
    try await TestServer.run(clock: clock, store: store) { test in
      _ = try await test.signIn()
      #expect(try await hash()?.contains("m=16,t=2,p=1") == true)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `An email address` {
  @Test func `is one account however its characters are composed`() async throws {
    try await TestServer.run { test in
      _ = try await test.signUp("zoe\u{308}@example.org")
      let again = try await test.client.post("/v1/sign-up", json: TestServer.signUpBody("zo\u{EB}@example.org"))
      #expect(again.code == "email_taken")
      _ = try await test.signIn("ZO\u{CB}@example.org")
    }
  }

  /// The keys are those of ``EmailAddress``; here in compatible characters.
  @Test(arguments: [
    ("ａｄａ＠ｅｘａｍｐｌｅ．ｏｒｇ", "ada@example.org"), ("ada@example｡org", "ada@example.org"),
    ("\u{A0}Ada@example.org\u{3000}", "ada@example.org"),
    ("ada@ｂücher.example", "ada@xn--bcher-kva.example"), ("ﬁn@example.org", "fin@example.org"),
    ("\u{212A}ate@example.org", "kate@example.org"),
  ])
  func `is one key however wide its characters are`(typed: String, key: String) {
    #expect(EmailAddress(new: typed)?.normalized == key && EmailAddress.key(of: typed) == key)
    // A provider may have verified another mailbox.
    #expect(EmailAddress(verified: typed) == nil)
    #expect(EmailAddress(verified: "Ada@example.org")?.normalized == "ada@example.org")
  }

  @Test(arguments: [
    "a\u{200B}da@example.org", "ada@example..org", "ada@example.org.", "a@b@example.org", "\"a@b@example.org",
    "ada\u{A8}@example.org",
  ])
  func `is none for a new account if it has two spellings, or what is not seen`(typed: String) {
    #expect(EmailAddress(new: typed) == nil)
  }
}
#endif
