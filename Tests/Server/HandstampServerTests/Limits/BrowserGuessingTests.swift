#if Programs
import Foundation
import HandstampCore
import HandstampServer
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Guessing a password in a browser` {
  private func signIn(
    _ test: TestServer, in browser: Browser, password: String = "not this one"
  ) async throws -> Int {
    let path = OAuthApp().page()
    let page = try await browser.get(path)
    return try await browser.post(
      path,
      [("csrf", page.csrf ?? ""), ("email", "ada@example.org"), ("password", password), ("action", "sign-in")]
    ).status
  }

  @Test func `stops, but not in a browser where the owner signed in before`() async throws {
    try await TestServer.runOAuth { test in
      let owner = Browser(test.client.base)
      let first = try await signIn(test, in: owner, password: TestServer.password)
      #expect(first == 303)
      let thief = Browser(test.client.base)
      for _ in 0..<10 { #expect(try await signIn(test, in: thief) == 200) }
      #expect(try await signIn(test, in: thief, password: TestServer.password) == 429)
      owner.cookies["__Host-handstamp-session"] = nil
      #expect(try await signIn(test, in: owner, password: TestServer.password) == 303)
      let stranger = Browser(test.client.base)
      #expect(try await signIn(test, in: stranger, password: TestServer.password) == 429)
    }
  }
}
#endif
