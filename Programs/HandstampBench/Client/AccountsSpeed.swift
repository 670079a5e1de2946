#if Programs
import Foundation
import Handstamp
import HandstampTesting

/// Measures finding one account among many, and restoring its session after a launch.
struct AccountsSpeed {
  let folder: String
  private let count = 1_001
  private let launches = 101

  @concurrent func measure(into report: inout Report) async throws {
    try await lookUp(into: &report)
    try await restore(into: &report)
  }

  private func lookUp(into report: inout Report) async throws {
    let list = AccountsList(
      accounts: (0..<count).map {
        ListedAccount(
          id: AccountID("account-\($0)"), name: "Name \($0)", tag: "tag-\($0)", addedAt: UnixTime(seconds: Int64($0)))
      })
    let (byID, byTag) = try await lookUp(in: list)
    let how = "among \(count.formatted), on the main actor"
    report.add("client", "account by ID", byID, "ns", target: .atMost(1000), note: how + "; best peer 14 µs")
    report.add("client", "account by tag", byTag, "ns", target: .atMost(3000), note: how + "; best peer 243 µs")
  }

  @MainActor private func lookUp(in list: AccountsList) async throws -> (Double, Double) {
    let accounts = Accounts<Void>(store: MemoryAccountsStore(list)) { account in
      SessionManager(backend: Sessions.silent, vault: MemoryVault(), baseURL: URL(fileURLWithPath: "/")) { _ in }
    }
    await accounts.load()
    let id = AccountID("account-\(count - 1)")
    var found = 0
    let byID = await Timing.nanoseconds(batches: 21, of: 2_000) { count in
      for _ in 0..<count { found += accounts[id] == nil ? 0 : 1 }
    }
    let byTag = await Timing.nanoseconds(batches: 21, of: 200) { count in
      for _ in 0..<count { found += accounts.account(tagged: "tag-1000") == nil ? 0 : 1 }
    }
    guard found == 22 * 2_200 else { throw BenchError("an account was not found") }
    return (byID, byTag)
  }

  /// Measures the time from launch to a token: creating the controller, reading the vault's file and its key.
  private func restore(into report: inout Report) async throws {
    let vault = SealedFileVault(folder: folder, account: AccountID("ada"))
    let first = SessionController(backend: Sessions.silent, vault: vault)
    try await first.signIn(with: Sessions.grant(0, session: SessionID("s")), by: .init(.password))
    var times: [Double] = []
    for _ in 0..<launches {
      let time = try await Timing.once {
        let controller = SessionController(
          backend: Sessions.silent, vault: SealedFileVault(folder: folder, account: AccountID("ada")))
        _ = try await controller.token()
      }
      times.append(time.inMilliseconds * 1000)
    }
    report.add(
      "client", "restore, from launch to a token", times.median, "µs", target: .atMost(462),
      note: "reads sealed file and key file; median of \(launches); best peer 462 µs, from memory")
  }
}
#endif
