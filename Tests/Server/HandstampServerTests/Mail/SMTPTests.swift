#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import Testing

@testable import HandstampServer

/// Against aiosmtpd.
@Suite(.timeLimit(.minutes(10))) struct `Mail by SMTP` {
  private static let text = "Zoë\n.\n..\nhsl1.code"

  private func mail(to: String = "ada@example.org") throws -> Mail {
    Mail(
      from: try #require(Mailbox("handstamp@id.example.org")), to: try #require(Mailbox(to)), subject: "A subject",
      text: Secret(Self.text), id: "abc", sentAt: UnixTime(milliseconds: 1000))
  }

  private func mailer(
    _ server: MailServer, _ scheme: String = "smtp", user: String? = nil, password: String? = nil,
    trusting folder: String? = nil, limit: Duration = .seconds(240)
  ) throws -> SMTPMailer {
    try SMTPMailer(
      url: "\(scheme)://127.0.0.1:\(server.port)", user: user, password: password.map { Secret($0) },
      certificates: folder.map { $0 + "/a.pem" }, allowsCleartext: folder == nil, limit: limit)
  }

  @Test(arguments: [("smtp", "none"), ("smtp", "starttls"), ("smtps", "smtps")])
  func `arrives unchanged, with and without TLS and a password`(scheme: String, tls: String) async throws {
    try await Tool.inFolder { folder in
      try await Tool.makeCertificate("a", in: folder)
      for user in [nil, "handstamp"] {
        let options = #"{"tls":"\#(tls)","certificate":"\#(folder)/a","auth":\#(user != nil)}"#
        try await MailServer.run(options) { server in
          let mailer = try mailer(
            server, scheme, user: user, password: user.map { _ in "correct horse" },
            trusting: tls == "none" ? nil : folder)
          try await mailer.send(try mail())
          let letter = try await server.next()
          #expect(letter["from"] == "handstamp@id.example.org")
          #expect(letter["to"] == ["ada@example.org"])
          #expect(letter["name"] == "id.example.org")
          #expect(letter["tls"] == (tls != "none"))
          #expect(letter["user"] == user)
          #expect(letter["text"] == (try mail().message(.crlf).withExposed { $0 }))
        }
      }
    }
  }

  @Test func `is not sent in clear, nor to a server with an unknown certificate`() async throws {
    try await Tool.inFolder { folder in
      for name in ["a", "b"] { try await Tool.makeCertificate(name, in: folder) }
      try await MailServer.run { server in
        let fault = await #expect(throws: MailError.self) {
          try await mailer(server, trusting: folder).send(try mail())
        }
        #expect(fault?.isPermanent == false && "\(fault, default: "")".contains("SMTP at 127.0.0.1"))
      }
      for (scheme, tls) in [("smtp", "starttls"), ("smtps", "smtps")] {
        try await MailServer.run(#"{"tls":"\#(tls)","certificate":"\#(folder)/b"}"#) { server in
          await #expect(throws: MailError.self) { try await mailer(server, scheme, trusting: folder).send(try mail()) }
        }
      }
    }
  }

  @Test func `is refused for good by 5xx, and for now by 4xx`() async throws {
    for stage in ["rcpt", "data"] {
      try await MailServer.run(#"{"\#(stage)":["451 4.3.0 later","550 5.1.1 no such user"]}"#) { server in
        let mailer = try mailer(server)
        let later = await #expect(throws: MailError.self) { try await mailer.send(try mail()) }
        #expect(later == .rejected(code: 451) && later?.isPermanent == false)
        let never = await #expect(throws: MailError.self) { try await mailer.send(try mail()) }
        #expect(never == .rejected(code: 550) && never?.isPermanent == true)
        try await mailer.send(try mail())
        #expect(try await server.next()["to"] == ["ada@example.org"])
      }
    }
  }

  @Test func `is tried again if the server refuses the sender or the password: the operator can mend that`()
    async throws
  {
    try await MailServer.run(#"{"mail":["550 5.7.1 who are you"]}"#) { server in
      let fault = await #expect(throws: MailError.self) { try await mailer(server).send(try mail()) }
      #expect(fault?.isPermanent == false && "\(fault, default: "")".contains("550"))
    }
    try await MailServer.run(#"{"auth":true}"#) { server in
      for (user, password) in [(nil, nil), ("handstamp", "wrong")] as [(String?, String?)] {
        let fault = await #expect(throws: MailError.self) {
          try await mailer(server, user: user, password: password).send(try mail())
        }
        #expect(fault?.isPermanent == false && !"\(fault, default: "")".contains("wrong"))
      }
    }
  }

  @Test func `with an address of other scripts needs a server that has SMTPUTF8`() async throws {
    for (has, address) in [(true, "zoë@exämple.org"), (true, "ada@exämple.org"), (false, "zoë@exämple.org")] {
      try await MailServer.run(#"{"utf8":\#(has)}"#) { server in
        let mailer = try mailer(server)
        guard has else {
          await #expect(throws: MailError.needsSMTPUTF8) { try await mailer.send(try mail(to: address)) }
          return try await mailer.send(try mail())
        }
        try await mailer.send(try mail(to: address))
        let letter = try await server.next()
        #expect((letter["text"] as String?)?.contains("To: <\(address)>\r\n") == true)
        if address.hasPrefix("zoë") { #expect((letter["options"] as [String]?)?.contains("SMTPUTF8") == true) }
      }
    }
  }

  @Test func `times out, and is given up at once when the server shuts down`() async throws {
    try await MailServer.run(#"{"silent":true}"#) { server in
      await #expect(throws: MailError.timedOut) {
        try await mailer(server, limit: .milliseconds(200)).send(try mail())
      }
      let patient = try mailer(server, limit: .seconds(600))
      let letter = try mail()
      let sending = Task { try await patient.send(letter) }
      sending.cancel()
      await #expect(throws: MailError.self) { try await sending.value }
    }
    let nothing = try SMTPMailer(url: "smtp://127.0.0.1:1", allowsCleartext: true)
    let fault = await #expect(throws: MailError.self) { try await nothing.send(try mail()) }
    #expect(fault?.isPermanent == false)
  }

  @Test func `needs a URL without a password, and sends none to another machine in clear`() throws {
    for url in [
      "", "smtp:", "smtp://", "http://a", "smtp://a/x", "smtp://a?x", "smtp://a#x", "smtp://a:0", "smtp://a b",
      "smtp://a\r\nQUIT", "smtp://a:65536", "smtp://a%0d",
    ] {
      #expect(throws: ServerConfigurationError.mailServerURL, "\(url)") { try SMTPMailer(url: url) }
    }
    #expect(throws: ServerConfigurationError.mailServerURLWithUser) {
      try SMTPMailer(url: "smtp://ada@mail.example.org")
    }
    #expect(throws: ServerConfigurationError.mailPasswordInClear) {
      try SMTPMailer(url: "smtp://mail.example.org", user: "a", password: Secret("b"), allowsCleartext: true)
    }
    let mailers = [
      try SMTPMailer(url: "smtp://mail.example.org"), try SMTPMailer(url: "smtps://mail.example.org/"),
      try SMTPMailer(url: "smtp://127.0.0.1:25", user: "a", password: Secret("b"), allowsCleartext: true),
    ]
    #expect(mailers.map(\.port) == [587, 465, 25])
    #expect(mailers.map(\.security) == [.startTLS, .tls, .none])
    var dumped = ""
    dump(try SMTPMailer(url: "smtp://a", user: "u", password: Secret("hidden")), to: &dumped)
    #expect(!dumped.contains("hidden"))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A password reset by SMTP` {
  @Test func `arrives after the mail server refused it for now`() async throws {
    try await MailServer.run(#"{"rcpt":["450 4.2.0 greylisted"]}"#) { smtp in
      let mailer = try SMTPMailer(url: "smtp://127.0.0.1:\(smtp.port)", allowsCleartext: true)
      try await TestServer.run(mailer: mailer) { test in
        _ = try await test.signUp()
        try await test.requestResets("ada@example.org")
        await test.server.lasting.outbox.bell.waitUntilIdle()
        #expect(test.metrics.mailsFailed == 1 && test.metrics.mailsSent == 0)
        test.clock.advance(by: .seconds(30))
        await test.server.lasting.outbox.bell.waitUntilIdle()
        let text: String = try #require(try await smtp.next()["text"])
        let code = try #require(text.split(separator: "\r\n").first { $0.hasPrefix("hsl1.") })
        #expect(try await test.confirmReset(String(code)).status == 204)
      }
    }
  }
}
#endif
