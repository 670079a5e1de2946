#if Programs
import Crypto
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

/// A former system that answers what the test says, by path.
private final class Answers: Transport {
  let all = Locked<[String: TransportResponse]>([:])
  let requests = Locked<[TransportRequest]>([])

  subscript(path: String) -> String? {
    get { nil }
    set {
      all.withLock { $0[path] = newValue.map { TransportResponse(status: 200, body: Array($0.utf8)) } }
    }
  }

  func answer(_ path: String, _ status: Int, _ body: String = "", headers: [HeaderField] = []) {
    all.withLock { $0[path] = TransportResponse(status: status, headers: headers, body: Array(body.utf8)) }
  }

  func bodies(_ path: String) -> [String] {
    requests.withLock { $0.filter { $0.url.hasSuffix(path) }.map { String(decoding: $0.body, as: UTF8.self) } }
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    requests.withLock { $0.append(request) }
    guard let answer = all.withLock({ $0.first { request.url.hasSuffix($0.key) }?.value }) else { throw .timedOut }
    return answer
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream { throw .timedOut }
}

@Suite(.timeLimit(.minutes(10))) struct `A session of a former system` {
  private func exchange(
    _ test: TestServer, _ token: String, device: String = "phone", client: String? = nil, key: RotationKey? = .fresh,
    proof: String? = nil
  ) async throws -> WireClient.Answer {
    let key = key.map { "&rotation_key=" + $0.wireText.withExposed { $0 } } ?? ""
    let sender = client.map { "&client_id=\($0)" } ?? "&device_id=\(device)&device_name=Phone&device_platform=iOS"
    return try await ask(
      test,
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=\(token)"
        + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Arefresh_token\(sender)\(key)", proof: proof)
  }

  private func ask(_ test: TestServer, _ form: String, proof: String? = nil) async throws -> WireClient.Answer {
    var headers = ["Content-Type": "application/x-www-form-urlencoded"]
    headers["DPoP"] = proof
    return try await test.client.send("POST", "/oauth/token", headers: headers, body: Array(form.utf8))
  }

  private func account(_ test: TestServer, _ id: String = "17") async throws {
    try await test.store.write(
      [
        .createAccount(
          AccountRecord(
            id: AccountID(id), email: EmailAddress("ada\(id)@example.org"), username: "Ada", passwordHash: nil,
            createdAt: test.clock.now))
      ], events: [])
  }

  private func introspecting() -> FormerSystem {
    var system = FormerSystem()
    system.introspectionURL = "https://old.example.org/introspect"
    system.clientID = "app"
    return system
  }

  private func refreshing() -> FormerSystem {
    var system = FormerSystem()
    system.tokenURL = "https://old.example.org/token"
    system.userInfoURL = "https://old.example.org/userinfo"
    return system
  }

  @Test func `is unknown to a server without one`() async throws {
    try await TestServer.run { test in
      let answer = try await exchange(test, "r1")
      #expect(answer.status == 400)
      #expect(answer.json["error"] == "unsupported_grant_type")
    }
  }

  @Test func `begins once, and again until it is used, whatever the key`() async throws {
    let former = Answers()
    former["/introspect"] = #"{"active":true,"client_id":"app","sub":"17","auth_time":1700000000}"#
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
    } body: { test in
      try await account(test)
      let first = try await exchange(test, "r1")
      #expect(first.status == 200)
      #expect(first.json["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
      #expect(first.json[object: "profile"]["id"] == "17")
      #expect(first.claims("access_token")["auth_time"] as Int? == 1_700_000_000)
      // The response was lost, and the client's key with it. The former system is not asked again.
      former["/introspect"] = #"{"active":false}"#
      let second = try await exchange(test, "r1")
      #expect(second.json["session_id"] as String? == first.json["session_id"])
      let refresh: String = try #require(second.json["refresh_token"])
      #expect(try await test.refresh(refresh, key: .fresh).status == 200)
      let third = try await exchange(test, "r1")
      #expect(third.status == 400)
      #expect(third.json["error"] == "invalid_grant")
      #expect(third.json["error_code"] == "former_session_ended")
      #expect(test.metrics.formerSessions == 1)
      #expect(test.metrics.formerRefusals == 1)
    }
  }

  @Test func `that has ended there is refused, and one that cannot be checked is not`() async throws {
    let former = Answers()
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
    } body: { test in
      try await account(test)
      let down = try await exchange(test, "r1")
      #expect(down.status == 503)
      #expect(down.headers["retry-after"] != nil)
      for (status, body) in [(500, ""), (401, #"{"error":"invalid_client"}"#), (200, "<html>"), (200, "{}")] {
        former.answer("/introspect", status, body)
        #expect(try await exchange(test, "r1").status == 503, "\(status) \(body)")
      }
      // The account was not imported yet.
      former["/introspect"] = #"{"active":true,"client_id":"app","sub":"18"}"#
      #expect(try await exchange(test, "r1").status == 503)
      // Less than the app's refresh token.
      for claims in [#""client_id":"other""#, #""a":1"#, #""client_id":"app","token_type":"Bearer""#] {
        former["/introspect"] = #"{"active":true,"sub":"17",\#(claims)}"#
        #expect(try await exchange(test, "r1").status == 503, "\(claims)")
      }
      former["/introspect"] = #"{"active":false}"#
      #expect(try await exchange(test, "r1").json["error_code"] == "former_session_ended")
    }
  }

  @Test func `is refreshed there once, and its successor outlasts a failure`() async throws {
    let former = Answers()
    former["/token"] = #"{"access_token":"a1","refresh_token":"r2","token_type":"Bearer"}"#
    try await TestServer.run(transport: former) {
      $0.former = refreshing()
    } body: { test in
      try await account(test)
      // It is not known yet whose it is.
      #expect(try await exchange(test, "r1").status == 503)
      former["/userinfo"] = #"{"sub":17}"#
      former["/token"] = #"{"access_token":"a2","refresh_token":"r3","token_type":"Bearer"}"#
      let answer = try await exchange(test, "r1")
      #expect(answer.status == 200)
      // Unknown: it proves nothing.
      #expect(answer.claims("access_token")["auth_time"] as Int? == 0)
      #expect(former.bodies("/token").map { $0.contains("refresh_token=r1") } == [true, false])
      #expect(former.bodies("/token").last?.contains("refresh_token=r2") == true)
    }
  }

  @Test func `that is lost with an answer of the token endpoint is counted`() async throws {
    let former = Answers()
    try await TestServer.run(transport: former) {
      $0.former = refreshing()
    } body: { test async throws in
      #expect(try await exchange(test, "r1").status == 503)
      former.answer("/token", 400, #"{"error":"invalid_grant"}"#)
      #expect(try await exchange(test, "r1").json["error_code"] == "former_session_ended")
      #expect(test.metrics.formerLosses == 1)
      // One that was never asked about is refused, not lost.
      #expect(try await exchange(test, "r9").json["error_code"] == "former_session_ended")
      #expect(test.metrics.formerLosses == 1)
    }
  }

  @Test func `in a table is taken over without the former system, until a new password`() async throws {
    try await TestServer.run {
      $0.former = FormerSystem()
    } body: { test in
      for id in ["17", "18"] { try await account(test, id) }
      let hash = Hexadecimal.text(SHA256.hash(data: Array("r2".utf8)))
      let lines = [
        #"{"account":"17","token":"r1","auth_time":1700000000}"#, "", "{", #"{"account":"17"}"#,
        #"{"account":"99","token":"r4"}"#, #"{"account":"18","sha256":"\#(hash)"}"#,
        #"{"account":"17","token":"r5","expires":1700000000}"#, #"{"account":"17","token":"r6","expires":"soon"}"#,
      ].map { Array($0.utf8) }
      let administration = Administration(test.server.registry, by: .server())
      let result = try await administration.importFormer(lines)
      #expect(result.imported == 3)
      #expect(result.refused.map(\.line) == [3, 4, 5, 8])
      let again = try await administration.importFormer(lines)
      #expect(again.imported == 0)
      #expect(again.known == 3)
      #expect(try await exchange(test, "r1").json[object: "profile"]["id"] == "17")
      for unknown in ["r3", "r4", "r5"] {
        #expect(try await exchange(test, unknown).json["error_code"] == "former_session_ended", "\(unknown)")
      }
      let registry = test.server.registry
      let record = try #require(try await registry.account(AccountID("18")))
      _ = try await registry.takeBack(record, now: test.clock.now)
      #expect(try await exchange(test, "r2").json["error_code"] == "former_session_ended")
    }
  }

  @Test(arguments: ["end all", "disable", "delete"])
  func `of the table ends with all others of its account, though it has not moved yet`(way: String) async throws {
    try await TestServer.run {
      $0.former = FormerSystem()
    } body: { test in
      for id in ["17", "18"] { try await account(test, id) }
      let lines = [#"{"account":"17","token":"r1"}"#, #"{"account":"18","token":"r2"}"#].map { Array($0.utf8) }
      let administration = Administration(test.server.registry, by: .server())
      _ = try await administration.importFormer(lines)
      switch way {
      case "end all": _ = try await test.server.registry.endAll(of: AccountID("17"), now: test.clock.now)
      case "disable":
        _ = try await administration.disable(AccountID("17"))
        #expect(try await exchange(test, "r1").json["error_code"] == "former_session_ended")
        _ = try await administration.enable(AccountID("17"))
      default: _ = try await administration.delete(AccountID("17"))
      }
      #expect(try await administration.importFormer(lines).known == (way == "delete" ? 1 : 2))
      let answer = try await exchange(test, "r1")
      #expect(
        answer.status != 200 && (answer.json["error_code"] == "former_session_ended" || way == "delete"), "\(way)")
      #expect(try await exchange(test, "r2").status == 200)
    }
  }

  @Test func `of an OAuth client needs the flow, and gets its scopes`() async throws {
    let former = Answers()
    former["/introspect"] = #"{"active":true,"client_id":"app","sub":"17"}"#
    let clients = try [
      ConfiguredClient(id: "wiki", name: "Wiki", flows: [.former], scopes: ["openid", "notes"]),
      ConfiguredClient(id: "other", name: "Other", redirectURIs: ["https://other.example.org/"]),
    ]
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
      $0.clients = clients
    } body: { test in
      try await account(test)
      #expect(try await exchange(test, "r1", client: "other").json["error"] == "unauthorized_client")
      let answer = try await exchange(test, "r1", client: "wiki")
      #expect(answer.json["scope"] == "openid notes")
      let id: String? = answer.json["id_token"]
      #expect(id != nil)
    }
  }

  @Test func `is bound to the key that the app or the client proves`() async throws {
    let former = Answers()
    former["/introspect"] = #"{"active":true,"client_id":"app","sub":"17"}"#
    let clients = try [
      ConfiguredClient(id: "wiki", name: "Wiki", flows: [.former], scopes: ["openid", "offline_access"])
    ]
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
      $0.clients = clients
    } body: { test in
      try await account(test)
      let key = P256.Signing.PrivateKey()
      func proof() -> String {
        DPoPProof(at: test.clock.now, nonce: test.server.proofs.nonce(at: test.clock.now)) { $0.key = key }.text
      }
      for client in [nil, "wiki"] {
        let answer = try await exchange(test, client ?? "r1", client: client, proof: proof())
        #expect(answer.json["token_type"] == "DPoP", "\(client ?? "app")")
        let token: String? = answer.json["refresh_token"]
        let key = RotationKey.fresh.wireText.withExposed { $0 }
        let form =
          "grant_type=refresh_token&refresh_token=\(try #require(token))&rotation_key=\(key)"
          + (client.map { "&client_id=\($0)" } ?? "")
        #expect(try await ask(test, form).status == 400, "\(client ?? "app")")
        #expect(try await ask(test, form, proof: proof()).status == 200, "\(client ?? "app")")
      }
    }
  }

