#if Programs
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Testing

@testable import HandstampServer

/// A client's permissions are those of its configuration as it is now, within what its session was granted.
@Suite(.timeLimit(.minutes(10))) struct `The rights of an OAuth client` {
  private let granted = SessionClient(id: "app", scope: "profile email", audience: nil)

  private func wish(_ form: String = "", scope: String? = nil, scopes: [String], audiences: [String] = [])
    throws -> TokenScopeRequest
  {
    let client = try ConfiguredClient(
      id: "app", redirectURIs: ["https://app.example.org/cb"], scopes: scopes, audiences: audiences)
    return try TokenScopeRequest(FormFields(Array(form.utf8)), of: client, at: "https://id.example.org", scope: scope)
  }

  @Test func `are those of its session while nothing has changed`() throws {
    #expect(try wish(scopes: ["profile", "email", "more"]).narrowed(granted) == granted)
  }

  @Test(arguments: [nil, "profile email"]) func `are without a scope that was taken from it`(asked: String?) throws {
    let client = try wish(scope: asked, scopes: ["profile"]).narrowed(granted)
    #expect(client?.scope == "profile")
  }

  @Test func `are refused rather than none, if all that it asks for were taken from it`() throws {
    let wish = try wish(scope: "email", scopes: ["profile"])
    #expect(throws: GrantRefusal.invalidScope) { try wish.narrowed(granted) }
  }

  @Test func `are not more than it was granted`() throws {
    let wish = try wish(scope: "profile admin", scopes: ["profile", "email", "admin"])
    #expect(throws: GrantRefusal.invalidScope) { try wish.narrowed(granted) }
  }

  @Test func `do not include an API that was taken from it`() throws {
    let session = SessionClient(id: "app", scope: "profile", audience: "https://api.example.org")
    #expect(try wish(scopes: ["profile"], audiences: ["https://api.example.org"]).narrowed(session) == session)
    let wish = try wish(scopes: ["profile"])
    #expect(throws: GrantRefusal.invalidTarget) { try wish.narrowed(session) }
  }
}
#endif
