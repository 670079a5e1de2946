#if Programs
import Handstamp
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine

@Suite(.timeLimit(.minutes(10))) struct `A hint for a client` {
  private let server = try? ServerAddress(parsing: "https://id.example.org")

  @Test func `whose token for an API is refused names both`() throws {
    let refusal = CommandError.refusedTarget(
      TokenTarget(resource: "https://api.example.org"), at: try #require(server), client: "forum")
    #expect(
      refusal.message == "https://id.example.org issues no token for https://api.example.org to the client forum")
    #expect(refusal.hint.contains(#"add https://api.example.org to the "audiences" of the client forum"#))
    #expect(refusal.code == "invalid_target")
    #expect(refusal.exit == .configuration)
  }

  @Test(arguments: [
    (["login", "--tag", "team", "--device"], "run: handstamp login --tag team --device --force"),
    (["login", "--force", "--tag", "my team"], "run: handstamp login --force --tag 'my team'"),
    (["login", "--", "ada"], "run: handstamp login --force -- ada"),
  ])
  func `keeps what was typed`(words: [String], hint: String) {
    #expect(TypedCommand.hint(words, adding: "--force") == hint)
  }

  @Test func `that may not list sessions says where they are`() async throws {
    let server = try #require(server)
    let refused = CommandError(.status(403, Problem(code: "insufficient_scope")), server: server)
    let caller = AuthorizedCaller.environment(AccessToken("t"), AccountServer(server))
    #expect(caller.suggestingOwnClient(refused).hint == "open https://id.example.org/account/devices")
    let other = CommandError(.status(403, nil), server: server)
    #expect(caller.suggestingOwnClient(other) == other)
    try await ProcessFixture.inFolder { folder in
      let account = ListedAccount(
        id: ListedAccount.id(of: AccountID("u1"), at: server.text), name: "ada", server: server.text,
        addedAt: UnixTime(milliseconds: 0))
      let client = try await AccountClient(home: Home(path: folder + "/home"), account: account)
      let hint = AuthorizedCaller.session(client).suggestingOwnClient(refused).hint
      #expect(
        hint.contains("open https://id.example.org/account/devices, or")
          && hint.hasSuffix("--server https://id.example.org --force"))
    }
  }

  @Test func `never names an account by nothing`() {
    let account = ListedAccount(
      id: ListedAccount.id(of: AccountID("u1"), at: "https://id.example.org"), name: "",
      server: "https://id.example.org", addedAt: UnixTime(milliseconds: 0))
    #expect(account.handle(among: [account]) == "u1" && account.words == "u1 at https://id.example.org")
  }
}
#endif
