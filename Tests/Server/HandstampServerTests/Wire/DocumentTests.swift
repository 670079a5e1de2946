#if Programs
import HandstampCore
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Public documents` {
  @Test func `the app configuration needs no sign-in, and can be cached`() async throws {
    let text = #"{ "minimumVersion": "1.2", "features": {"x": true} }"#
    try await TestServer.run({ $0.appConfig = text }) { test in
      let first = try await test.client.get("/v1/app-config")
      #expect(first.status == 200)
      #expect(first.text == text)
      let tag = try #require(first.headers["etag"])
      #expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
      for known in [tag, "\"other\", \(tag)", "*", "W/\(tag)"] {
        let again = try await test.client.get("/v1/app-config", headers: ["If-None-Match": known])
        #expect(again.status == 304)
        #expect(again.body.isEmpty)
        #expect(again.headers["etag"] == tag)
      }
      let other = try await test.client.get("/v1/app-config", headers: ["If-None-Match": "\"other\""])
      #expect(other.status == 200)
    }
  }

  @Test(arguments: ["", "[]", "\"text\"", "{", "{} x"])
  func `an app configuration that is not an object prevents the start`(_ text: String) async throws {
    await #expect(throws: ServerConfigurationError.appConfig) {
      try await TestServer.run({ $0.appConfig = text }) { _ in }
    }
  }

  @Test func `the key set lets any client verify tokens`() async throws {
    try await TestServer.run { test in
      let session = try await test.signUp()
      let answer = try await test.client.get("/.well-known/jwks.json")
      #expect(answer.status == 200)
      let claims = try await Authlib.verify(session.access, keys: answer.text)[object: "payload"]
      #expect(claims["sub"] == session.account)
      #expect(claims["sid"] == session.id)
      #expect(claims["iss"] == "https://id.example.org")
    }
  }
}
#endif
