#if Command
import Crypto
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// The one session that an agent hands out tokens of. It is the session of all other processes of this machine: they share vault, lock
/// and refresh.
@MainActor final class AgentSession {
  /// The other API or scopes of the tokens; `nil` for the session's own.
  private let target: TokenTarget?
  private let home: Home
  private let name: String?
  private let account: ListedAccount
  private var client: AccountClient

  init(_ client: AccountClient, target: TokenTarget?) {
    (self.client, self.target) = (client, target)
    (home, account, name) = (client.home, client.account, client.name)
  }

  /// The account and the API, for people.
  var words: String {
    let parts = [target?.resource ?? target?.audience, target.map { $0.scopes.joined(separator: " ") }]
    let place = parts.compactMap { $0 }.filter { !$0.isEmpty }
    return ([account.words] + place).joined(separator: ", ")
  }

  /// The origin that requests with these tokens go to, as far as the policy names one.
  var server: String {
    guard let resource = target?.resource, let origin = Origin(resource), origin.isTrustworthy else {
      return client.server.text
    }
    return origin.text
  }

  /// Returns a valid token.
  ///
  /// - Parameter refused: ``digest(of:)`` of a token that an API rejected; `nil` accepts any.
  func token(lasting validity: Duration, replacing refused: String?) async throws(CommandError) -> HandedToken {
    if try home.oauth(of: account.id) != client.access?.record { try reopen() }
    do throws(CommandError) { return try await current(validity, refused) } catch {
      // A sign-in by another process, of which the vault has not told yet.
      guard error.exit == .signInNeeded, await client.vault.session != nil else { throw error }
      try reopen()
      return try await current(validity, refused)
    }
  }

  private func reopen() throws(CommandError) {
    client = try AccountClient(home: home, account: account, named: name, isShortLived: false)
  }

  private func current(_ validity: Duration, _ refused: String?) async throws(CommandError) -> HandedToken {
    let client = client
    var handed =
      if let target { try await client.token(for: target, minimumValidity: validity) } else {
        try await client.handedToken(lasting: validity, withEnd: false)
      }
    if AgentSession.digest(of: handed.token) == refused {
      handed = try await client.token(replacing: handed.token, for: target)
    }
    if target == nil { handed.end = await client.end(of: handed.token) }
    return handed
  }

  /// The SHA-256 of a token in hexadecimal digits, which names it without being it.
  nonisolated static func digest(of token: AccessToken) -> String {
    token.secret.withExposedBytes { Hexadecimal.text(SHA256.hash(data: Array($0))) }
  }
}
#endif
