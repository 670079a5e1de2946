#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A mail` {
  private func mail(_ text: String = "first\n\nlast Zoë", to: String = "ada@example.org") throws -> Mail {
    Mail(
      from: try #require(Mailbox("handstamp@id.example.org")), to: try #require(Mailbox(to)), subject: "A subject",
      text: Secret(text), id: "abc123", sentAt: UnixTime(milliseconds: 1_795_226_288_123))
  }

  @Test func `follows RFC 5322`() throws {
    let message = try mail().message(.crlf).withExposed { $0 }
    #expect(
      message == """
        From: <handstamp@id.example.org>\r
        To: <ada@example.org>\r
        Subject: A subject\r
        Date: Sat, 21 Nov 2026 01:58:08 +0000\r
        Message-ID: <abc123@id.example.org>\r
        Auto-Submitted: auto-generated\r
        MIME-Version: 1.0\r
        Content-Type: text/plain; charset=utf-8\r
        Content-Transfer-Encoding: 8bit\r
        \r
        first\r
        \r
        last Zoë\r

        """)
    #expect(!(try mail().message(.lf).withExposed { $0.contains("\r") }))
  }

  @Test func `has a subject in any language, in encoded words of RFC 2047`() throws {
    func head(_ subject: String) throws -> String {
      let mail = Mail(
        from: try #require(Mailbox("a@example.org")), to: try #require(Mailbox("b@example.org")), subject: subject,
        text: Secret(""), id: "1", sentAt: UnixTime(milliseconds: 0))
      return mail.message(.lf).withExposed { $0.components(separatedBy: "\nDate:")[0] }
    }
    #expect(try head("Zürich\n!").hasSuffix("\nSubject: =?utf-8?B?WsO8cmljaCE=?="))
    let lines = try head(String(repeating: "ü", count: 60)).split(separator: "\n").dropFirst(2)
    #expect(lines.count == 4 && lines.dropFirst().allSatisfy { $0.hasPrefix(" =?utf-8?B?") })
    #expect(lines.allSatisfy { $0.utf8.count <= 76 && $0.hasSuffix("?=") })
  }

  @Test(
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 +0000"), (-1, "Wed, 31 Dec 1969 23:59:59 +0000"),
      (951_782_399_999, "Mon, 28 Feb 2000 23:59:59 +0000"), (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 +0000"),
      (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00 +0000"), (1_798_761_599_000, "Thu, 31 Dec 2026 23:59:59 +0000"),
    ] as [(Int64, String)])
  func `has an RFC 5322 date`(_ milliseconds: Int64, _ text: String) {
    #expect(UnixTime(milliseconds: milliseconds).httpDate + " +0000" == text)
  }

  @Test func `goes to one plain address that cannot inject a header`() {
    for text in [
      "a@b", "ada.lovelace+tag@example.org", "o'brien@example.org", "zoë@exämple.org", "-t@example.org",
      "\(String(repeating: "x", count: 64))@example.org",
    ] { #expect(Mailbox(text)?.address == text) }
    for text in [
      "", "@", "a@", "@b", "a b@c", "a,b@c", "a@b,c@d", "a@b;c@d", "<a@b>", "a@b>", "\"a\"@b", "a(x)@b", "a\\@b",
      "a:b@c",
      "a@b\r\nBcc: c@d", "a\n@b", "a\0@b", "a@[127.0.0.1]", ".a@b", "a.@b", "a..b@c", "a@b..c", "a@b.", "a@-,",
      "a\u{202E}@b", "a\u{85}@b", "a\u{2028}@b", "\(String(repeating: "x", count: 65))@example.org",
    ] { #expect(Mailbox(text) == nil, "\(text)") }
    // Stored addresses are not checked again until here.
    #expect(Mailbox(EmailAddress(stored: "a@b\nBcc: c@d", normalized: "a@b")) == nil)
  }

  @Test func `never shows its text or address by accident`() throws {
    let mail = try mail("the secret", to: "ada@example.org")
    var dumped = ""
    dump(mail, to: &dumped)
    for text in ["\(mail)", String(reflecting: mail), dumped] {
      #expect(!text.contains("secret"))
      #expect(!text.contains("ada"))
    }
  }
}

/// A folder that is removed when the test releases it.
private final class Folder: Sendable {
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("mail-tests-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func program(_ script: String) throws -> String {
    let program = path + "/sendmail"
    let draft = program + ".draft"
    try "#!/bin/sh\n\(script)\n".write(toFile: draft, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: draft)
    // Another process writes the program: if it were open here, a process started by another test at that moment would hold it
    // open as well, and a program that is open for writing cannot be run.
    let copying = Process()
    copying.executableURL = URL(fileURLWithPath: "/bin/cp")
    copying.arguments = ["-p", draft, program]
    try copying.run()
    copying.waitUntilExit()
    return program
  }
}

private func mail(_ id: String = "abc", at time: UnixTime = UnixTime(milliseconds: 1000)) throws -> Mail {
  Mail(
    from: try #require(Mailbox("handstamp@id.example.org")), to: try #require(Mailbox("ada@example.org")),
    subject: "A subject", text: Secret("line\n.\nhsl1.code"), id: id, sentAt: time)
}

@Suite(.timeLimit(.minutes(10))) struct `A folder for mails` {
  @Test func `has one file per mail, readable by its owner only`() async throws {
    let folder = try Folder()
    let mails = MailFolder(path: folder.path + "/mail")
    try await mails.send(try mail("one"))
    try await mails.send(try mail("two"))
    let files = try FileManager.default.contentsOfDirectory(atPath: mails.path).sorted()
    #expect(files == ["1000-one.eml", "1000-two.eml"])
    for path in [mails.path, mails.path + "/" + files[0]] {
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode.map { $0 & 0o077 } == 0)
    }
    let content = try String(contentsOfFile: mails.path + "/" + files[0], encoding: .utf8)
    #expect(content == (try mail("one").message(.crlf).withExposed { $0 }))
    // No mail replaces another.
    await #expect(throws: MailError.self) { try await mails.send(try mail("one")) }
    await #expect(throws: MailError.self) { try await mails.send(try mail("../one")) }
    await #expect(throws: MailError.self) { try await MailFolder(path: "/no/such/folder").send(try mail()) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: mails.path).count == 2)
  }

  @Test func `loses a mail after a day, at the next mail or without one, and nothing else`() async throws {
    let folder = try Folder()
    let mails = MailFolder(path: folder.path + "/mail")
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: mails.path).sorted() }
    try await mails.send(try mail("one"))
    let others = ["0-notes.txt", "notes.eml", ".keep"]
    let drafts = [".1000-draft", "1000-lost.eml.x.new"]
    for name in others + drafts {
      try Data().write(to: URL(fileURLWithPath: mails.path + "/" + name))
    }
    let expiry = UnixTime(milliseconds: 1000).advanced(by: .seconds(86_400))
    await mails.tidy(at: expiry.advanced(by: .milliseconds(-1)))
    #expect(try names() == (others + drafts + ["1000-one.eml"]).sorted())
    try await mails.send(try mail("two", at: expiry))
    #expect(try names() == (others + ["86401000-two.eml"]).sorted())
    await mails.tidy(at: expiry.advanced(by: .seconds(86_400)))
    #expect(try names() == others.sorted())
    await MailFolder(path: "/no/such/folder").tidy(at: expiry)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The system's mail program` {
  @Test func `gets the whole mail, two options, and nothing else`() async throws {
    let folder = try Folder()
    let program = try folder.program(#"echo "$@" > "$0.args"; env > "$0.env"; cat > "$0.in""#)
    try await Sendmail(program: program).send(try mail())
    #expect(try String(contentsOfFile: program + ".args", encoding: .utf8) == "-t -i\n")
    let input = try String(contentsOfFile: program + ".in", encoding: .utf8)
    #expect(input == (try mail().message(.lf).withExposed { $0 }))
    #expect(!(try String(contentsOfFile: program + ".env", encoding: .utf8).contains("HOME=")))
  }

  @Test func `may refuse, not read, crash, hang or be missing`() async throws {
    let folder = try Folder()
    let refusing = try folder.program("exit 75")
    await #expect(throws: MailError.refused(status: 75)) { try await Sendmail(program: refusing).send(try mail()) }
    let dying = try folder.program("kill -9 $$")
    await #expect(throws: MailError.refused(status: -1)) { try await Sendmail(program: dying).send(try mail()) }
    let silent = try folder.program("exec <&-; exit 0")
    try await Sendmail(program: silent).send(try mail())
    let hanging = try folder.program("exec tail -f /dev/null")
    await #expect(throws: MailError.timedOut) {
      try await Sendmail(program: hanging, limit: .milliseconds(50)).send(try mail())
    }
    await #expect(throws: MailError.unavailable("cannot run /no/such/program")) {
      try await Sendmail(program: "/no/such/program").send(try mail())
    }
  }
}
#endif
