#if Command
import Handstamp
import HandstampCore

extension SignInAttempt {
  /// Refuses a client other than the one that an account is signed in by: a list has one session for an account.
  func refuseReplacing(_ account: ListedAccount, by client: String) throws(CommandError) {
    let record = try home.oauth(of: account.id)
    guard record?.client != client else { return }
    throw .replacing(account, record, by: client, hint: TypedCommand.hint(adding: "--force"))
  }
}

extension CommandError {
  /// A sign-in by `client` would end the session of an account that is signed in otherwise.
  ///
  /// - Parameter record: How it is signed in; `nil` for Handstamp's own protocol.
  static func replacing(
    _ account: ListedAccount, _ record: OAuthRecord?, by client: String, hint: String
  ) -> CommandError {
    let other = record.map { "the client \($0.client.onOneLine)" } ?? "another protocol"
    return CommandError(
      .failure, "\(account.words) is signed in by \(other), not by \(client.onOneLine)", hint: hint,
      code: "another_client")
  }
}
#endif
