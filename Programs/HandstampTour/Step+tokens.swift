#if Operator && DEBUG
import Foundation
import Handstamp

@testable import HandstampCommand
@testable import HandstampCommandLine

extension Step {
  static func signUp(_ stage: TourFixture) async throws -> String {
    try await stage.run(
      ["signup", stage.email, "--server", stage.address.text, "--device-name", "first device"], on: stage.first,
      input: stage.password + "\n")
    try await stage.run(["logout"], on: stage.first)
    try await stage.login(stage.first, deviceName: "first device")
    stage.saw("account created, signed out, signed in: each in its own process")
    let outcome = try await stage.run(["request", "/v1/me"], on: stage.first)
    try expect(outcome.out.contains(stage.email), "/v1/me returned \(outcome.out)")
    stage.saw("another process: GET /v1/me returns \(stage.email)")
    return "GET /v1/me: 200"
  }

  /// Waits for a real token to expire.
  static func thousandTasks(_ stage: TourFixture) async throws -> String {
    let client = try await stage.client(stage.first)
    let old = try await client.controller.token()
    // The new token must serve the last caller on a slow machine, too.
    try await stage.restart(accessTokenLife: "10m")
    try await stage.expiry(of: stage.first)
    stage.proxy.forget()
    let start = ContinuousClock.now
    let callers = (0..<1000).map { _ in Task { try await client.controller.token() } }
    var tokens: Set<AccessToken> = []
    for caller in callers { tokens.insert(try await caller.value) }
    let time = ContinuousClock.now - start
    let count = stage.proxy.refreshes.count
    try expect(tokens.count == 1 && !tokens.contains(old), "\(tokens.count) different tokens were handed out")
    try expect(count == 1, "\(count) refreshes reached the server")
    stage.saw("1,000 callers, 1 refresh at the server, 1 new token, \(time.inMilliseconds)")
    return "1 refresh, \(time.inMilliseconds)"
  }

  static func twentyProcesses(_ stage: TourFixture) async throws -> String {
    // The new token must outlast twenty starts on a slow machine.
    try await stage.restart(accessTokenLife: "10m")
    try await stage.expireNow(stage.first)
    stage.proxy.forget()
    stage.proxy.delayAnswers(by: .milliseconds(700))
    defer { stage.proxy.delayAnswers(by: .zero) }
    let start = ContinuousClock.now
    let outcomes = try await withThrowingTaskGroup(of: Child.Outcome.self) { group in
      for _ in 0..<20 {
        group.addTask { try await stage.run(["token"], on: stage.first) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let time = ContinuousClock.now - start
    let refreshes = stage.proxy.refreshes
    let successors = Set(refreshes.compactMap(\.successor))
    try expect(successors.count == 1, "\(successors.count) rotations took place")
    try expect(Set(outcomes.map(\.out)).count == 1, "the processes got different tokens")
    stage.saw("20 processes, 20 exits with 0, the same token 20 times")
    stage.saw(
      "1 rotation by \(refreshes.count) request(s), \(stage.proxy.mostInTheAir) in flight at once, each held for 700 ms"
    )
    return "1 rotation, \(stage.proxy.mostInTheAir) in flight, \(time.inMilliseconds)"
  }

  static func lostAnswer(_ stage: TourFixture) async throws -> String {
    let clock = ShiftedClock()
    let client = try await stage.client(stage.first, clock: clock)
    _ = try await client.controller.token()
    clock.advance(by: .seconds(600))
    stage.saw("the device's clock is set 10 minutes ahead: the token has expired")
    stage.proxy.forget()
    stage.proxy.nextAnswer(.isLost)
    let start = ContinuousClock.now
    _ = try await within(.seconds(240), "a new token") { try await client.controller.token() }
    let time = ContinuousClock.now - start
    let refreshes = stage.proxy.refreshes
    try expect(refreshes.count == 2, "there were \(refreshes.count) requests")
    try expectOnePair(refreshes)
    let stored = try await stage.session(of: stage.first).refresh?.secret.withExposed { $0 }
    try expect(stored == refreshes[1].successor, "the vault holds another token")
    stage.saw("first response lost, second request with the same pair: same successor, now in the vault")
    return "same successor, \(time.inMilliseconds)"
  }

  static func killedClient(_ stage: TourFixture) async throws -> String {
    // The previous step's clock was ahead: with the right clock, the stored token is from the future, and so not valid.
    let before = try await stage.session(of: stage.first)
    stage.proxy.forget()
    let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
    stage.proxy.nextAnswer(.waits(isHere: isHere, goOn: goOn))
    let child = try Child(["token"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
    try await within(.seconds(240), "the server's answer") { try await isHere.value() }
    child.send(SIGKILL)
    let outcome = try await child.outcome()
    goOn.set(())
    try expect(outcome.status == 128 + SIGKILL && outcome.out.isEmpty, "the client was not killed in time")
    let between = try await stage.session(of: stage.first)
    try expect(between.refresh == before.refresh, "the vault has changed")
    try expect(between.pendingKey != nil, "the rotation key is not in the vault")
    stage.saw("killed while the response was on its way: the vault holds the old token and the pending key")
    let start = ContinuousClock.now
    let next = try await stage.run(["token"], on: stage.first)
    let time = ContinuousClock.now - start
    try expectOnePair(stage.proxy.refreshes)
    try expect(!next.out.isEmpty, "no token was printed")
    stage.saw("the next start sends the same pair, gets the same successor and carries on")
    return "carried on in \(time.inMilliseconds)"
  }

  /// Checks that all requests carried the same token and key, and all responses the same successor.
  private static func expectOnePair(_ refreshes: [Proxy.Refresh]) throws {
    try expect(refreshes.count >= 2, "there was no second request")
    try expect(Set(refreshes.map { $0.token + " " + $0.key }).count == 1, "the requests carried different pairs")
    try expect(refreshes.allSatisfy { $0.status == 200 }, "the server refused one")
    try expect(Set(refreshes.map(\.successor)).count == 1, "the successors differ")
  }
}
#endif
