#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging
import Testing

@testable import HandstampRegistry
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A receiver of webhooks` {
  /// A server that tells a receiver, which its administrator has added.
  private static func run(
    _ more: String = "", body: (AdministeredServer, TestServer, HookReceiver, _ secret: String?) async throws -> Void
  ) async throws {
    try await HookReceiver.run { receiver, port in
      try await AdministeredServer.run {
        $0.webhookNetwork = .local("127.0.0.1")
      } body: { admin, test in
        let added = try await admin.post(
          "/webhooks",
          json: #"{"name":"crm","url":"http://127.0.0.1:\#(port)/hook","allow_private":true\#(more)}"#)
        #expect(added.status == 201)
        try await body(admin, test, receiver, added.json["secret"])
      }
    }
  }

  /// The signature as Standard Webhooks 1.0 describes it.
  private static func isSigned(_ message: HookReceiver.Message, with secret: String) throws -> Bool {
    let key = try #require(Data(base64Encoded: String(secret.dropFirst("whsec_".count))))
    let (id, time) = (message.header("webhook-id") ?? "", message.header("webhook-timestamp") ?? "")
    let mac = HMAC<SHA256>.authenticationCode(
      for: Array("\(id).\(time).".utf8) + message.body, using: SymmetricKey(data: key))
    let signatures = (message.header("webhook-signature") ?? "").split(separator: " ").map(String.init)
    return signatures.contains("v1," + Data(mac).base64EncodedString())
  }

  private static func idle(_ test: TestServer) async { await test.server.lasting.webhookQueue.bell.waitUntilIdle() }

  @Test func `gets each event once, signed, and in order`() async throws {
    try await Self.run { admin, test, receiver, secret in
      let secret = try #require(secret)
      #expect(secret.hasPrefix("whsec_"))
      let session = try await test.signUp()
      _ = try await admin.send("DELETE", "/accounts/\(session.account)/sessions")
      _ = try await admin.send("POST", "/accounts/\(session.account)/disable")
      _ = try await admin.send("POST", "/accounts/\(session.account)/enable")
      _ = try await admin.send("DELETE", "/accounts/\(session.account)")
      await Self.idle(test)
      let types: [String?] = receiver.messages.map { $0.json["type"] }
      #expect(
        types == ["session.began", "session.ended", "account.disabled", "account.enabled", "account.purged"])
      for message in receiver.messages {
        #expect(try Self.isSigned(message, with: secret))
        #expect(message.json[object: "data"]["account"] == session.account)
        // No address, no name.
        #expect(!message.text.contains("example.org"))
      }
      let end = receiver.messages[1].json[object: "data"]
      #expect(end["session"] == session.id && end["reason"] == "revoked")
      #expect(Set(receiver.messages.map { $0.header("webhook-id") }).count == 5)
      let state = try #require(try await admin.get("/webhooks").json[list: "webhooks"].first)
      #expect(state["backlog"] == 0 && state["delivered"] == 5)
      #expect(test.metrics.webhooksSent == 5)
      #expect(try await !admin.get("/webhooks").text.contains(secret))
    }
  }

  @Test func `gets security event tokens that another implementation verifies`() async throws {
    try await Self.run(#","format":"set","audience":"https://crm.example.org""#) { admin, test, receiver, secret in
      #expect(secret == nil)
      let session = try await test.signUp()
      _ = try await test.client.post(
        "/v1/password", token: session.access,
        json: #"{"current":"\#(TestServer.password)","new":"another correct horse","end_others":false}"#)
      _ = try await admin.send("DELETE", "/accounts/\(session.account)/sessions/\(session.id)")
      await Self.idle(test)
      let keys = try await test.client.get("/.well-known/jwks.json").text
      var events: [String: WireClient.JSON] = [:]
      for message in receiver.messages {
        #expect(message.header("content-type") == "application/secevent+jwt")
        let verified = try await Authlib.verify(message.text, keys: keys)
        #expect(verified[object: "header"]["typ"] == "secevent+jwt")
        let payload = verified[object: "payload"]
        #expect(payload["iss"] == "https://id.example.org" && payload["aud"] == "https://crm.example.org")
        #expect(payload["jti"] != Optional<String>.none && payload["exp"] == Optional<Int>.none)
        let type = try #require(payload[object: "events"].fields.keys.first)
        events[type] = payload
      }
      let caep = "https://schemas.openid.net/secevent/caep/event-type/"
      let changed = try #require(events[caep + "credential-change"])[object: "events"][
        object: caep + "credential-change"]
      #expect(changed["credential_type"] == "password" && changed["change_type"] == "update")
      let subject = try #require(events[caep + "session-revoked"])[object: "sub_id"]
      #expect(subject["format"] == "complex")
      #expect(subject[object: "user"]["sub"] == session.account)
      #expect(subject[object: "session"]["id"] == session.id)
    }
  }

  @Test func `that refuses everything keeps no other one waiting`() async throws {
    try await Self.run { admin, test, receiver, _ in
      // Another receiver, at a path that is not there: every attempt is answered 404.
      _ = try await admin.post(
        "/webhooks",
        json: #"{"name":"gone","url":"http://127.0.0.1:\#(test.running.port)/nowhere","allow_private":true}"#)
      _ = try await test.signUp()
      await Self.idle(test)
      #expect(receiver.messages.count == 1)
      let states = try await admin.get("/webhooks").json[list: "webhooks"]
      let failing = try #require(states.first { $0["name"] == "gone" })
      #expect(failing["last_failure"] == "it answered 404" && failing["held_accounts"] == 1)
      #expect(test.metrics.webhooksFailed == 1)
    }
  }

  @Test func `gets the same message again until it takes it`() async throws {
    try await Self.run { admin, test, receiver, secret in
      receiver.answer { _ in Response(status: .internalServerError) }
      _ = try await test.signUp()
      await Self.idle(test)
      receiver.answer { _ in Response(status: .accepted) }
      test.clock.advance(by: .seconds(5))
      await Self.idle(test)
      #expect(receiver.messages.count == 2)
      let (first, second) = (receiver.messages[0], receiver.messages[1])
      #expect(first.header("webhook-id") == second.header("webhook-id") && first.body == second.body)
      // Receivers refuse old timestamps, so each attempt has its own.
      #expect(first.header("webhook-timestamp") != second.header("webhook-timestamp"))
      // With another secret, both sign for a day.
      let renewed: String = try #require(
        try await admin.send("POST", "/webhooks/crm/secret").json["secret"])
      #expect(try await admin.send("POST", "/webhooks/crm/test").status == 202)
      await Self.idle(test)
      let sent = try #require(receiver.messages.last)
      #expect(sent.json["type"] == "webhook.test")
      #expect(try Self.isSigned(sent, with: renewed))
      #expect(try Self.isSigned(sent, with: try #require(secret)))
      // Sent again from the first event on, with the same ID.
      let event: Int = try #require(first.json[object: "data"]["event"])
      #expect(try await admin.post("/webhooks/crm/replay", json: #"{"from":\#(event)}"#).status == 204)
      await Self.idle(test)
      #expect(receiver.messages.last?.header("webhook-id") == first.header("webhook-id"))
    }
  }

  @Test func `is told nothing more when it is gone, and not sent elsewhere`() async throws {
    try await Self.run { admin, test, receiver, _ in
      receiver.answer { _ in Response(status: .temporaryRedirect, headers: [.location: "/hook?again"]) }
      _ = try await test.signUp("ada@example.org")
      await Self.idle(test)
      #expect(receiver.messages.count == 1)
      receiver.answer { _ in Response(status: .gone) }
      _ = try await test.signUp("eve@example.org")
      await Self.idle(test)
      let count = receiver.messages.count
      test.clock.advance(by: .seconds(3600))
      await Self.idle(test)
      #expect(receiver.messages.count == count)
      let state = try #require(try await admin.get("/webhooks").json[list: "webhooks"].first)
      #expect(state["state"] == "gone")
      receiver.answer { _ in Response(status: .ok) }
      #expect(try await admin.send("POST", "/webhooks/crm/replay").status == 204)
      await Self.idle(test)
      #expect(try await admin.get("/webhooks").json[list: "webhooks"].first?["backlog"] == 0)
    }
  }

  /// The addresses of a host are looked up once for a connection, checked, and the checked one is connected to.
  @Test(arguments: [
    "127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.0.1", "0.0.0.0", "::1", "fe80::1", "fd00::1",
    "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::",
  ]) func `is not asked at a private address`(address: String) async throws {
    let connected = Locked<[String]>([])
    try await AdministeredServer.run {
      $0.webhookNetwork = .local("93.184.216.34", address, connected: connected)
    } body: { admin, test in
      let added = try await admin.post("/webhooks", json: #"{"name":"crm","url":"https://crm.example.org/hook"}"#)
      #expect(added.status == 201)
      _ = try await test.signUp()
      await Self.idle(test)
      #expect(connected.withLock { $0 }.isEmpty)
      let state = try #require(try await admin.get("/webhooks").json[list: "webhooks"].first)
      #expect(state["last_failure"] == "its host has an address that is not public")
    }
  }

  /// A cloud's metadata service is there, with credentials of the machine.
  @Test(arguments: ["169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "fd00:ec2::254"])
  func `is never asked at a link-local address, also with private ones allowed`(address: String) async throws {
    _ = try await PinnedNetwork.local("10.1.2.3").open("crm.example.org", allowingPrivate: true)
    await #expect(throws: DescribedError("its host has a link-local address, which is never asked")) {
      _ = try await PinnedNetwork.local("10.1.2.3", address).open("crm.example.org", allowingPrivate: true)
    }
  }

  @Test(arguments: [
    "http://crm.example.org/", "ftp://crm.example.org/", "https://user@crm.example.org/", "https://", "crm.example.org",
    "https://crm.example.org\\@127.0.0.1/", "https://crm.example.org/#a", "https://crm.ex ample.org/",
    "https://ü.example/",
  ]) func `cannot have a URL that two programs would read differently`(url: String) async throws {
    try await AdministeredServer.run {
      $0.webhookNetwork = .local("127.0.0.1")
    } body: { admin, _ async throws in
      let url = url.replacing("\\", with: "\\\\")
      #expect(try await admin.post("/webhooks", json: #"{"name":"crm","url":"\#(url)"}"#).status == 400)
      #expect(try await admin.post("/webhooks", json: #"{"name":"CRM","url":"https://a.example/"}"#).status == 400)
    }
  }

  @Test func `is added once by a name, and removed`() async throws {
    try await AdministeredServer.run {
      $0.webhookNetwork = .local("127.0.0.1")
    } body: { admin, _ async throws in
      let body = #"{"name":"crm","url":"https://crm.example.org/","events":["session.ended"]}"#
      #expect(try await admin.post("/webhooks", json: body).status == 201)
      #expect(try await admin.post("/webhooks", json: body).status == 409)
      let events = #"{"name":"b","url":"https://crm.example.org/","events":["session.paused"]}"#
      #expect(try await admin.post("/webhooks", json: events).status == 400)
      #expect(try await admin.send("DELETE", "/webhooks/crm").status == 204)
      for path in ["replay", "secret", "test"] {
        #expect(try await admin.send("POST", "/webhooks/crm/\(path)").status == 404)
      }
      #expect(try await admin.actions().suffix(2) == ["webhook.added", "webhook.removed"])
    }
  }

  /// A server in another program has no network for them, and neither has that of a build without ``BuildPart/webhooks``.
  @Test func `is refused by a server that would not tell it, and named in its log if it is stored`() async throws {
    var random = SystemRandomNumberGenerator()
    let (store, keys) = (FaultyStore(), try MasterKeys(drawing: KeyID("k1"), from: &random))
    let hook = Webhook.Settings(name: "crm", url: "https://crm.example.org/")
    _ = try await Registry(store: store, mint: TokenMint(keys)).addWebhook(hook, now: .current)
    var logs: LogCapture?
    try await AdministeredServer.run(store: store) { admin, test in
      logs = test.logs
      for answer in [
        try await admin.post("/webhooks", json: #"{"name":"b","url":"https://crm.example.org/"}"#),
        try await admin.send("POST", "/webhooks/crm/replay"), try await admin.send("POST", "/webhooks/crm/test"),
      ] {
        #expect(answer.status == 403 && answer.json["code"] == "not_offered")
      }
      let states = try await admin.get("/webhooks").json[list: "webhooks"]
      #expect(states.count == 1 && states.first?["state"] == "unsent")
    }
    let line = try #require(logs?.entries.first { $0.message == "Webhooks are not sent" })
    #expect(line.level == .warning && line.metadata["handstamp.webhooks"] == "crm")
    let hint = BuildPart.hint(building: "handstamp-server")
    #expect(line.metadata["handstamp.cause"] == "Serve its store with handstamp-server serve; \(hint)")
  }
}
#endif
