public import HandstampCore

/// Checks that a backend keeps every promise of the port ``Backend``, against its real server. Call it in a test of
/// your own backend:
///
/// ```swift
/// @Test func `keeps the promises of a backend`() async throws {
///   try await checkBackend(over: URLSessionTransport()) { MyServer(transport: $0) } signIn: {
///     try await $0.signIn(email: "ada", password: "…")
///   }
/// }
/// ```
/// It calls the backend's functions without a session, and waits for nothing but the server. Without rotation keys, no refresh
/// token is presented again after the server has accepted it, so a server that accepts none twice passes as well.
///
/// - Parameters:
///   - transport: The connection to the server. The check sits between it and the backend, and loses and corrupts
///     responses.
///   - make: Creates a backend that sends everything through the given transport.
///   - signIn: Starts a new session. Called six times.
/// - Throws: ``ConformanceError`` for the first broken promise, and the errors of `make` and `signIn`.
public func checkBackend<B: Backend>(
  over transport: any Transport, _ make: @Sendable (any Transport) async throws -> B,
  signIn: @Sendable (B) async throws -> TokenResponse
) async throws {
  let network = LossyTransport(transport)
  let check = BackendCheck(backend: try await make(network), network: network)
  try await check.refreshes(try await signIn(check.backend))
  try await check.repeatsArePossible(try await signIn(check.backend))
  try await check.lostAnswersDecideNothing(try await signIn(check.backend))
  try await check.garbageDecidesNothing(try await signIn(check.backend))
  try await check.forgedTokensHarmNobody(try await signIn(check.backend))
  try await check.revocationEnds(try await signIn(check.backend))
}

/// The parts of ``checkBackend(over:_:signIn:)``. Each starts with a new session.
struct BackendCheck<B: Backend> {
  let backend: B
  let network: LossyTransport

  func refreshes(_ grant: TokenResponse) async throws {
    let first = try await granted(try token(grant), RotationKey.drawn(), "a refresh returns new tokens")
    guard first.tokens.access != grant.tokens.access else {
      throw ConformanceError("a refresh returns a new access token", found: "the same")
    }
    guard first.sessionID == nil || first.sessionID == grant.sessionID else {
      throw ConformanceError("a refresh returns tokens of the same session", found: "another session's")
    }
    guard first.tokens.expiresIn.map({ $0 > .zero }) ?? true else {
      throw ConformanceError("a token's lifetime is positive", found: "\(first.tokens.expiresIn ?? .zero)")
    }
    _ = try await granted(
      first.tokens.refresh ?? (try token(grant)), RotationKey.drawn(), "the successor can be refreshed as well")
  }

  func repeatsArePossible(_ grant: TokenResponse) async throws {
    guard backend.abilities.supportsRotationKeys else { return }
    let (token, key) = (try token(grant), RotationKey.drawn())
    let first = try await granted(token, key, "a refresh returns new tokens")
    for _ in 0..<3 {
      let again = try await granted(token, key, "the same pair may be sent any number of times")
      guard again.tokens.refresh == first.tokens.refresh else {
        throw ConformanceError("the same pair returns the same successor", found: "a different one")
      }
    }
  }

  func lostAnswersDecideNothing(_ grant: TokenResponse) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    let fates: [LossyTransport.Fate] =
      backend.abilities.supportsRotationKeys
      ? [.requestLost, .answerLost, .answerLost, .doubled] : [.requestLost, .requestLost]
    for fate in fates {
      network.expect(fate)
      let answer = await backend.refresh(token, key: key)
      if fate != .doubled { try decidesNothing(answer, "a missing response decides nothing", about: "\(fate)") }
    }
    _ = try await granted(token, key, "after lost responses the same pair returns tokens")
  }

  func garbageDecidesNothing(_ grant: TokenResponse) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    for (name, answer) in Garbage.answers {
      network.expect(.answered(answer))
      try decidesNothing(await backend.refresh(token, key: key), "garbage decides nothing", about: name)
      // Without rotation keys the server has rotated by now, and the successor is lost.
      guard backend.abilities.supportsRotationKeys else { return }
    }
    _ = try await granted(token, key, "after garbage the same pair returns tokens")
  }

  func forgedTokensHarmNobody(_ grant: TokenResponse) async throws {
    for text in [
      "", "garbage", "hst1.k.AAAA", "\u{0}\r\nX: y&grant_type=password", String(repeating: "x", count: 10_000),
    ] {
      if case .granted = await backend.refresh(RefreshToken(text), key: RotationKey.drawn()) {
        throw ConformanceError("a forged token is refused", found: "tokens")
      }
    }
    _ = try await granted(try token(grant), RotationKey.drawn(), "forged tokens do not end a session")
  }

  func revocationEnds(_ grant: TokenResponse) async throws {
    let withTokens = backend.abilities.revokesRefreshTokens
    guard let handle = grant.handle(revokesRefreshTokens: withTokens) else { return }
    network.expect(.requestLost)
    guard case .noDecision = await backend.revoke(handle) else {
      throw ConformanceError("a lost revocation decides nothing", found: "a decision")
    }
    guard await backend.revoke(handle) == .ended else {
      throw ConformanceError("a revocation ends the session", found: "another result")
    }
    let answer = await backend.refresh(try token(grant), key: RotationKey.drawn())
    guard case .rejected = answer else {
      throw ConformanceError("a revoked session is rejected", found: describe(answer))
    }
    guard await backend.revoke(handle) == .ended else {
      throw ConformanceError("a revocation may be repeated", found: "another result")
    }
  }

  private func token(_ grant: TokenResponse) throws -> RefreshToken {
    guard let token = grant.tokens.refresh else {
      throw ConformanceError("a sign-in returns a refresh token", found: "none")
    }
    return token
  }

  private func granted(_ token: RefreshToken, _ key: RotationKey, _ promise: String) async throws -> TokenResponse {
    let answer = await backend.refresh(token, key: key)
    guard case .granted(let grant) = answer else { throw ConformanceError(promise, found: describe(answer)) }
    return grant
  }

  private func decidesNothing(_ answer: RefreshResult, _ promise: String, about what: String)
    throws
  {
    guard case .noDecision = answer else { throw ConformanceError(promise, found: "\(what): \(describe(answer))") }
  }

  private func describe(_ answer: RefreshResult) -> String {
    if case .granted = answer { "tokens" } else { "\(answer)" }
  }
}

extension RotationKey {
  static func drawn() -> RotationKey {
    var random = SystemRandomNumberGenerator()
    return RotationKey(from: &random)
  }
}
