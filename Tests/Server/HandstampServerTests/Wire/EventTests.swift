#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `The live feed` {
  @Test func `reports a sign-in and its end to the other devices at once`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let feed = try await WireStream(test.client, token: phone.access)
      let opening = try #require(try await feed.next())
      #expect(opening.name == "verification")
      #expect(opening.json["sid"] == phone.id)
      #expect(opening.id != nil)
      let laptop = try await test.signIn(device: "laptop")
      let established = try #require(try await feed.next())
      #expect(established.name == "session-established")
      #expect(established.json["sid"] == laptop.id)
      #expect(established.json["current"] == false)
      #expect(established.json["at"] == test.clock.now.description)
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      let revoked = try #require(try await feed.next())
      #expect(revoked.name == "session-revoked")
      #expect(revoked.json["sid"] == laptop.id)
      #expect(revoked.json["reason"] == "revoked")
      let ids = [opening, established, revoked].compactMap(\.id).compactMap { Int($0) }
      #expect(ids.count == 3)
      #expect(ids == ids.sorted())
      #expect(Set(ids).count == 3)
    }
  }

  @Test func `of an ended session reports the end, and closes`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let feed = try await WireStream(test.client, token: laptop.access)
      _ = try await feed.next()
      #expect(test.metrics.openStreams == 1)
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      let last = try #require(try await feed.next())
      #expect(last.name == "session-revoked")
      #expect(last.json["current"] == true)
      #expect(try await feed.next() == nil)
      await #expect(throws: WireStream.Refused.self) { try await WireStream(test.client, token: laptop.access) }
    }
  }

  @Test func `reports a copied token, a sign-out by handle, and a replaced device`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let feed = try await WireStream(test.client, token: phone.access)
      _ = try await feed.next()
      let laptop = try await test.signIn(device: "laptop")
      _ = try await feed.next()
      _ = try await test.refresh(laptop.refresh, key: .fresh)
      _ = try await test.refresh(laptop.refresh, key: .fresh)
      #expect(try await feed.next()?.json["reason"] == "token_reuse")
      let second = try await test.signIn(device: "tablet")
      _ = try await feed.next()
      _ = try await test.client.post("/oauth/revoke", form: "token=\(second.handle)")
      #expect(try await feed.next()?.json["reason"] == "signed_out")
      let again = try await test.signIn(device: "phone")
      #expect(try await feed.next()?.name == "session-established")
      _ = try await test.client.get("/v1/me", token: again.access)
      #expect(try await feed.next()?.json["reason"] == "replaced")
      #expect(try await feed.next() == nil)
    }
  }

  @Test func `resumes after the last received event, without a gap`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let first = try await WireStream(test.client, token: phone.access)
      let last = try await first.next()?.id
      first.close()
      let laptop = try await test.signIn(device: "laptop")
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      let second = try await WireStream(test.client, token: phone.access, after: last)
      let names = [try await second.next()?.name, try await second.next()?.name, try await second.next()?.name]
      #expect(names == ["verification", "session-established", "session-revoked"])
      // From the very beginning: the first sign-in is included, and more events than fit into one page.
      for _ in 0..<140 { _ = try await test.signIn(device: "laptop") }
      let third = try await WireStream(test.client, token: phone.access, after: "0")
      var seen = 0
      var newest = 0
      while seen < 2 + 140, let event = try await third.next() {
        guard event.name != "verification" else { continue }
        let id = try #require(event.id.flatMap { Int($0) })
        #expect(id > newest)
        newest = id
        if event.name == "session-established" { seen += 1 }
      }
      #expect(seen == 2 + 140)
    }
  }

  @Test func `contains no other account's events, whatever id is requested`() async throws {
    try await TestServer.run { test in
      let eve = try await test.signUp("eve@example.org")
      _ = try await test.signUp()
      _ = try await test.signIn(device: "laptop")
      let feed = try await WireStream(test.client, token: eve.access, after: "0")
      _ = try await feed.next()
      #expect(try await feed.next()?.json["sid"] == eve.id)
      let own = try await test.signIn("eve@example.org", device: "own")
      #expect(try await feed.next()?.json["sid"] == own.id)
    }
  }

  @Test func `treats a future id as the newest, and rejects a malformed one`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let feed = try await WireStream(test.client, token: phone.access, after: "999999")
      _ = try await feed.next()
      let laptop = try await test.signIn(device: "laptop")
      #expect(try await feed.next()?.json["sid"] == laptop.id)
      for id in ["x", "-1", "1.5", "99999999999999999999"] {
        let answer = try await test.client.get("/v1/events", token: phone.access, headers: ["Last-Event-ID": id])
        #expect(answer.status == 400)
        #expect(answer.isProblem)
      }
    }
  }

  @Test func `sends heartbeats while idle`() async throws {
    try await TestServer.run({ $0.heartbeat = .milliseconds(20) }) { test in
      let phone = try await test.signUp()
      let feed = try await WireStream(test.client, token: phone.access)
      #expect(try await feed.nextBlock()?.name == "verification")
      for _ in 0..<3 {
        let beat = try #require(try await feed.nextBlock())
        #expect(beat.comment != nil)
        #expect(beat.name == nil)
      }
    }
  }

  @Test func `closes when its token expires`() async throws {
    try await TestServer.run({ $0.accessTokenLife = .seconds(1) }) { test in
      let phone = try await test.signUp()
      let feed = try await WireStream(test.client, token: phone.access)
      _ = try await feed.next()
      // The server ends it; the wait is the token's lifetime of one second.
      #expect(try await feed.next() == nil)
    }
  }

  @Test func `closes when another copy of the store has taken its place, whatever its IDs`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let feed = try await WireStream(test.client, token: phone.access)
      _ = try await feed.next()
      test.store.replace()
      #expect(try await feed.next() == nil)
      let laptop = try await test.signIn(device: "laptop")
      let next = try await WireStream(test.client, token: phone.access)
      _ = try await next.next()
      _ = try await test.client.send("DELETE", "/v1/sessions/\(laptop.id)", token: phone.access)
      #expect(try await next.next()?.name == "session-revoked")
    }
  }

  @Test func `closes when the server stops, without delaying it`() async throws {
    let feeds = try await TestServer.run { test in
      let phone = try await test.signUp()
      let feeds = [
        try await WireStream(test.client, token: phone.access), try await WireStream(test.client, token: phone.access),
      ]
      for feed in feeds { _ = try await feed.next() }
      #expect(test.metrics.openStreams == 2)
      return Unchecked(feeds)
    }
    for feed in feeds.value { #expect(try await feed.next() == nil) }
  }

  @Test func `is released when its client disconnects`() async throws {
    try await TestServer.run({ $0.heartbeat = .milliseconds(5) }) { test in
      let phone = try await test.signUp()
      let feed = try await WireStream(test.client, token: phone.access)
      _ = try await feed.next()
      #expect(test.metrics.openStreams == 1)
      feed.close()
      #expect(await eventually { test.metrics.openStreams == 0 })
    }
  }
}

/// A value that one task passes to the next.
struct Unchecked<Value>: @unchecked Sendable {  // Unchecked: only one task has it at a time.
  let value: Value
  init(_ value: Value) { self.value = value }
}
#endif
