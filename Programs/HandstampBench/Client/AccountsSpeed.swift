#if Programs
import Foundation
import Handstamp
import HandstampTesting

/// Measures finding one account among many, and restoring its session after a launch.
struct AccountsSpeed {
  let folder: String
  private let count = 1_001
  private let launches = 101
  private let crowd = 500

  @concurrent func measure(into report: inout Report) async throws {
    try await lookUp(into: &report)
    try await restore(into: &report)
    try await rest(into: &report)
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
    let people = ["ada", "bob", "cleo"]
    for person in people {
      try await controller(of: person)
        .signIn(with: Sessions.grant(0, session: SessionID("s")), by: .init(.password))
    }
    var (one, three): ([Double], [Double]) = ([], [])
    for _ in 0..<launches {
      one.append(try await Timing.once { _ = try await controller(of: "ada").token() }.inMicroseconds)
      let time = try await Timing.once {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for person in people { group.addTask { _ = try await controller(of: person).token() } }
          try await group.waitForAll()
        }
      }
      three.append(time.inMicroseconds)
    }
    report.add(
      "client", "restore, from launch to a token", one.median, "µs", target: .atMost(462),
      note: "reads sealed file and key file; median of \(launches); best peer 462 µs, from memory")
    report.add("client", "restore of three accounts", three.median, "µs", note: "at once; median of \(launches)")
  }

  /// Measures the memory that a session takes which is restored, and at rest.
  private func rest(into report: inout Report) async throws {
    let before = Machine.memory("VmRSS")
    var kept: [SessionController] = []
    for _ in 0..<crowd {
      kept.append(controller(of: "ada"))
      _ = try await kept.last?.token()
    }
    let each = Double(Machine.memory("VmRSS") - before) / 1024 / Double(kept.count)
    report.add("client", "memory of a session", each, "KB", target: .atMost(300), note: "of \(crowd) in one process")
  }

  private func controller(of person: String) -> SessionController {
    SessionController(
      backend: Sessions.silent, vault: SealedFileVault(folder: folder, account: AccountID(person)))
  }
}
#endif
