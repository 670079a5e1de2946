import Foundation
import Handstamp
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// This file imports no other module of the package: these calls compile only as long as `import Handstamp` is enough for them.
// `scripts/dev api` and `make docs` check that of the guides' code.

@MainActor private func calls(
  _ session: SessionManager<String>, _ accounts: Accounts<String>, at url: URL
) async throws {
  try await session.signIn(email: "ada@example.org", password: "correct horse")
  if case .signedIn(let facts) = session.state {
    _ = (facts.startedAt.date, facts.upcomingEnd?.at.since(.now), UnixTime.now.advanced(by: .seconds(60)))
  }
  do { _ = try await session.token() } catch { _ = (error.code, error.recovery) }
  let name: String = try await session.api.get("/v1/me")
  var request = URLRequest(url: url)
  try await session.authorize(&request)
  try await session.registerPushToken(Data(name.utf8))

  let log = FileAuditLog.standard("hello")
  _ = (log.head?.sequence, try await log.entries().first?.entry.at, try await log.verify().isIntact)
  let queue = RequestQueue(for: AccountID("ada"), api: session.api, beside: .standard("hello"))
  try await queue.enqueue(TransportRequest(method: "POST", url: url.absoluteString))
  _ = await queue.replay().stop

  try await accounts.activate(AccountID("ada"))
  _ = (accounts.active?.currentUser?.name, accounts.accounts.map(\.addedAt.date))
  _ = await session.signOut(.standard.erasing(.downloads)).cleanup.cleared
  for await state in session.states {
    if case .signedOut(let reason) = state { _ = reason?.rawValue }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `What import Handstamp shows` {
  @Test func `is enough for times, which survive as dates`() {
    for milliseconds in stride(from: 1_800_000_000_000 as Int64, to: 1_800_000_001_000, by: 7) {
      let time = UnixTime(milliseconds: milliseconds)
      #expect(UnixTime(time.date) == time)
    }
    #expect(UnixTime(Date(timeIntervalSince1970: -0.001)) == UnixTime(milliseconds: -1))
    for (seconds, limit) in [(1e300, .max), (.infinity, .max), (-1e300, .min)] as [(Double, Int64)] {
      #expect(UnixTime(Date(timeIntervalSince1970: seconds)).milliseconds == limit)
    }
    #expect(abs(UnixTime.now.date.timeIntervalSinceNow) < 3600)
  }
}
