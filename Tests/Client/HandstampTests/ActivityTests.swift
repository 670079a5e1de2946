@testable import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `Activity` {
  private let clock = ManualClock()
  private let vault = MemoryVault()

  private func controller() -> SessionController {
    var policy = quiet
    policy.idleLimit = .seconds(900)
    return SessionController(backend: ScriptedBackend.rotating(), vault: vault, policy: policy, clock: clock)
  }

  @Test func `just before the limit keeps the session, however late it is reported`() async throws {
    let session = controller()
    try await session.signIn { .sample(0, life: nil) }
    // The first one is reported at once; the others lie in between.
    session.updateSessionActivity()
    for _ in 0..<3 {
      clock.advance(by: .seconds(890))
      session.updateSessionActivity()
      clock.advance(by: .milliseconds(200))
      session.updateSessionActivity()
      clock.advance(by: .seconds(9.8))
      await session.reportActivity()
    }
    _ = try await session.token()
    #expect(session.state.isSignedIn)
    clock.advance(by: .seconds(900))
    // A limit that is set late ends late.
    while session.state.isSignedIn, !Task.isCancelled {
      await othersFirst()
      clock.advance(by: .seconds(1))
    }
    #expect(session.state == .signedOut(.idle))
  }

  @Test func `counts to the instant, even before it is reported`() async throws {
    let session = controller()
    try await session.signIn { .sample(0, life: nil) }
    session.updateSessionActivity()
    await session.reportActivity()
    await clock.sleepers(1)
    // Within the second in which activity is not reported again.
    clock.advance(by: .milliseconds(900))
    session.updateSessionActivity()
    clock.advance(by: .milliseconds(899_200))
    // The limit has fired: either it waits again, or the session has ended.
    await othersFirst { clock.sleeperCount > 0 || !session.state.isSignedIn }
    #expect(session.state.isSignedIn)
    clock.advance(by: .milliseconds(800))
    #expect(await first(session.states) { $0.isSignedOut } == .signedOut(.idle))
  }

  @Test func `is written rarely, however often it is reported`() async throws {
    let session = controller()
    try await session.signIn { .sample(0, life: nil) }
    guard case .value(let before) = await vault.read() else { throw CancellationError() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<10_000 { session.updateSessionActivity() } } }
    }
    await session.reportActivity()
    guard case .value(let after) = await vault.read() else { throw CancellationError() }
    #expect(after.revision - before.revision <= 1)
  }

  @Test func `from a view at 60 Hz costs a task a second, and a write a minute`() async throws {
    let session = controller()
    try await session.signIn { .sample(0, life: nil) }
    guard case .value(let before) = await vault.read() else { throw CancellationError() }
    var reports: Set<Duration> = []
    for _ in 0..<3600 {
      session.updateSessionActivity()
      if let last = session.lastUse.withLock({ $0.reportedAt }) { reports.insert(last) }
      clock.advance(by: .seconds(1) / 60)
    }
    #expect((55...60).contains(reports.count))
    await session.reportActivity()
    guard case .value(let after) = await vault.read() else { throw CancellationError() }
    #expect(after.revision - before.revision <= 2)
  }

  @Test(arguments: [(Duration.seconds(1) - .nanoseconds(1), false), (.seconds(1), true), (.seconds(-1), true)])
  func `is reported again after a second, or when the clock has run backward`(later: Duration, isDue: Bool) {
    var use = SessionController.LastUse()
    let now = Duration.seconds(1000)
    let first = use.isDue(at: now, every: .seconds(1))
    let second = use.isDue(at: now + later, every: .seconds(1))
    #expect(first && second == isDue)
    #expect(use.first == now && use.last == now + later)
  }

  @Test func `keeps an end away that the state has said is near`() async throws {
    let session = controller()
    try await session.signIn { .sample(0, life: nil) }
    await clock.sleepers(1)
    clock.advance(by: .seconds(840))
    let near = await first(session.states) { $0.upcomingEnd != nil }
    #expect(near?.upcomingEnd == UpcomingEnd(reason: .idle, at: clock.now().wall.advanced(by: .seconds(60))))
    session.updateSessionActivity()
    let used = await first(session.states) { $0.upcomingEnd == nil }
    #expect(used?.isSignedIn == true)
  }
}
