#if Operator && DEBUG
import Foundation
import Handstamp
import HandstampSupport

@testable import HandstampCommand
@testable import HandstampCommandLine

/// Generates load until stopped: devices that refresh as fast as they can, and a task that signs other devices in and out.
final class Load: Sendable {
  struct Counts: Sendable {
    /// Completed refreshes.
    var refreshes = 0
    /// Calls that did not reach the server.
    var unreachable = 0
    /// Acknowledged changes: sessions started and not ended, and access tokens of ended sessions.
    var begun: [(token: AccessToken, handle: RevocationHandle)] = []
    var ended: [AccessToken] = []
  }

  private struct Device: Sendable {
    var client: AccountClient
    var clock: ShiftedClock
  }

  private let stage: TourFixture
  private let devices: [Device]
  private let counts = Locked(Counts())
  private let isOver = Locked(false)

  init(_ stage: TourFixture, devices count: Int) async throws {
    self.stage = stage
    var devices: [Device] = []
    for number in 0..<count {
      let clock = ShiftedClock()
      let client = try await stage.client(Home(path: "\(stage.folder)/load-\(number)"), clock: clock)
      let password = Secret(stage.password)
      try await client.controller.signIn { try await client.identity.signIn(email: stage.email, password: password) }
      devices.append(Device(client: client, clock: clock))
    }
    self.devices = devices
  }

  var current: Counts { counts.withLock { $0 } }

  func stop() { isOver.withLock { $0 = true } }

  /// Runs until ``stop()``.
  ///
  /// - Throws: An error if a device is signed out.
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
        guard case .requestFailed = error else { throw TourFailure("a device failed with \(error)") }
        counts.withLock { $0.unreachable += 1 }
        try Task.checkCancellation()
      }
    }
  }

  /// Starts sessions and ends every second one, recording those that the server acknowledges.
  private func signInAndOut() async throws {
    let password = Secret(stage.password)
    var number = 0
    while !isOver.withLock({ $0 }) {
      number += 1
      let device = ServerBackend.Device(id: DeviceID("load-\(number)"), name: "load \(number)")
      guard let url = URL(string: stage.address.text) else { return }
      let identity = ServerBackend(baseURL: url, device: device, transport: stage.proxy.transport)
      do throws(SessionError) {
        let grant = try await identity.signIn(email: stage.email, password: password)
        guard let handle = grant.revocation, let token = grant.tokens.access else {
          throw SessionError.invalidResponse("no access token or revocation handle")
        }
        guard number.isMultiple(of: 2) else {
          counts.withLock { $0.begun.append((token, handle)) }
          continue
        }
        guard await identity.revoke(handle) == .ended else {
          throw SessionError.requestFailed(.network(.timedOut))
        }
        counts.withLock { $0.ended.append(token) }
      } catch {
        guard case .requestFailed = error else { throw TourFailure("a sign-in failed with \(error)") }
        // Wait for the server to return.
        try await Task.sleep(for: .milliseconds(20))
      }
    }
  }

  /// Checks that every device has a session and gets a token, and that every acknowledged change persists.
  func check() async throws {
    for device in devices {
      device.clock.advance(by: .seconds(600))
      await device.client.controller.retryPendingWork()
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

  /// Signs out all devices, and ends the other sessions.
  func end() async {
    for (_, handle) in current.begun { _ = await devices.first?.client.identity.revoke(handle) }
    for device in devices { _ = await device.client.controller.signOut() }
    for device in devices { await device.client.deliverEnds(within: .seconds(5)) }
  }
}
#endif
