public import HandstampCore
import HandstampRegistry

/// A session server in memory, under the real rules of rotation, whose answers a test may lose, hold back or spoil.
///
/// It is a ``Backend``; signing in is ``signIn(_:)``.
public actor TestServer: Backend {
  /// What happens to the answer of a refresh.
  public enum Trouble: Sendable, Hashable {
    /// The server carries the refresh out, and its answer is lost.
    case answerLost
    /// The request never arrives.
    case requestLost
    /// The server says so instead, and carries nothing out.
    case refused(RefreshFailure)
  }

  /// How many refreshes rotated a token, and how many were repeats of one.
  public private(set) var rotations = 0
  public private(set) var repeats = 0
  private var troubles: [Trouble] = []
  private var accounts: [String: AccountRecord] = [:]
  private var minted = 0
  private let registry: Registry
  private let clock: any SessionClock
  private let life: Duration

  /// - Parameter life: How long its access tokens last.
  public init(clock: any SessionClock, life: Duration = .seconds(600)) throws {
    self.clock = clock
    self.life = life
    var random = SystemRandomNumberGenerator()
    let keys = try MasterKeys(drawing: KeyID("test"), from: &random)
    registry = Registry(store: MemoryRegistryStore(), mint: TokenMint(keys))
  }

  // MARK: What a test does

  /// The next refresh meets this; several queue up.
  public func expect(_ trouble: Trouble) { troubles.append(trouble) }

  /// Loses the answer to the next refresh, after it was carried out.
  public func loseNextAnswer() { expect(.answerLost) }

  /// Signs a person in who needs no password. The account is made when it is first used.
  public func signIn(_ name: String, device: String = "test") async throws -> Grant {
    let now = clock.now().wall
    let account: AccountRecord
    if let known = accounts[name] {
      account = known
    } else {
      account = try await registry.openAccount(email: nil, username: name, passwordHash: nil, now: now)
      accounts[name] = account
    }
    let session = try await registry.createSession(
      for: account, device: DeviceInfo(id: DeviceID(device), name: device, platform: "test"), now: now)
    return Grant(
      tokens: TokenSet(access: mintAccess(), life: life, refresh: session.refreshToken), session: session.row.id,
      profile: Profile(id: account.id, name: name), revocation: session.revocationHandle)
  }

  /// Ends a session, as another device or an operator would.
  public func end(_ session: SessionID, reason: EndReason = .revoked) async throws {
    guard let row = try await registry.session(session, now: clock.now().wall) else { return }
    _ = try await registry.end(session, of: row.account, reason: reason, now: clock.now().wall)
  }

  /// Whether the session lasts.
  public func isLive(_ session: SessionID) async throws -> Bool {
    try await registry.isLive(session, now: clock.now().wall)
  }

  // MARK: Backend

  public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    let trouble = troubles.isEmpty ? nil : troubles.removeFirst()
    switch trouble {
    case .requestLost: return .failure(.unreachable(retryAfter: nil))
    case .refused(let error): return .failure(error)
    case .answerLost, nil: break
    }
    let outcome: RefreshOutcome
    do { outcome = try await registry.refresh(token, key: key.wireText, now: clock.now().wall) } catch {
      return .failure(.unreachable(retryAfter: nil))
    }
    let answer = answer(to: outcome)
    return trouble == .answerLost ? .failure(.unreachable(retryAfter: nil)) : answer
  }

  public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    do { _ = try await registry.revoke(handle.secret, now: clock.now().wall) } catch {
      throw .unreachable(retryAfter: nil)
    }
  }

  private func answer(to outcome: RefreshOutcome) -> Result<Grant, RefreshFailure> {
    switch outcome {
    case .issued(let issue):
      switch issue.course {
      case .rotated, .fastForwarded: rotations += 1
      case .repeated: repeats += 1
      }
      return .success(
        Grant(
          tokens: TokenSet(access: mintAccess(), life: life, refresh: issue.refreshToken), session: issue.row.id))
    case .superseded: return .failure(.rolledBack)
    case .ended(_, let reason): return .failure(.rejected(reason))
    case .theft: return .failure(.rejected(.misused))
    case .forged, .otherClient: return .failure(.rejected(.rejected))
    // Of another client's session, or without the proof: nothing that an app of its own would meet.
    case .otherProof, .notGranted: return .failure(.unreachable(retryAfter: nil))
    case .invalidRequest: return .failure(.refused(code: "invalid_request"))
    }
  }

  private func mintAccess() -> AccessToken {
    minted += 1
    return AccessToken("access-\(minted)")
  }
}
