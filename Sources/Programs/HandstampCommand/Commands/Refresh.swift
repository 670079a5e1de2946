#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

struct Refresh: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh", abstract: "get a new access token now, and print the status",
    discussion: """
      of several processes that ask at once, one refreshes and the others share
      its result
      """)

  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "refresh")
    let client = try await installation.client(account, minimumAge: .zero)
    do throws(SessionError) {
      try await client.waiting { () async throws(SessionError) in
        if let current = await client.storedAccess()?.token {
          _ = try await client.controller.token(replacing: current)
        } else {
          _ = try await client.controller.token()
        }
      }
    } catch {
      throw await client.refusal(ofRefresh: error)
    }
    let report = StatusReport(
      home: client.home, account: client.account, named: client.name, reading: await client.vault.read(),
      now: SystemClock().now())
    report.show(output)
  }
}

extension AccountClient {
  /// Describes why there is no newer token, and says so if the current one is still valid.
  func refusal(ofRefresh error: SessionError) async -> CommandError {
    let refusal = await self.refusal(error)
    guard let rest = await rest() else { return refusal }
    switch error {
    case .noRefreshToken:
      return CommandError(
        .failure, "this session has no refresh token, so it cannot get a new access token; \(rest)",
        hint: "keep using it, or run: handstamp login --force" + (name.map { " --account \(shellWord($0))" } ?? ""))
    case .tokenRejected:
      return CommandError(
        .failure, "\(server.text) issued the same access token again; \(rest)",
        hint: "keep using it; a new one is issued when it expires")
    case .requestFailed, .refused, .invalidResponse, .unsupported, .storage:
      return refusal.saying("\(refusal.message); \(rest)")
    default: return refusal
    }
  }

  /// Says how long the stored access token is still valid; `nil` if it is not.
  private func rest() async -> String? {
    guard let access = await storedAccess() else { return nil }
    guard let lifetime = access.lifetime else { return "the current access token is kept" }
    let left = lifetime.remaining(at: SystemClock().now())
    return left > .zero ? "the current access token is valid for \(left.words)" : nil
  }

  /// The access token in the vault, valid or not.
  func storedAccess() async -> StoredAccess? {
    switch await vault.read() {
    case .value(let entry): entry.session?.access
    case .accessOnly(let session): session.access
    case .absent, .trouble: nil
    }
  }
}
#endif
