public import HandstampCore
import HandstampRegistry

/// A session server in memory with the real rotation rules, whose responses a test may lose, delay or corrupt.
///
/// It is a ``Backend``; sign in with ``signIn(_:device:)``.
public actor TestServer: Backend {
  /// The fate of a refresh.
  public enum Trouble: Sendable, Hashable {
    /// The server carries out the refresh, but its response is lost.
    case responseLost
    /// The request never arrives.
    case requestLost
    /// The server answers this instead, and carries out nothing.
    case answered(RefreshResult)
  }

  /// The number of refreshes that rotated a token, and of those that repeated one.
  public private(set) var rotations = 0
  public private(set) var repeats = 0
  private var troubles: [Trouble] = []
  private var accounts: [String: AccountRecord] = [:]
  private var minted = 0
  private let registry: Registry
  private let clock: any SessionClock
  private let life: Duration
  private let issuer: String?

  /// - Parameters:
  ///   - life: The lifetime of access tokens.
  ///   - issuer: Its URL, ``BackendAbilities/issuer``; `nil` (the default) if that is not checked.
  public init(clock: any SessionClock, life: Duration = .seconds(600), issuer: String? = nil) throws {
    self.issuer = issuer
    self.clock = clock
    self.life = life
    var random = SystemRandomNumberGenerator()
    let keys = try MasterKeys(drawing: KeyID("test"), from: &random)
    registry = Registry(store: MemoryRegistryStore(), mint: TokenMint(keys))
  }

  // MARK: Controls for tests

  /// Sets the fate of the next refresh; several calls queue up.
  public func expect(_ trouble: Trouble) { troubles.append(trouble) }

  /// Loses the response to the next refresh, after it was carried out.
  public func loseNextResponse() { expect(.responseLost) }

  /// Signs in a user without a password. The account is created on first use.
  public func signIn(_ name: String, device: String = "test") async throws -> TokenResponse {
    let now = clock.now().wall
    let account: AccountRecord
    if let known = accounts[name] {
      account = known
    } else {
      account = try await registry.openAccount(email: nil, username: name, passwordHash: nil, now: now)
      accounts[name] = account
    }
    let session = try await registry.createSession(
      by: .password(of: account),
      SessionStart(device: DeviceInfo(id: DeviceID(device), name: device, platform: "test")), now: now)
    return TokenResponse(
      tokens: TokenSet(
        access: mintAccess(), expiresIn: life, refresh: registry.mint.refreshToken(session.token)),
      sessionID: session.row.id, profile: Profile(id: account.id, name: name),
      revocation: registry.mint.revocationHandle(for: session.row.session))
  }

  /// Ends a session, as another device or an operator would.
  public func end(_ session: SessionID, reason: EndReason = .revoked) async throws {
    guard let row = try await registry.session(session, now: clock.now().wall) else { return }
    _ = try await registry.end(session, of: row.account, reason: reason, now: clock.now().wall)
  }

  /// Whether the session is live.
  public func isLive(_ session: SessionID) async throws -> Bool {
    try await registry.isLive(session, now: clock.now().wall)
  }

  // MARK: Backend

  public nonisolated var abilities: BackendAbilities {
    BackendAbilities(supportsRotationKeys: true, issuer: issuer, revokesRefreshTokens: true)
  }

  public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let trouble = troubles.isEmpty ? nil : troubles.removeFirst()
    switch trouble {
    case .requestLost: return .noDecision(.network(.timedOut))
    case .answered(let result): return result
    case .responseLost, nil: break
    }
    let outcome: RefreshOutcome
    do { outcome = try await registry.refresh(request.token, key: request.key.wireText, now: clock.now().wall) } catch {
      return .noDecision(.server(.init(status: 503)))
    }
    let result = result(of: outcome)
    return trouble == .responseLost ? .noDecision(.network(.timedOut)) : result
  }

  public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    do { _ = try await registry.revoke(handle.secret, now: clock.now().wall) } catch {
      return .noDecision(.server(.init(status: 503)))
    }
    return .ended
  }

  private func result(of outcome: RefreshOutcome) -> RefreshResult {
    switch outcome {
    case .issued(let issue):
      switch issue.course {
      case .rotated, .fastForwarded: rotations += 1
      case .repeated: repeats += 1
      case .kept: break
      }
      return .granted(
        TokenResponse(
          tokens: TokenSet(
            access: mintAccess(), expiresIn: life, refresh: registry.mint.refreshToken(issue.token)),
          sessionID: issue.row.id))
    case .superseded: return .superseded
    case .ended(let reason): return .rejected(reason)
    case .theft: return .rejected(.tokenReuseDetected)
    case .forged, .otherClient: return .rejected(.rejected)
    // For a token of another client, or without the proof: cases that an app does not meet with its own tokens.
    case .otherProof, .notGranted: return .noDecision(.server(.init(status: 400)))
    case .invalidRequest: return .noDecision(.configuration(.init(status: 400, error: "invalid_request")))
    }
  }

  private func mintAccess() -> AccessToken {
    minted += 1
    return AccessToken("access-\(minted)")
  }
}
