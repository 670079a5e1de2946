#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

extension SignInAttempt {
  /// An attempt at a server, of which the command line says nothing else.
  init(at server: String, account: String? = nil) async throws(CommandError) {
    do {
      self = try await SignInAttempt(
        server: .parse(["--server", server]), account: account, deviceName: nil, network: .parse([]),
        output: .parse([]))
    } catch {
      throw error as? CommandError ?? CommandError(.failure, plain("\(error)"), hint: "this is a bug; please report it")
    }
  }

  /// Signs in at the server of an OAuth client.
  ///
  /// - Parameters:
  ///   - way: `nil` for the usual one of the server.
  ///   - opening: Whether to open a browser.
  ///   - patience: How long to wait for the user; `nil` as in ``OAuthSignIn/signIn(by:opening:within:)``.
  ///   - stored: Returns the record to store for the one that was used.
  @discardableResult
  func signIn(
    _ record: OAuthRecord, secret: Secret?, by way: OAuthSignIn.Way? = nil, opening: Bool = true,
    within patience: Duration? = nil, storing stored: @Sendable (OAuthRecord) -> OAuthRecord = { $0 }
  ) async throws(CommandError) -> ListedAccount {
    let signIn = try await OAuthSignIn(record, secret: secret, at: server, in: home, over: transport)
    let way = way ?? signIn.usualWay
    return try await self.signIn(
      by: SignInClaim(way.method), oauth: stored(signIn.record), clientSecret: signIn.secret
    ) { () async throws(CommandError) in try await signIn.signIn(by: way, opening: opening, within: patience) }
  }

  /// Refuses a client other than the one that an account is signed in by: a list has one session for an account.
  ///
  /// - Parameter client: `nil` for one that registers itself.
  func refuseReplacing(_ account: ListedAccount, by client: String?) throws(CommandError) {
    let record = try home.oauth(of: account.id)
    guard client.map({ $0 != record?.client }) ?? (record?.registration == nil) else { return }
    throw .replacing(account, record, by: client, hint: TypedCommand.hint(adding: "--force"))
  }
}

extension CommandError {
  /// A sign-in by `client` would end the session of an account that is signed in otherwise.
  ///
  /// - Parameters:
  ///   - record: How it is signed in; `nil` for Handstamp's own protocol.
  ///   - client: `nil` for one that registers itself.
  static func replacing(
    _ account: ListedAccount, _ record: OAuthRecord?, by client: String?, hint: String
  ) -> CommandError {
    let client = client?.onOneLine ?? "a client that registers itself"
    let other = record.map { "the client \($0.client.onOneLine)" } ?? "another protocol"
    return CommandError(
      .failure, "\(account.words) is signed in by \(other), not by \(client)", hint: hint,
      code: "another_client")
  }
}
#endif
