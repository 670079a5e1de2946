public import HandstampCore
import HandstampSupport

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
/// token is presented again after the server has accepted it, unless the backend's ``BackendAbilities/reuse`` says that it is accepted: so
/// a server that accepts none twice passes as well.
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
  let proxy = Intermediary(transport)
  let network = LossyTransport(proxy)
  let check = BackendCheck(backend: try await make(network), network: network, proxy: proxy)
  try await check.refreshes(try await signIn(check.backend))
  try await check.repeatsArePossible(try await signIn(check.backend))
  try await check.lostResponsesDecideNothing(try await signIn(check.backend))
  try await check.garbageDecidesNothing(try await signIn(check.backend))
  try await check.forgedTokensHarmNobody(try await signIn(check.backend))
  try await check.revocationEnds(try await signIn(check.backend))
}

/// The parts of ``checkBackend(over:_:signIn:)``. Each starts with a new session.
struct BackendCheck<B: Backend> {
  let backend: B
  let network: LossyTransport
  /// Between the network and the server.
  let proxy: Intermediary

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

  func lostResponsesDecideNothing(_ grant: TokenResponse) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    let fates: [LossyTransport.Fate] =
      backend.abilities.supportsRotationKeys
      ? [.requestLost, .responseLost, .responseLost, .doubled] : [.requestLost, .requestLost]
    for fate in fates {
      network.expect(fate)
      let answer = await backend.refresh(token, key: key)
      if fate != .doubled { try decidesNothing(answer, "a missing response decides nothing", about: "\(fate)") }
    }
    let first = try await granted(token, key, "after lost responses the same pair returns tokens")
    if !backend.abilities.supportsRotationKeys { try await aSuccessorIsLost(first.tokens.refresh ?? token) }
  }

  /// The server has carried out the refresh, and its response is lost. The token is presented again only if that is declared to work.
  private func aSuccessorIsLost(_ token: RefreshToken) async throws {
    let key = RotationKey.drawn()
    network.expect(.responseLost)
    try decidesNothing(
      await backend.refresh(token, key: key), "a missing response decides nothing", about: "a lost successor")
    switch backend.abilities.reuse {
    case .overlap?, .predecessor?, .notRotated?:
      _ = try await granted(token, key, "a token is accepted again as the declared reuse says")
    case .never?, nil: break
    }
  }

  func garbageDecidesNothing(_ grant: TokenResponse) async throws {
    let (token, key) = (try token(grant), RotationKey.drawn())
    // The server does not get these requests, so they cost no token.
    for (name, answer) in Garbage.ofIntermediaries {
      try decidesNothing(await refresh(token, answeredWith: answer), "garbage decides nothing", about: name)
    }
    for (name, answer) in Garbage.responses {
      network.expect(.answered(answer))
      try decidesNothing(await backend.refresh(token, key: key), "garbage decides nothing", about: name)
      // Without rotation keys the server has rotated by now, and the successor is lost.
      guard backend.abilities.supportsRotationKeys else { return }
    }
    _ = try await granted(token, key, "after garbage the same pair returns tokens")
  }

  func forgedTokensHarmNobody(_ grant: TokenResponse) async throws {
    var refusal: TransportResponse?
    for text in [
      "", "garbage", "hst1.k.AAAA", "\u{0}\r\nX: y&grant_type=password", String(repeating: "x", count: 10_000),
    ] {
      proxy.forget()
      switch await backend.refresh(RefreshToken(text), key: RotationKey.drawn()) {
      case .granted: throw ConformanceError("a forged token is refused", found: "tokens")
      case .rejected: refusal = proxy.last ?? refusal
      case .superseded, .noDecision: break
      }
    }
    let token = try token(grant)
    if let refusal { try await partsOfARefusalDecideNothing(refusal, token) }
    _ = try await granted(token, RotationKey.drawn(), "forged tokens do not end a session")
  }

  /// The words that end a session at this server, with another status, and its status without them.
  private func partsOfARefusalDecideNothing(_ refusal: TransportResponse, _ token: RefreshToken) async throws {
    let parts: [(name: String, answer: TransportResponse)] = [
      ("its words in a 500", TransportResponse(status: 500, headers: refusal.headers, body: refusal.body)),
      ("its words in a 429", TransportResponse(status: 429, headers: refusal.headers, body: refusal.body)),
      ("its status alone", TransportResponse(status: refusal.status)),
      ("its status without a code", Garbage.json(refusal.status, "{}")),
      ("its status on a page", Garbage.html(refusal.status)),
    ]
    for (name, answer) in parts {
      try decidesNothing(
        await refresh(token, answeredWith: answer), "only the whole refusal ends a session", about: name)
    }
  }

  /// The result of a refresh that the server does not get, because something in front of it answers.
  private func refresh(_ token: RefreshToken, answeredWith answer: TransportResponse) async -> RefreshResult {
    proxy.answer(with: answer)
    defer { proxy.answer(with: nil) }
    return await backend.refresh(token, key: RotationKey.drawn())
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

/// Remembers the server's last response, and may answer in its place.
final class Intermediary: Transport {
  private struct Content: Sendable {
    var answer: TransportResponse?
    var last: TransportResponse?
  }
  private let base: any Transport
  private let content = Locked(Content())

  init(_ base: any Transport) { self.base = base }

  /// The last response of the server; `nil` if there is none.
  var last: TransportResponse? { content.withLock { $0.last } }

  func forget() { content.withLock { $0.last = nil } }

  /// Answers all requests from now on; `nil` passes them on again.
  func answer(with response: TransportResponse?) { content.withLock { $0.answer = response } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    if let answer = content.withLock({ $0.answer }) { return answer }
    let response = try await base.send(request)
    content.withLock { $0.last = response }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}

extension RotationKey {
  package static func drawn() -> RotationKey {
    var random = SystemRandomNumberGenerator()
    return RotationKey(from: &random)
  }
}
