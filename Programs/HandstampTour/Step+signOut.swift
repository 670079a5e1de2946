#if Operator && DEBUG
import Foundation
import Handstamp
import HandstampSupport

@testable import HandstampCommand
@testable import HandstampCommandLine

extension Step {
  static func signOut(_ stage: TourFixture) async throws -> String {
    try await refreshInFlight(stage)
    let told = try await withoutServer(stage)
    let count = try await scan(stage)
    return "0 of \(count) secrets leaked, revoked after \(told.inMilliseconds)"
  }

  private static func refreshInFlight(_ stage: TourFixture) async throws {
    try await stage.login(stage.first, deviceName: "first device")
    let clock = ShiftedClock()
    let client = try await stage.client(stage.first, clock: clock)
    _ = try await client.controller.token()
    clock.advance(by: .seconds(3600))
    let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
    stage.proxy.nextAnswer(.waits(isHere: isHere, goOn: goOn))
    let caller = Task { try await client.controller.token() }
    try await within(.seconds(240), "a refresh in flight") { try await isHere.value() }
    let report = await client.controller.signOut()
    try expect(report.storageError == nil, "the sign-out is not durable")
    goOn.set(())
    switch await caller.result {
    case .success: throw TourFailure("a token was returned after the sign-out")
    case .failure(let error):
      try expect(error as? SessionError == .signedOut(.signedOut), "the caller got \(error)")
    }
    try expect(await client.deliverEnds(within: .seconds(10)), "the revocation was not delivered")
    try expect(try await stage.entry(of: stage.first).session == nil, "the session came back")
    guard case .signedOut = client.controller.state else { throw TourFailure("the session came back") }
    stage.saw("a refresh was in flight at sign-out: its response arrived, and did not restore the session")
  }

  private static func withoutServer(_ stage: TourFixture) async throws -> Duration {
    try await stage.login(stage.first, deviceName: "first device")
    guard let token = try await stage.session(of: stage.first).access?.token else { throw TourFailure("no token") }
    try await stage.server.stop()
    let outcome = try await stage.run(["logout"], on: stage.first)
    try expect(outcome.words.contains("cannot revoke the session"), "logout printed: \(outcome.words)")
    let entry = try await stage.entry(of: stage.first)
    try expect(entry.session == nil && entry.tombstones.contains { $0.revocation != nil }, "the tombstone is missing")
    stage.saw("signed out while the server was down: exit 0, a tombstone remains")
    stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
    try expect(try await stage.status(of: "/v1/me", with: token).status == 200, "the session ended too early")
    let start = ContinuousClock.now
    try await stage.run(["status"], on: stage.first)
    let answer = try await stage.status(of: "/v1/me", with: token)
    let time = ContinuousClock.now - start
    try expect(answer.status == 401 && answer.reason == "signed_out", "the session was not revoked")
    try expect(
      try await stage.entry(of: stage.first).tombstones.allSatisfy { $0.revocation == nil },
      "the revocation is still pending")
    stage.saw("server up: the next command, whatever it is, revokes the session; the old token is refused")
    return time
  }

  /// Searches all remaining files and all messages for every secret seen on the wire.
  private static func scan(_ stage: TourFixture) async throws -> Int {
    try await stage.run(["logout"], on: stage.second)
    try await stage.server.stop()
    let secrets = stage.proxy.secrets.union([stage.password])
    let scan = SecretScan(secrets)
    try expect(
      secrets.allSatisfy { scan.finds(in: Array("before \($0) after".utf8)) },
      "the scan cannot find the secrets")
    var files = 0
    for file in try FileManager.default.subpathsOfDirectory(atPath: stage.folder) {
      guard let content = FileManager.default.contents(atPath: "\(stage.folder)/\(file)") else { continue }
      files += 1
      try expect(!scan.finds(in: Array(content)), "\(file) contains a secret")
    }
    let words = stage.words.withLock { $0 }.joined()
    try expect(!scan.finds(in: Array(words.utf8)), "a command printed a secret")
    stage.saw(
      "\(secrets.count) passwords, tokens and keys were used: none is in any of \(files) files, nor in any message")
    stage.proxy.lead(to: try await stage.server.start(accessTokenLife: "10m"))
    return secrets.count
  }
}
#endif
