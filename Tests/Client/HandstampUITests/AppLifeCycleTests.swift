import Foundation
import Handstamp
import HandstampTesting
import HandstampUI
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The life cycle of an app in one line` {
  private let session = SessionManager(backend: NoAccounts(), vault: MemoryVault(), baseURL: base) { _ in "content" }

  @Test func `covers the session`() async {
    await session.restoreSession()
    let life = AppLifeCycle(session)
    #expect(await life.refreshInBackground(), "a signed-out session has nothing to refresh")
  }

  @Test func `covers the sessions of accounts`() async throws {
    let backend = ScriptedBackend { _, _, _ in .noDecision(.network(.timedOut)) }
    let policy = SessionPolicy(
      refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero), retry: RetryPolicy(attempts: 1, base: .zero))
    let accounts = Accounts(store: MemoryAccountsStore()) { _ in
      SessionManager(backend: backend, vault: MemoryVault(), baseURL: base, policy: policy) { _ in "content" }
    }
    let life = AppLifeCycle(accounts)
    #expect(await life.refreshInBackground())
    try await accounts.add { .sample(0, life: .zero) }
    #expect(await !life.refreshInBackground())
    #expect(!backend.calls.isEmpty)
  }

  @Test func `schedules the background task when the app enters the background, and when it runs`() async {
    var scheduled: [String] = []
    let life = AppLifeCycle(SessionLifeCycle { [] }, backgroundTask: "org.example.refresh") { identifier, date in
      #expect(date > Date())
      scheduled.append(identifier)
    }
    #expect(scheduled.isEmpty)
    life.didEnterBackground()
    #expect(scheduled == ["org.example.refresh"])
    await life.refreshInBackground()
    #expect(scheduled.count == 2)
  }

  @Test func `schedules nothing without a background task`() async {
    var isScheduled = false
    let life = AppLifeCycle(SessionLifeCycle { [] }, backgroundTask: nil) { _, _ in isScheduled = true }
    life.didEnterBackground()
    await life.refreshInBackground()
    #expect(!isScheduled)
  }

  @Test func `tells the app that the network is back`() {
    let life = AppLifeCycle(SessionLifeCycle { [] })
    life.didRegainNetwork()
    var returns = 0
    life.onNetworkReturn = { returns += 1 }
    life.didRegainNetwork()
    #expect(returns == 1)
  }

  @Test(arguments: [
    ([true], 0), ([false], 0), ([false, true], 1), ([true, true], 0), ([true, false, false, true, true], 1),
    ([false, true, false, true], 2),
  ])
  func `notices each return of the network, and not that it is there at launch`(paths: [Bool], returns: Int) {
    var network = NetworkPaths()
    #expect(paths.filter { network.isBack(isUsable: $0) }.count == returns)
  }
}
