#if Programs
import Foundation
import HandstampCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A request with a token` {
  @Test func `that has expired is refused with that reason`() async throws {
    try await TestServer.run({ $0.accessTokenLife = .seconds(1) }) { test in
      let session = try await test.signUp()
      #expect(try await test.client.get("/v1/me", token: session.access).status == 200)
      test.clock.advance(by: .seconds(2))
      let answer = try await test.client.get("/v1/me", token: session.access)
      #expect(answer.status == 401)
      #expect(answer.code == "token_expired")
      #expect(answer.headers["www-authenticate"]?.hasPrefix(#"Bearer error="invalid_token", "#) == true)
      #expect(answer.isProblem)
    }
  }

  @Test func `that is damaged anywhere in its signature is refused`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let text = Array(session.access.utf8)
      for position in text.indices.suffix(86) {
        var changed = text
        changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let answer = try await test.client.get("/v1/me", token: String(decoding: changed, as: UTF8.self))
        #expect(answer.status == 401, "position \(position)")
        #expect(answer.code == "token_invalid")
      }
      #expect(test.metrics.refusedTokens == 86)
    }
  }

  @Test func `that another server with our key issued for another audience is refused`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      for (issuer, audience) in [
        ("https://id.example.org", "https://api.example.org"), ("https://evil.example.org", "https://id.example.org"),
      ] {
        let other = AccessTokens(
          keys: test.keys, issuer: issuer, audience: audience, client: "x", life: .seconds(60))
        let token = try other.mint(
          account: AccountID(session.account), session: SessionID(session.id), at: .init(exactly: test.clock.now)
        ).text
        #expect(try await test.client.get("/v1/me", token: token).code == "token_invalid")
      }
    }
  }

  @Test func `of one account for another account's session is refused`() async throws {
    try await TestServer.run { test in
      let ada = try await test.signUp()
      let eve = try await test.signUp("eve@example.org")
      let tokens = AccessTokens(
        keys: test.keys, issuer: "https://id.example.org", audience: "https://id.example.org", client: "x",
        life: .seconds(60))
      let mixed = try tokens.mint(
        account: AccountID(ada.account), session: SessionID(eve.id), at: .init(exactly: test.clock.now)
      ).text
      #expect(try await test.client.get("/v1/me", token: mixed).code == "token_invalid")
      let unknown = try tokens.mint(
        account: AccountID(ada.account), session: SessionID("none"), at: .init(exactly: test.clock.now)
      )
      .text
      #expect(try await test.client.get("/v1/me", token: unknown).code == "token_invalid")
    }
  }

  @Test func `of another kind, or with no token, is refused on every route`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let guarded = try OpenAPIDocument(for: ServerConfiguration()).operations(under: "bearer")
      #expect(guarded.count >= 19)
      for operation in guarded {
        let (method, path) = (operation.method, operation.path.replacing("{id}", with: "x"))
        let without = try await test.client.send(method, path)
        #expect(without.status == 401, "\(method) \(path)")
        #expect(without.code == "token_missing", "\(method) \(path)")
        let allowed = ["/v1/me": "profile", "/oauth/userinfo": "openid"][path].map { #"scope="\#($0)", "# }
        let place = (method == "DELETE" ? "" : allowed ?? "") + TestServer.resourceMetadata
        #expect(without.headers["www-authenticate"] == #"Bearer \#(place), DPoP \#(place), algs="ES256""#)
        for header in [
          "Bearer", "Bearer ", "Bearer \(session.refresh)", "Bearer \(session.handle)", "Bearer a.b.c",
          "Bearer  \(session.access)", "Bearer \(session.access) x",
        ] {
          let answer = try await test.client.send(method, path, headers: ["Authorization": header])
          #expect(answer.status == 401, "\(method) \(path)")
          #expect(answer.isProblem)
        }
        let basic = try await test.client.send(method, path, headers: ["Authorization": "Basic YTpi"])
        #expect(basic.code == "token_missing")
      }
      let odd = try await test.client.get("/v1/me", headers: ["Authorization": "bEaReR \(session.access)"])
      #expect(odd.status == 200)
    }
  }
}
#endif
