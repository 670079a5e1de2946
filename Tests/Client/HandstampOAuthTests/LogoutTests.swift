import HandstampCore
import HandstampSupport
import Testing

@testable import HandstampOAuth

@Suite(.timeLimit(.minutes(10))) struct `A sign-out in the browser` {
  static let home = "org.example.app:/signed-out"
  private static let endpoint = #","end_session_endpoint":"https://id.example.org/logout?tenant=1""#

  private func backend(_ more: String = endpoint) -> OAuthBackend {
    OAuthBackend(
      OAuthClient(issuer: StubServer.issuer, id: "the app"),
      transport: StubServer(metadata: StubServer.metadata(more: more)))
  }

  /// Signs out at once, and is sent back with that query.
  private func person(_ pages: Locked<[[String: String]]>, back: String? = nil) -> Person {
    Person { page throws(RedirectError) in
      pages.withLock { $0.append(page) }
      return back ?? "\(page["post_logout_redirect_uri"] ?? "")?state=\(page["state"] ?? "")"
    }
  }

  @Test func `names the client, the return address and the ID token`() async throws {
    let pages = Locked<[[String: String]]>([])
    try await backend().signOutOfBrowser(
      through: person(pages), redirectURI: Self.home, idToken: Secret("a.b.c"), loginHint: "ada")
    let page = try #require(pages.withLock { $0.first })
    #expect(page["client_id"] == "the app" && page["post_logout_redirect_uri"] == Self.home)
    #expect(page["id_token_hint"] == "a.b.c" && page["logout_hint"] == nil && page["tenant"] == "1")
    #expect(page["state"]?.isEmpty == false)
  }

  @Test func `hints at the account without an ID token, and has a fresh state each time`() async throws {
    let pages = Locked<[[String: String]]>([])
    for hint in [nil, "ada@example.org"] {
      try await backend().signOutOfBrowser(through: person(pages), redirectURI: Self.home, loginHint: hint)
    }
    let all = pages.withLock { $0 }
    #expect(all.map { $0["logout_hint"] } == [nil, "ada@example.org"])
    #expect(Set(all.map { $0["state"] }).count == 2)
  }

  @Test(arguments: [
    ("org.example.app:/signed-out", "the response has no state"),
    ("org.example.app:/signed-out?state=other", "the response belongs to another request"),
    ("org.example.app:/elsewhere?state=other", "the browser was redirected to another URL"),
    ("org.example.app:/signed-out?state=a&state=b", "the parameter state of the response is duplicated"),
  ])
  func `believes no response of another request`(back: String, reason: String) async throws {
    await #expect(throws: SessionError.invalidResponse(reason)) {
      try await backend().signOutOfBrowser(through: person(Locked([]), back: back), redirectURI: Self.home)
    }
  }

  @Test func `is not offered by every server, and only over https`() async throws {
    await #expect(throws: SessionError.unsupported("sign-out in the browser")) {
      try await backend("").beginLogout(redirectURI: Self.home)
    }
    await #expect(throws: SessionError.invalidResponse("the end_session_endpoint is not an https URL")) {
      try await backend(#","end_session_endpoint":"http://id.example.org/logout""#).beginLogout(redirectURI: Self.home)
    }
  }

  @Test func `is cancelled by closing the page`() async throws {
    let person = Person { _ throws(RedirectError) in throw .cancelled }
    await #expect(throws: SessionError.cancelled) {
      try await backend().signOutOfBrowser(through: person, redirectURI: Self.home)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A sign-in for one of several accounts` {
  @Test func `names the account, or asks which one, in place of the client's parameters`() async throws {
    let client = OAuthClient(
      issuer: StubServer.issuer, id: "app", parameters: ["prompt": "login", "login_hint": "bob"])
    let backend = OAuthBackend(client, transport: StubServer())
    let plain = StubServer.fields(try await backend.begin(redirectURI: `A sign-out in the browser`.home).url)
    #expect(plain["prompt"] == "login" && plain["login_hint"] == "bob")
    let ada = try await backend.begin(
      redirectURI: `A sign-out in the browser`.home, loginHint: "ada@x", selectsAccount: true)
    let hinted = StubServer.fields(ada.url)
    #expect(hinted["prompt"] == "select_account" && hinted["login_hint"] == "ada@x")
  }
}
