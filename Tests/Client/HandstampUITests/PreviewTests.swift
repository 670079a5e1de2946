import Handstamp
import HandstampTesting
import HandstampUI
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A session for previews` {
  typealias Session = SessionManager<String>

  @Test func `is signed in from the beginning, with its content, and needs no network`() async throws {
    let session = Session.preview(signedInAs: "ada", content: "content")
    await session.restoreSession()
    #expect(session.currentUser?.id == "ada" && session.currentUser?.name == "Ada")
    await observed { session.snapshot.content.value != nil }
    #expect(session.snapshot.content.value == "content")
    #expect(try await session.controller.token() == AccessToken("preview-access"))
    await #expect(throws: APIError.network(.notConnected("a preview has no network"))) {
      _ = try await session.api.get("/v1/me", as: EmptyResponse.self)
    }
  }

  @Test func `is signed out for no user, and lets anyone sign in`() async throws {
    let session = Session.preview(signedInAs: nil, content: "content")
    #expect(await session.restoreSession().value == .some(nil))
    try await session.signIn(email: "bob@example.org", password: "x")
    #expect(session.currentUser?.name == "Bob")
    await session.signOut()
    #expect(!session.isAuthenticated)
  }

  #if DEBUG
  @Test(arguments: [
    (["app"], String?.none), (["app", "-handstamp-state"], nil), (["app", "-handstamp-state", "signed-in:"], nil),
    (["app", "-handstamp-state", "other"], nil), (["app", "-handstamp-state", "signed-out"], "no user"),
    (["app", "-other", "-handstamp-state", "signed-in:ada"], "Ada"),
  ])
  func `of a UI test is chosen by a launch argument`(arguments: [String], name: String?) async {
    let session = Session.forUITests(arguments, content: "content")
    await session?.restoreSession()
    #expect(session.map { $0.currentUser?.name ?? "no user" } == name)
  }
  #endif
}
