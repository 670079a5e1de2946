#if Programs
import HandstampServer
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Event streams beyond the limit` {
  @Test func `of a session end its oldest`() async throws {
    try await TestServer.run {
      $0.eventStreams.perSession = 2
    } body: { test in
      let phone = try await test.signUp()
      let feeds = [
        try await WireStream(test.client, token: phone.access), try await WireStream(test.client, token: phone.access),
      ]
      for feed in feeds { #expect(try await feed.next()?.name == "verification") }
      let newest = try await WireStream(test.client, token: phone.access)
      #expect(try await newest.next()?.name == "verification")
      #expect(try await feeds[0].next() == nil)
      #expect(await eventually { test.metrics.openStreams == 2 })
      #expect(test.metrics.replacedStreams == 1)
      let laptop = try await test.signIn()
      #expect(try await feeds[1].next()?.json["sid"] == laptop.id)
      #expect(try await newest.next()?.json["sid"] == laptop.id)
    }
  }

  @Test(arguments: [true, false]) func `of an account or of all are answered 429`(isAccount: Bool) async throws {
    try await TestServer.run {
      $0.eventStreams.perSession = 1
      if isAccount { $0.eventStreams.perAccount = 1 } else { $0.eventStreams.inAll = 1 }
    } body: { test in
      let phone = try await test.signUp()
      let laptop = try await test.signIn()
      let feed = try await WireStream(test.client, token: phone.access)
      #expect(try await feed.next()?.name == "verification")
      let refused = try await test.client.get("/v1/events", token: laptop.access)
      #expect(refused.status == 429)
      #expect(refused.code == "too_many_streams")
      #expect(refused.headers["retry-after"] == "30")
      #expect(test.metrics.refusedStreams == 1)
      // The session that has the stream may open it again.
      let again = try await WireStream(test.client, token: phone.access)
      #expect(try await again.next()?.name == "verification")
      #expect(try await feed.next() == nil)
      // Its end makes room.
      _ = try await test.client.post("/v1/sign-out", token: phone.access, json: "{}")
      #expect(await eventually { test.metrics.openStreams == 0 })
      let late = try await WireStream(test.client, token: laptop.access)
      #expect(try await late.next()?.name == "verification")
    }
  }

  @Test func `make room when their client is gone`() async throws {
    try await TestServer.run {
      $0.eventStreams.inAll = 1
    } body: { test in
      let phone = try await test.signUp()
      let laptop = try await test.signIn()
      for session in [phone, laptop, phone] {
        let client = try RawSocket(test.client.base)
        client.send("GET /v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(session.access)\r\n\r\n")
        #expect(await client.receive(until: "verification").text.hasPrefix("HTTP/1.1 200 "))
        client.finish()
        #expect(await client.receive().end == .closed)
        #expect(await eventually { test.metrics.openStreams == 0 })
      }
    }
  }
}
#endif
