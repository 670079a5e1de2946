#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting

/// One run of a program, which is killed after some steps: from then on it has no effect on anything that outlasts it.
final class Life: Sendable {
  private let left: Locked<Int>

  init(steps: Int) { left = Locked(steps) }

  var isOver: Bool { left.withLock { $0 <= 0 } }

  /// Returns whether the program is still alive after another step.
  func step() -> Bool {
    left.withLock { left in
      left -= 1
      return left > 0
    }
  }
}

/// The vault of a device, as one run of the program has it.
struct MortalVault: Vault {
  let base: MemoryVault
  let life: Life

  @concurrent func load() async -> VaultReading {
    life.isOver ? .trouble(.unavailable("killed")) : await base.load()
  }

  @concurrent func replace(
    _ revision: UInt64, with entry: VaultEntry, as write: VaultWrite
  ) async throws(VaultError) -> VaultReplacement {
    guard life.step() else { throw .unavailable("killed before a write") }
    let result = try await base.replace(revision, with: entry, as: write)
    guard life.step() else { throw .unavailable("killed after a write") }
    return result
  }

  @concurrent func lock(_ kind: VaultLockKind, within limit: Duration) async throws(VaultError) -> any VaultLock {
    try await base.lock(kind, within: limit)
  }

  func changes() -> AsyncStream<Void> { base.changes() }
}

/// The network of a device, which loses requests and responses.
struct MortalTransport: Transport {
  let base: any Transport
  /// The server's address for devices, and where it is now.
  let issuer: String
  let place: String
  let life: Life
  let losses: @Sendable () -> FormerStub.Loss

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    guard life.step() else { throw .notConnected("killed before a request") }
    let loss = losses()
    guard loss != .request else { throw .timedOut }
    var request = request
    request.url = place + request.url.dropFirst(issuer.count)
    let response = try await base.send(request)
    guard life.step() else { throw .connectionLost("killed after a request") }
    guard loss != .response else { throw .timedOut }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .notConnected("no streams here")
  }
}

/// A device with a session of the former system, and what it keeps between runs.
final class MortalDevice: Sendable {
  let number: Int
  let vault = MemoryVault()
  /// The earlier place of the token.
  let old: Locked<String?>
  /// Why the last launch failed.
  let why = Locked<SessionError?>(nil)

  enum Outcome: Sendable, Hashable {
    case signedIn(AccountID?)
    /// The user would have to sign in.
    case signedOut
    case unknown
  }

  init(_ number: Int) {
    self.number = number
    old = Locked("r-\(number)-0")
  }

  /// Runs the program once.
  @MainActor func launch(
    at url: URL, over base: any Transport, life: Life, losses: @escaping @Sendable () -> FormerStub.Loss,
    at time: UnixTime, uses: Bool
  ) async -> Outcome {
    let clock = ManualClock(Moment(boot: 1, uptime: .seconds(1000), wall: time))
    let pump = Task { [clock] in
      while !Task.isCancelled {
        await clock.sleepers(1)
        clock.advance(by: .seconds(5))
      }
    }
    defer { pump.cancel() }
    let issuer = "https://id.example.org"
    guard let home = URL(string: issuer) else { return .unknown }
    let transport = MortalTransport(
      base: base, issuer: issuer, place: url.absoluteString, life: life, losses: losses)
    let backend = ServerBackend(
      baseURL: home, device: .init(id: DeviceID("device-\(number)"), name: "phone"), transport: transport)
    let session = SessionManager(
      backend: backend, vault: MortalVault(base: vault, life: life), baseURL: home, transport: transport,
      policy: SessionPolicy(refresh: RefreshPolicy(usesTimer: false)), clock: clock)
    do throws(SessionError) {
      let isSignedIn = try await session.adopt(
        from: { [old] in
          guard !life.isOver else { throw VaultError.unavailable("killed") }
          return old.withLock { $0.map { Secret($0) } }
        },
        removing: { [old] in
          guard life.step() else { throw VaultError.unavailable("killed before the removal") }
          old.withLock { $0 = nil }
        })
      guard isSignedIn else { return life.isOver ? .unknown : .signedOut }
      if uses { try await session.controller.refreshIfNeeded(minimumValidity: .seconds(86_400)) }
    } catch {
      why.withLock { $0 = error }
      guard case .sessionEnded = error, !life.isOver else { return .unknown }
      return .signedOut
    }
    return .signedIn(session.currentUser?.id)
  }
}
#endif
