#if Command
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp token`.
struct Token: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "print a valid access token",
    discussion: "safe to run in parallel: processes that need a refresh share one")

  @Option(
    help: """
      minimum remaining lifetime, e.g. 60s or 5m (capped at 80% of the token's lifetime), or what is left, if the server \
      does not answer
      """)
  var minValidity = Span(.zero)
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  struct Answer: Document {
    var schemaVersion = 1
    var token: String
    /// `session` or `environment`.
    var source: String
    var expiresAt: String?
    var expiresAtEpoch: Int64?
  }

  func perform() async throws {
    if let token = EnvironmentToken.current {
      if account.account != nil { try EnvironmentToken.refuse(to: "--account") }
      return show(token, source: "environment", endsAt: nil)
    }
    let client = try await AccountClient.chosen(account)
    let token = try await client.token(minimumValidity: minValidity.duration)
    show(token, source: "session", endsAt: output.json ? await client.end(of: token) : nil)
  }

  private func show(_ token: AccessToken, source: String, endsAt: UnixTime?) {
    token.secret.withExposed { text in
      guard output.json else { return Terminal.out(text) }
      Answer(token: text, source: source, expiresAt: endsAt?.description, expiresAtEpoch: endsAt?.seconds).writeLine()
    }
  }
}

extension AccountClient {
  /// Returns when `token` expires, by this device's wall clock, or `nil` if the vault does not know.
  func end(of token: AccessToken) async -> UnixTime? {
    guard case .value(let entry) = await vault.read(), let access = entry.session?.access, access.token == token else {
      return nil
    }
    let now = SystemClock().now()
    return access.lifetime.map { now.wall.advanced(by: $0.remaining(at: now)) }
  }
}
#endif
