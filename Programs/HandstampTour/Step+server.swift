#if Operator && DEBUG
import Foundation
import Handstamp

@testable import HandstampCommand
@testable import HandstampCommandLine

extension Step {
  static func killedServer(_ stage: TourFixture) async throws -> String {
    let load = try await Load(stage, devices: 8)
    let running = Task { try await load.run() }
    defer { running.cancel() }
    try await until("two hundred refreshes, and one in flight") {
      load.current.refreshes >= 200 && stage.proxy.inTheAir > 0
    }
    let inTheAir = stage.proxy.inTheAir
    try await stage.server.kill()
    let atTheKill = load.current
    stage.saw("killed after \(atTheKill.refreshes) refreshes, with \(inTheAir) in flight")
    try await until("a device that cannot reach the server") { load.current.unreachable > atTheKill.unreachable }
    let start = ContinuousClock.now
    stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
    let down = ContinuousClock.now - start
    try await until("two hundred more refreshes") { load.current.refreshes >= atTheKill.refreshes + 200 }
    load.stop()
    try await within(.seconds(240), "the end of the load") { try await running.value }
    try await load.check()
    let log = stage.server.log()
    try expect(!log.contains("had lost rotations"), "the store lost an acknowledged rotation")
    try expect(!log.contains("was used twice"), "a device was mistaken for a thief")
    let counts = load.current
    stage.saw("restarted on the same files in \(down.inMilliseconds); all 8 devices carried on, none was signed out")
    stage.saw(
      "none of \(counts.refreshes) refreshes, \(counts.begun.count) sign-ins and \(counts.ended.count) sign-outs was lost"
    )
    await load.end()
    return "0 of 8 signed out, 0 changes lost"
  }

  static func secondDevice(_ stage: TourFixture) async throws -> String {
    let firstFeed = try await LiveFeed(try await stage.client(stage.first))
    try await stage.login(stage.second, deviceName: "second device")
    let appeared = try await firstFeed.next("session-established")
    let client = try await stage.client(stage.second)
    let session = try await stage.session(of: stage.second)
    try expect(appeared.session == session.id.rawValue, "the event is about another session")
    stage.saw("the second device appears in the first one's live feed")

    let feed = try await LiveFeed(client)
    let token = try await client.controller.token()
    let states = client.controller.states
    let over = Task {
      for await state in states {
        if case .signedOut(let reason) = state { return (ContinuousClock.now, reason) }
      }
      throw TourFailure("the second device's states ended")
    }
    let start = ContinuousClock.now
    let caller = AuthorizedCaller.session(try await stage.client(stage.first))
    _ = try await caller.call("DELETE", "/v1/sessions/\(session.id)", as: [String: Int].self, for: "listing sessions")
    let refused = try await stage.status(of: "/v1/me", with: token)
    let refusal = ContinuousClock.now - start
    let (instant, reason) = try await within(.seconds(240), "the second device's sign-out") { try await over.value }
    try expect(refused.status == 401 && refused.reason == "revoked", "its next request got status \(refused.status)")
    try expect(reason == .revoked, "it got another reason")
    _ = feed
    let told = instant - start
    stage.saw("ended from the first device: the second is signed out after \(told.inMilliseconds), with the reason")
    stage.saw("its next request is refused, \(refusal.inMilliseconds) after the first device ended it")
    return "out after \(told.inMilliseconds)"
  }

  static func thief(_ stage: TourFixture) async throws -> String {
    try await stage.login(stage.second, deviceName: "second device")
    let feed = try await LiveFeed(try await stage.client(stage.second))
    guard let copied = try await stage.session(of: stage.first).refresh else {
      throw TourFailure("there is no refresh token")
    }
    let session = try await stage.session(of: stage.first).id
    // The thief has a different key, and refreshes first.
    var random = SystemRandomNumberGenerator()
    let identity = try await stage.client(stage.first).identity
    guard
      case .granted(let loot) = await identity.refresh(RefreshRequest(token: copied, key: RotationKey(from: &random))),
      let stolen = loot.tokens.access
    else {
      throw TourFailure("the thief gets no tokens")
    }
    try expect(
      try await stage.status(of: "/v1/me", with: stolen).status == 200, "the thief's token does not work")
    stage.saw("a thief with a copied refresh token refreshes first, and gets in")

    let clock = ShiftedClock()
    let victim = try await stage.client(stage.first, clock: clock)
    clock.advance(by: .seconds(3600))
    do throws(SessionError) {
      _ = try await victim.controller.token()
      throw SessionError.invalidResponse("served")
    } catch {
      try expect(error == .sessionEnded(.tokenReuseDetected), "the device failed with \(error)")
    }
    let answer = try await stage.status(of: "/v1/me", with: stolen)
    try expect(answer.status == 401 && answer.reason == "token_reuse", "the thief still gets in")
    let event = try await feed.next("session-revoked")
    try expect(event.session == session.rawValue && event.reason == "token_reuse", "the event does not match")
    stage.saw("the device's own refresh exposes the theft: the session ends for both, reason token_reuse")
    let status = try await stage.run(["token"], on: stage.first, expecting: .signInNeeded)
    stage.saw("the device says: \(status.words.split(separator: "\n").first ?? "")")
    stage.saw("the account's other device sees in its feed: session-revoked, token_reuse")
    return "both out, reason token_reuse"
  }

  /// Waits for a condition that has no event.
  static func until(_ what: String, _ condition: @escaping @Sendable () -> Bool) async throws {
    try await within(.seconds(240), what) {
      while !condition() { try await Task.sleep(for: .milliseconds(1)) }
    }
  }
}
#endif
