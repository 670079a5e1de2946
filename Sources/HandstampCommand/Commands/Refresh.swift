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
      throw await client.refusal(error)
    }
    await client.settle()
    let report = StatusReport(
      home: client.home, account: client.account, reading: await client.vault.read(), now: SystemClock().now())
    report.show(output)
  }
}

extension Client {
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
