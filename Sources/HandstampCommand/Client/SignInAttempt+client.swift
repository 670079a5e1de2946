#if Command
import Handstamp
import HandstampCore

extension SignInAttempt {
  /// Refuses a client other than the one that an account is signed in by: a list has one session for an account.
  func refuseReplacing(_ account: ListedAccount, by client: String) throws(CommandError) {
    let record = try home.oauth(of: account.id)
    guard record?.client != client else { return }
    let other = record.map { "the client \($0.client.onOneLine)" } ?? "another protocol"
    throw CommandError(
      .failure, "\(account.words) is signed in by \(other), not by \(client.onOneLine)",
      hint: "run: handstamp login --issuer \(shellWord(record?.issuer.onOneLine ?? server.text)) "
        + "--client-id \(shellWord(client.onOneLine)) --force",
      code: "another_client"
    )
    .about(named?.handle(among: book.accounts))
  }
}
#endif