  @Test func `is ended there, again after a failure`() async throws {
    let former = Answers()
    former["/introspect"] = #"{"active":true,"client_id":"app","sub":"17"}"#
    former.answer("/revoke", 503)
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
      $0.former?.revocationURL = "https://old.example.org/revoke"
    } body: { test async throws in
      try await account(test)
      #expect(try await exchange(test, "r1").status == 200)
      func job() async throws -> FormerEnd? {
        let late = test.clock.now.advanced(by: .seconds(1 << 20))
        return try await test.store.dueItems(.formerEnd, at: late, limit: 9).first.flatMap {
          PayloadCoding.value(FormerEnd.self, $0.payload)
        }
      }
      #expect(await eventually { (try? await job())?.tries.failures == 1 })
      #expect(former.bodies("/revoke").first == "token=r1&token_type_hint=refresh_token&client_id=app")
      former.answer("/revoke", 200)
      test.clock.advance(by: .seconds(3600))
      #expect(await eventually { test.metrics.formerEnds == 1 })
      // No token is stored in clear.
      let items = try await test.store.dueItems(
        .formerEnd, at: test.clock.now.advanced(by: .seconds(1 << 20)), limit: 9)
      #expect(items.isEmpty)
    }
  }

  @Test func `whose end cannot be read is tried again, and keeps no other from its end`() async throws {
    let former = Answers()
    former["/introspect"] = #"{"active":true,"client_id":"app","sub":"17"}"#
    former.answer("/revoke", 200)
    try await TestServer.run(transport: former) {
      $0.former = introspecting()
      $0.former?.revocationURL = "https://old.example.org/revoke"
    } body: { test async throws in
      try await account(test)
      var random = SystemRandomNumberGenerator()
      let other = TokenMint(try MasterKeys(drawing: KeyID("k9"), from: &random))
      let id = StoredItemID(.formerEnd, "sealed with a missing key")
      let sealed = try other.seal(Secret("r0"), for: .formerToken, boundTo: Base64URL.encode(id.bytes))
      let item = StoredItem(
        id: id, kind: .formerEnd, payload: PayloadCoding.text(FormerEnd(refresh: sealed, access: nil)),
        createdAt: test.clock.now, dueAt: test.clock.now, expiresAt: test.clock.now.advanced(by: .seconds(1 << 20)))
      try await test.store.write([.createItem(item)], events: [])
      #expect(try await exchange(test, "r1").status == 200)
      #expect(await eventually { test.metrics.formerEnds == 1 })
      #expect(
        await eventually {
          let stored = try? await test.store.item(id)
          return stored.flatMap { PayloadCoding.value(FormerEnd.self, $0.payload) }?.tries.failures == 1
        })
    }
  }
}
#endif
