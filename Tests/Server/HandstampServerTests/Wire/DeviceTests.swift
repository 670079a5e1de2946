#if Programs
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A device` {
  private func patch(_ test: TestServer, _ id: String, _ token: String, _ body: String) async throws
    -> WireClient.Answer
  {
    try await test.client.send(
      "PATCH", "/v1/sessions/\(id)", token: token, headers: ["Content-Type": "application/json"],
      body: Array(body.utf8))
  }

  private func put(_ test: TestServer, _ token: String, _ body: String) async throws -> WireClient.Answer {
    try await test.client.send(
      "PUT", "/v1/device/push-token", token: token, headers: ["Content-Type": "application/json"],
      body: Array(body.utf8))
  }

  @Test func `can be renamed by its owner`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let answer = try await patch(test, laptop.id, phone.access, #"{"name":"Zoë’s 📱"}"#)
      #expect(answer.status == 200)
      #expect(answer.json[object: "device"]["name"] == "Zoë’s 📱")
      #expect(answer.json["current"] == false)
      let list = try await test.client.get("/v1/sessions", token: laptop.access).json[list: "sessions"]
      #expect(Set(list.compactMap { $0[object: "device"]["name"] as String? }) == ["phone", "Zoë’s 📱"])
      // The session continues, refreshes included.
      #expect(try await test.refresh(laptop.refresh, key: .fresh).status == 200)
      let eve = try await test.signUp("eve@example.org")
      let foreign = try await patch(test, laptop.id, eve.access, #"{"name":"mine"}"#)
      let unknown = try await patch(test, "AAAAAAAAAAAAAAAAAAAAAA", eve.access, #"{"name":"mine"}"#)
      #expect(foreign.status == 404)
      #expect(foreign.body == unknown.body)
      for body in [#"{"name":""}"#, #"{"name":"a\u0007"}"#, "{}"] {
        #expect(try await patch(test, phone.id, phone.access, body).status == 400)
      }
    }
  }

  @Test func `is found by its session's escaped id`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let laptop = try await test.signIn(device: "laptop")
      let escaped = laptop.id.utf8.map { "%" + String($0, radix: 16) }.joined()
      #expect(try await test.client.send("DELETE", "/v1/sessions/\(escaped)", token: phone.access).status == 204)
      #expect(try await test.client.get("/v1/me", token: laptop.access).status == 401)
      #expect(try await test.client.send("DELETE", "/v1/sessions/%FF%FE", token: phone.access).status == 404)
    }
  }

  @Test func `has a push token that is never shown, and is removed with its session`() async throws {
    try await TestServer.run { test in
      let phone = try await test.signUp(device: "phone")
      let id = SessionID(phone.id)
      #expect(try await put(test, phone.access, #"{"token":"push-0123"}"#).status == 204)
      #expect(try await test.store.session(id)?.pushToken == Secret("push-0123"))
      for path in ["/v1/sessions", "/v1/me"] {
        #expect(!(try await test.client.get(path, token: phone.access).text.contains("push-0123")))
      }
      #expect(!test.logs.text.contains("push-0123"))
      #expect(try await put(test, phone.access, #"{"token":null}"#).status == 204)
      #expect(try await test.store.session(id)?.pushToken == nil)
      let long = String(repeating: "x", count: 4097)
      for body in ["{}", #"{"token":""}"#, #"{"token":"a b"}"#, #"{"token":"\#(long)"}"#, #"{"token":7}"#] {
        #expect(try await put(test, phone.access, body).status == 400)
      }
      #expect(try await put(test, phone.access, #"{"token":"\#(long.dropLast())"}"#).status == 204)
      #expect(try await test.client.send("POST", "/v1/sign-out", token: phone.access).status == 204)
      #expect(try await test.store.session(id)?.pushToken == nil)
    }
  }
}
#endif
