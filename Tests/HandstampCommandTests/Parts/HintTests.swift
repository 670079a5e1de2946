#if Programs
import Handstamp
import HandstampCore
import Testing

@testable import HandstampCommand

@Suite(.timeLimit(.minutes(10))) struct `A hint for a client` {
  private let server = try? ServerAddress(parsing: "https://id.example.org")

  @Test func `whose token for an API is refused names both`() throws {
    let refusal = CommandError.refusedTarget(
      TokenTarget(resource: "https://api.example.org"), at: try #require(server), client: "forum")
    #expect(
      refusal.message == "https://id.example.org issues no token for https://api.example.org to the client forum")
    #expect(refusal.hint.hasSuffix("--audience https://api.example.org") && refusal.code == "invalid_target")
    #expect(refusal.exit == .configuration)
  }

  @Test func `that may not list sessions says where they are`() throws {
    let server = try #require(server)
    let refused = CommandError(.status(403, Problem(code: "insufficient_scope")), server: server)
    #expect(Sessions.hinting(refused, at: server).hint.contains("open https://id.example.org/account/devices"))
    let other = CommandError(.status(403, nil), server: server)
    #expect(Sessions.hinting(other, at: server) == other)
  }

  @Test func `never names an account by nothing`() {
    let account = ListedAccount(
      id: ListedAccount.id(of: AccountID("u1"), at: "https://id.example.org"), name: "",
      server: "https://id.example.org", addedAt: UnixTime(milliseconds: 0))
    #expect(account.handle(among: [account]) == "u1" && account.words == "u1 at https://id.example.org")
  }
}
#endif
