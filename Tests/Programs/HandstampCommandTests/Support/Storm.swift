#if Programs
import Foundation
import HandstampCore

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Processes that all request a token at its expiry, some of which are killed at random points.
struct Storm: Sendable {
  /// The result of one expiry.
  struct Round: Sendable {
    /// Requests that reached the server, including repeats of a pair.
    var requests = 0
    var killed = 0
  }

  let stage: TourFixture
  let processes: Int

  /// When a process is killed; each of these moments occurs without waiting.
  private enum Moment: CaseIterable {
    case atOnce, afterThree, asOneAsks, asTheServerAnswers, asOneEnds
  }

  /// Expires the token, lets all processes request one, and checks that there was one rotation and that the session lives.
  func round() async throws -> Round {
    try await expire()
    stage.proxy.forget()
    let asked = stage.proxy.refreshes.count
    let before = try await stage.session(of: stage.first)
    var random = SystemRandomNumberGenerator()
    let isHeld = Bool.random(using: &random)
    let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
    if isHeld { stage.proxy.nextAnswer(.waits(isHere: isHere, goOn: goOn)) }
    var children: [Child] = []
    var doomed: [(number: Int, moment: Moment)] = []
    let ended = OneShot<Void>()
    for number in 0..<processes {
      let child = try Child(["token"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
      children.append(child)
      Task { if try await child.outcome().status == 0 { ended.set(()) } }
      // Half of them. The last one survives, to report the result.
      if number < processes - 1, Bool.random(using: &random) {
        doomed.append((number, Moment.allCases.randomElement(using: &random) ?? .atOnce))
      }
      for (victim, moment) in doomed
      where (moment == .atOnce && victim == number) || (moment == .afterThree && victim == number - 3) {
        children[victim].send(SIGKILL)
      }
    }
    let (proxy, everybody) = (stage.proxy, children)
    func kill(_ moment: Moment) {
      for (victim, its) in doomed where its == moment { everybody[victim].send(SIGKILL) }
    }
    // If the response is not held, a moment may be missed; its victims are then killed at the next one.
    try await Step.until("a refresh, or the end of a process") { proxy.refreshes.count > asked || ended.hasHappened }
    kill(.asOneAsks)
    if isHeld { try await within(.seconds(240), "the server's response") { try await isHere.value() } }
    kill(.asTheServerAnswers)
    goOn.set(())
    try await ended.value()
    kill(.asOneEnds)
    return try await check(everybody, doomed: Set(doomed.map(\.number)), before.refresh)
  }

  /// Gets a token that has already expired, so that the next process must refresh.
  private func expire() async throws {
    stage.proxy.saysTokensLast(0)
    try await stage.run(["refresh"], on: stage.first)
    stage.proxy.saysTokensLast(600)
  }

  private func check(_ children: [Child], doomed: Set<Int>, _ before: RefreshToken?) async throws -> Round {
    var round = Round()
    for (number, child) in children.enumerated() {
      let outcome = try await child.outcome()
      if outcome.status == 128 + SIGKILL, doomed.contains(number) {
        round.killed += 1
      } else {
        try expect(
          outcome.status == 0 && !outcome.out.isEmpty, "a process exited with \(outcome.status): \(outcome.words)")
      }
    }
    let refreshes = stage.proxy.refreshes
    round.requests = refreshes.count
    try expect(Set(refreshes.map { $0.token + " " + $0.key }).count == 1, "the requests carried different pairs")
    try expect(refreshes.allSatisfy { $0.status == 200 }, "the server refused one")
    try expect(Set(refreshes.map(\.successor)).count == 1, "there were several rotations")
    let after = try await stage.session(of: stage.first)
    try expect(after.refresh != before, "there was no rotation")
    try expect(after.refresh?.secret.withExposed { $0 } == refreshes.last?.successor, "the vault holds another token")
    try expect(after.pendingKey == nil, "a refresh was left unfinished")
    return round
  }
}
#endif
