public import HandstampCore

/// Checks that a backend keeps every promise of the port ``Backend``, against the server it is made for. Call it in a test of
/// your own backend:
///
/// ```swift
/// @Test func `keeps the promises of a backend`() async throws {
///   try await checkBackend(over: URLSessionTransport()) { MyServer(transport: $0) } signIn: { try await $0.password("ada", "…") }
/// }
/// ```
/// - Parameters:
///   - transport: how the server is reached. The check stands between it and the backend, and loses and spoils answers.
///   - make: makes a backend that sends everything through the transport it is given.
///   - signIn: begins a new session. It is called several times.
/// - Throws: ``BrokenPromise`` at the first promise that is not kept, and whatever `make` and `signIn` throw.
public func checkBackend<B: Backend>(
  over transport: any Transport, _ make: @Sendable (any Transport) async throws -> B,
  signIn: @Sendable (B) async throws -> Grant
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

/// The parts of ``checkBackend(over:_:signIn:)``; each begins with a new session.
struct BackendCheck<B: Backend> {
  let backend: B
  let network: LossyTransport

  func refreshes(_ grant: Grant) async throws {
    let first = try await granted(try token(grant), RotationKey.drawn(), "a refresh brings new tokens")
    guard first.tokens.access != grant.tokens.access else {
      throw BrokenPromise("a refresh brings another access token", found: "the same")
    }
    guard first.session == nil || first.session == grant.session else {
      throw BrokenPromise("a refresh brings tokens of the same session", found: "another's")
    }
    guard first.tokens.life.map({ $0 > .zero }) ?? true else {
      throw BrokenPromise("a token's life is longer than nothing", found: "\(first.tokens.life ?? .zero)")
    }
    _ = try await granted(
      first.tokens.refresh ?? (try token(grant)), RotationKey.drawn(), "the successor brings new tokens in its turn")
  }

  func repeatsArePossible(_ grant: Grant) async throws {
    guard backend.keepsRotationKeys else { return }
    let (token, key) = (try token(grant), RotationKey.drawn())
    let first = try await granted(token, key, "a refresh brings new tokens")
    for _ in 0..<3 {
      let again = try await granted(token, key, "the same pair may be sent any number of times")
      guard again.tokens.refresh == first.tokens.refresh else {
        throw BrokenPromise("the same pair brings the same successor", found: "another one")
      }
    }
  }

  func lostAnswersDecideNothing(_ grant: Grant) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    let fates: [LossyTransport.Fate] =
      backend.keepsRotationKeys ? [.requestLost, .answerLost, .answerLost, .doubled] : [.requestLost, .requestLost]
    for fate in fates {
      network.expect(fate)
      let answer = await backend.refresh(token, key: key)
      if fate != .doubled { try decidesNothing(answer, "no answer decides nothing", about: "\(fate)") }
    }
    _ = try await granted(token, key, "after lost answers the same pair brings tokens")
  }

  func garbageDecidesNothing(_ grant: Grant) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    for (name, answer) in Garbage.answers {
      network.expect(.answered(answer))
      try decidesNothing(await backend.refresh(token, key: key), "garbage decides nothing", about: name)
      // A server without rotation keys has rotated by now, and nobody holds the successor.
      guard backend.keepsRotationKeys else { return }
    }
    _ = try await granted(token, key, "after garbage the same pair brings tokens")
  }

  func forgedTokensHarmNobody(_ grant: Grant) async throws {
    for text in [
      "", "garbage", "hst1.k.AAAA", "\u{0}\r\nX: y&grant_type=password", String(repeating: "x", count: 10_000),
    ] {
      if case .success = await backend.refresh(RefreshToken(text), key: RotationKey.drawn()) {
        throw BrokenPromise("a forged token brings nothing", found: "tokens")
      }
    }
    _ = try await granted(try token(grant), RotationKey.drawn(), "forged tokens end nobody's session")
  }

  func revocationEnds(_ grant: Grant) async throws {
    guard let handle = grant.revocation else { return }
    network.expect(.requestLost)
    var failure: SessionError?
    do throws(SessionError) { try await backend.revoke(handle) } catch { failure = error }
    switch failure {
    case nil, .rejected?:
      throw BrokenPromise("a revocation that did not arrive decides nothing", found: "\(String(describing: failure))")
    default: break
    }
    try await backend.revoke(handle)
    let answer = await backend.refresh(try token(grant), key: RotationKey.drawn())
    guard case .failure(.rejected) = answer else {
      throw BrokenPromise("a revoked session is rejected", found: describe(answer))
    }
    // Once more is fine, and so is hearing that there is nothing left to end.
    do throws(SessionError) { try await backend.revoke(handle) } catch {
      guard case .rejected = error else { throw BrokenPromise("a revocation may be repeated", found: "\(error)") }
    }
  }

  private func token(_ grant: Grant) throws -> RefreshToken {
    guard let token = grant.tokens.refresh else {
      throw BrokenPromise("a sign-in brings a refresh token", found: "none")
    }
    return token
  }

  private func granted(_ token: RefreshToken, _ key: RotationKey, _ promise: String) async throws -> Grant {
    let answer = await backend.refresh(token, key: key)
    guard case .success(let grant) = answer else { throw BrokenPromise(promise, found: describe(answer)) }
    return grant
  }

  private func decidesNothing(_ answer: Result<Grant, RefreshFailure>, _ promise: String, about what: String) throws {
    switch answer {
    case .success, .failure(.rejected), .failure(.rolledBack):
      throw BrokenPromise(promise, found: "\(what): \(describe(answer))")
    case .failure: return
    }
  }

  private func describe(_ answer: Result<Grant, RefreshFailure>) -> String {
    switch answer {
    case .success: "tokens"
    case .failure(let error): "\(error)"
    }
  }
}

extension RotationKey {
  static func drawn() -> RotationKey {
    var random = SystemRandomNumberGenerator()
    return RotationKey(from: &random)
  }
}
