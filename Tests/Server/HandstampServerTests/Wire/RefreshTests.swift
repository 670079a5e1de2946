#if Programs
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

/// The server's table of the refresh protocol, row by row, over HTTP.
@Suite(.timeLimit(.minutes(10))) struct `A refresh` {
  @Test func `rotates the token, and returns working tokens`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let answer = try await test.refresh(session.refresh, key: .fresh)
      #expect(answer.status == 200)
      #expect(answer.headers["cache-control"] == "no-store")
      #expect(answer.headers["pragma"] == "no-cache")
      #expect(answer.json["token_type"] == "Bearer")
      #expect(answer.json["expires_in"] == 600)
      #expect(answer.json["session_id"] == session.id)
      let access: String = try #require(answer.json["access_token"])
      #expect(access != session.access)
      #expect(try await test.client.get("/v1/me", token: access).status == 200)
      let next: String = try #require(answer.json["refresh_token"])
      #expect(try await test.refresh(next, key: .fresh).status == 200)
      #expect(test.metrics.rotations == 2)
    }
  }

  @Test func `repeated with its key gives the same successor, however often and however late`() async throws {
    try await TestServer.run(limits: RegistryLimits(absoluteLimit: nil, idleLimit: nil)) { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      let first: String? = try await test.refresh(session.refresh, key: key).json["refresh_token"]
      let storm = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<100 { group.addTask { try await test.refresh(session.refresh, key: key).json["refresh_token"] } }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(storm == [first])
      test.clock.advance(by: .seconds(86_400 * 400))
      #expect(try await test.refresh(session.refresh, key: key).json["refresh_token"] == first)
      #expect(test.metrics.rotations == 1)
      #expect(test.metrics.repeats == 101)
    }
  }

  @Test func `with one pair sent concurrently is one rotation`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      let successors = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<64 { group.addTask { try await test.refresh(session.refresh, key: key).json["refresh_token"] } }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(successors.count == 1)
      #expect(successors.first != .some(nil))
      #expect(test.metrics.rotations == 1)
      #expect(test.metrics.thefts == 0)
    }
  }

  @Test func `with a pair from long ago is superseded, and the session continues`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      let second: String = try #require(try await test.refresh(session.refresh, key: key).json["refresh_token"])
      let third: String = try #require(try await test.refresh(second, key: .fresh).json["refresh_token"])
      let late = try await test.refresh(session.refresh, key: key)
      #expect(late.status == 400)
      #expect(late.json["error"] == "invalid_grant")
      #expect(late.json["error_code"] == "superseded")
      #expect(late.json["reason"] as String? == nil)
      #expect(try await test.refresh(third, key: .fresh).status == 200)
    }
  }

  @Test func `of one token with two keys is theft, and ends the session with that reason`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let honest = try await test.refresh(session.refresh, key: .fresh)
      let thief = try await test.refresh(session.refresh, key: .fresh)
      #expect(thief.status == 400)
      #expect(thief.json["error"] == "invalid_grant")
      #expect(thief.json["reason"] == "token_reuse")
      #expect(thief.json["error_code"] as String? == nil)
      let successor: String = try #require(honest.json["refresh_token"])
      let victim = try await test.refresh(successor, key: .fresh)
      #expect(victim.json["reason"] == "token_reuse")
      let access: String = try #require(honest.json["access_token"])
      #expect(try await test.client.get("/v1/me", token: access).json["reason"] == "token_reuse")
      #expect(test.metrics.thefts == 1)
    }
  }

  @Test func `with a token of a forked branch, or older than the memory, is theft`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let bytes = try #require(SessionBytes(SessionID(session.id)))
      _ = try await test.refresh(session.refresh, key: .fresh)
      let forked = test.mint.refreshToken(RefreshClaims(session: bytes, counter: 1, mark: KeyMark(of: .fresh)))
      let answer = try await test.refresh(forked.secret.withExposed { $0 }, key: .fresh)
      #expect(answer.json["reason"] == "token_reuse")

      let other = try await test.signUp("eve@example.org")
      var (token, key) = (other.refresh, RotationKey.fresh)
      let firstKey = key
      for _ in 0...KeyRing.size {
        token = try #require(try await test.refresh(token, key: key).json["refresh_token"])
        key = .fresh
      }
      #expect(try await test.refresh(other.refresh, key: firstKey).json["reason"] == "token_reuse")
    }
  }

  @Test func `ahead of the store fast-forwards it, and is reported`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let bytes = try #require(SessionBytes(SessionID(session.id)))
      let ahead = test.mint.refreshToken(RefreshClaims(session: bytes, counter: 3, mark: KeyMark(of: .fresh)))
      let answer = try await test.refresh(ahead.secret.withExposed { $0 }, key: .fresh)
      #expect(answer.status == 200)
      #expect(test.metrics.fastForwards == 1)
      #expect(test.logs.text.contains("Store had lost rotations of a session"))
      // A rotation that the store lost: undecidable, so it is not treated as token reuse.
      let lost = try await test.refresh(session.refresh, key: .fresh)
      #expect(lost.json["error_code"] == "superseded")
      let next: String = try #require(answer.json["refresh_token"])
      #expect(try await test.refresh(next, key: .fresh).status == 200)
    }
  }

  @Test func `without a well-formed key changes nothing`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      for extra in ["", "&rotation_key=", "&rotation_key=abc", "&rotation_key=AAAAAAAAAAAAAAAAAAAAAB"] {
        let form = "grant_type=refresh_token&refresh_token=\(session.refresh)\(extra)"
        let answer = try await test.client.post("/oauth/token", form: form)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "invalid_request", "\(extra)")
      }
      #expect(try await test.refresh(session.refresh, key: .fresh).status == 200)
    }
  }

  @Test func `with a malformed form is refused with a standard error`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let token = session.refresh
      let key = "AAAAAAAAAAAAAAAAAAAAAA"
      for (form, error) in [
        ("grant_type=password&username=a&password=b", "unsupported_grant_type"),
        ("grant_type=client_credentials", "unauthorized_client"), ("", "invalid_request"),
        ("refresh_token=\(token)&rotation_key=\(key)", "invalid_request"),
        ("grant_type=refresh_token", "invalid_request"),
        (
          "grant_type=refresh_token&refresh_token=\(token)&refresh_token=\(token)&rotation_key=\(key)",
          "invalid_request"
        ),
        ("grant_type=refresh_token&grant_type=refresh_token&refresh_token=\(token)", "invalid_request"),
        ("grant_type=refresh_token&refresh_token=%GG&rotation_key=\(key)", "invalid_request"),
      ] {
        let answer = try await test.client.post("/oauth/token", form: form)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == error, "\(form)")
        #expect(answer.headers["cache-control"] == "no-store")
      }
      let json = try await test.client.post("/oauth/token", json: #"{"grant_type":"refresh_token"}"#)
      #expect(json.status == 400)
      #expect(json.json["error"] == "invalid_request")
      // RFC 6749 section 3.2: unknown parameters are ignored.
      let extra = "grant_type=refresh_token&client_id=handstamp&colour=y&refresh_token=\(token)&rotation_key=\(key)"
      #expect(try await test.client.post("/oauth/token", form: extra).status == 200)
    }
  }

  @Test func `is answered 503, never refused, on a server error`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      // A master key that the operator forgot to restore.
      let foreign = session.refresh.replacing("hst1.k1.", with: "hst1.k2.")
      for fault in [FaultyStore.Fault.none, .writes, .all] {
        test.store.fail(fault)
        let answer = try await test.refresh(fault == .none ? foreign : session.refresh, key: key)
        #expect(answer.status == 503)
        #expect(answer.headers["retry-after"] == "1")
        #expect(answer.json["error"] == "temporarily_unavailable")
      }
      test.store.fail(.none)
      #expect(try await test.refresh(session.refresh, key: key).status == 200)
    }
  }

  @Test func `with 10,000 damaged tokens ends no session`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let key = RotationKey.fresh
      let current: String = try #require(try await test.refresh(session.refresh, key: key).json["refresh_token"])
      let original = Array(current.utf8)
      // Every single bit over HTTP, the rest directly, for speed.
      let single = (0..<original.count * 8).map { bit in
        var bytes = original
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        return bytes
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for lane in 0..<8 {
          group.addTask {
            for index in stride(from: lane, to: single.count, by: 8) {
              let escaped = single[index].map { "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
              try expectHarmless(try await test.refresh(escaped, key: .fresh))
            }
          }
        }
        try await group.waitForAll()
      }
      var random = SplitMix64(state: 7)
      for _ in 0..<10_000 - single.count {
        var bytes = original
        for _ in 0..<Int.random(in: 2...6, using: &random) {
          bytes[Int.random(in: bytes.indices, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
        }
        guard bytes != original else { continue }
        do {
          let outcome = try await test.server.registry.refresh(
            RefreshToken(Secret(bytes: bytes)), key: RotationKey.fresh.wireText, now: test.clock.now)
          #expect(outcome == .forged)
        } catch RegistryError.unknownKey {
          // The flipped bit was in the key's name.
        }
      }
      #expect(test.metrics.thefts == 0)
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      #expect(try await test.refresh(current, key: .fresh).status == 200)
    }
  }
}

/// A refusal that decides nothing about a session: 400 without a reason, or 503 if the key's name was changed.
private func expectHarmless(_ answer: WireClient.Answer) throws {
  if answer.status == 503 { return }
  #expect(answer.status == 400)
  #expect(answer.json["reason"] as String? == nil)
  #expect(answer.json["error_code"] as String? == nil)
}

/// Randomness replayed from a seed.
#endif
