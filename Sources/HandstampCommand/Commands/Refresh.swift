#if Programs
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp refresh`.
struct Refresh: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "gets a new access token now, and prints the status",
    discussion: "of many processes that ask at once, one refreshes; the others have what it got")

  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "refresh")
    let client = try await Client.chosen(account, minimumAge: .zero)
    do throws(SessionError) {
      try await WaitLine.shared.during(client.server.text) { () async throws(SessionError) in
        if let current = await client.storedToken() {
          _ = try await client.controller.token(insteadOf: current)
        } else {
          _ = try await client.controller.token()
        }
      }
    } catch {
      await client.settle()
      throw await client.refusal(ofRefresh: error)
    }
    await client.settle()
    let report = StatusReport(
      home: client.home, account: client.account, reading: await client.vault.read(), now: SystemClock().now())
    report.show(output)
  }
}

extension Client {
  /// Why there is no newer token. Where the one that is there still serves, it says so.
  func refusal(ofRefresh error: SessionError) async -> Refusal {
    let refusal = await self.refusal(error)
    guard let rest = await rest() else { return refusal }
    switch error {
    case .noRefreshToken:
      return Refusal(
        .failure, "there is no refresh token, and no newer access token without one; \(rest)",
        hint: "go on with it, or run: handstamp login --force" + (account.namedAs.map { " --account \($0)" } ?? ""))
    case .tokenRefused:
      return Refusal(
        .failure, "\(server.text) issues the same access token again; \(rest)",
        hint: "go on with it; a newer one comes when it ends")
    case .unreachable, .refused, .invalidAnswer, .unsupported, .storage:
      return refusal.saying("\(refusal.message); \(rest)")
    default: return refusal
    }
  }

  /// That the access token in the vault serves for some time yet; `nil` when it does not.
  private func rest() async -> String? {
    let access: StoredAccess?
    switch await vault.read() {
    case .value(let entry): access = entry.session?.access
    case .accessOnly(_, _, let found): access = found
    case .absent, .trouble: access = nil
    }
    guard let access else { return nil }
    guard let lifetime = access.lifetime else { return "the access token that is here is kept" }
    let left = lifetime.remaining(at: SystemClock().now())
    return left > .zero ? "the access token that is here is good for \(left.words)" : nil
  }

  /// The access token that the vault holds, good or not.
  func storedToken() async -> AccessToken? {
    switch await vault.read() {
    case .value(let entry): entry.session?.access?.token
    case .accessOnly(_, _, let access): access.token
    case .absent, .trouble: nil
    }
  }
}
#endif
