#if Programs
import Foundation
import Handstamp
import HandstampCore

/// Devices that refresh as fast as they can, and one that signs others in and out; until they are told to stop.
final class Load: Sendable {
  struct Counts: Sendable {
    /// Refreshes that came home.
    var refreshes = 0
    /// Calls that found no server.
    var unreachable = 0
    /// What was acknowledged: sessions that were begun and not ended, and access tokens of those that were ended.
    var begun: [(token: AccessToken, handle: RevocationHandle)] = []
    var ended: [AccessToken] = []
  }

  private struct Device: Sendable {
    var client: Client
    var clock: ShiftedClock
  }

  private let stage: Stage
  private let devices: [Device]
  private let counts = Locked(Counts())
  private let isOver = Locked(false)

  init(_ stage: Stage, devices count: Int) async throws {
    self.stage = stage
    var devices: [Device] = []
    for number in 0..<count {
      let clock = ShiftedClock()
      let client = try await stage.client(Home(path: "\(stage.folder)/load-\(number)"), clock: clock)
      let password = Secret(stage.password)
      try await client.controller.signIn { try await client.identity.password(stage.email, password) }
      devices.append(Device(client: client, clock: clock))
    }
    self.devices = devices
  }

  var current: Counts { counts.withLock { $0 } }

  func stop() { isOver.withLock { $0 = true } }

  /// Runs until ``stop()``, and throws when anybody is signed out.
  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for device in devices { group.addTask { try await self.refresh(device) } }
      group.addTask { try await self.signInAndOut() }
      try await group.waitForAll()
    }
  }

  private func refresh(_ device: Device) async throws {
    while !isOver.withLock({ $0 }) {
      device.clock.advance(by: .seconds(600))
      do throws(SessionError) {
        _ = try await device.client.controller.token()
        counts.withLock { $0.refreshes += 1 }
      } catch {
        guard case .unreachable = error else { throw TourFailure("a device was told: \(error)") }
        counts.withLock { $0.unreachable += 1 }
        try Task.checkCancellation()
      }
    }
  }

  /// Sessions of which the server has said that they are there, or that they are over.
  private func signInAndOut() async throws {
    let password = Secret(stage.password)
    var number = 0
    while !isOver.withLock({ $0 }) {
      number += 1
      let device = ServerBackend.Device(id: DeviceID("load-\(number)"), name: "load \(number)")
      guard let url = URL(string: stage.address.text) else { return }
      let identity = ServerBackend(baseURL: url, device: device, transport: stage.wire.transport)
      do throws(SessionError) {
        let grant = try await identity.password(stage.email, password)
        guard let handle = grant.revocation else { throw SessionError.invalidAnswer("no revocation handle") }
        guard number.isMultiple(of: 2) else {
          counts.withLock { $0.begun.append((grant.tokens.access, handle)) }
          continue
        }
        try await identity.revoke(handle)
        counts.withLock { $0.ended.append(grant.tokens.access) }
      } catch {
        guard case .unreachable = error else { throw TourFailure("a sign-in was answered: \(error)") }
        // Nothing to be had until the server is back.
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Every device has a session and gets a token; every acknowledged change is there.
  func check() async throws {
    for device in devices {
      device.clock.advance(by: .seconds(600))
      await device.client.controller.nudge()
      _ = try await device.client.controller.token()
      guard case .signedIn = device.client.controller.state else { throw TourFailure("a device is signed out") }
    }
    for (token, _) in current.begun {
      let answer = try await stage.status(of: "/v1/me", with: token)
      try expect(answer.status == 200, "an acknowledged sign-in is lost")
    }
    for token in current.ended {
      let answer = try await stage.status(of: "/v1/me", with: token)
      try expect(answer.status == 401 && answer.reason == "signed_out", "an acknowledged end is lost")
    }
  }

  /// Signs all devices out, and ends the other sessions.
  func end() async {
    for (_, handle) in current.begun { try? await devices.first?.client.identity.revoke(handle) }
    for device in devices { _ = await device.client.controller.signOut() }
    for device in devices { await device.client.deliverEnds(within: .seconds(5)) }
  }
}
#endif
