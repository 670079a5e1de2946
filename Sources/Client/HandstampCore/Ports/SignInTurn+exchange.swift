import HandstampSupport

/// Where a sign-in keeps the keys of its requests, so that a later attempt, also of a later launch, repeats them.
package struct SignInKeys: Sendable {
  /// Returns the stored key of a purpose, or stores a new one: one other than `used`, if given. `nil` if none can be stored.
  package var key: @Sendable (_ purpose: String, _ used: RotationKey?) async -> RotationKey?
  /// Forgets a key that began no session.
  package var forget: @Sendable (RotationKey) async -> Void
  package var sleep: @Sendable (Duration) async throws -> Void

  package init(
    key: @escaping @Sendable (_ purpose: String, _ used: RotationKey?) async -> RotationKey?,
    forget: @escaping @Sendable (RotationKey) async -> Void, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.key = key
    self.forget = forget
    self.sleep = sleep
  }
}

/// Requests that begin a session at a server that accepts a rotation key with them: a repeat with the same key gets the same session.
extension SignInTurn {
  /// The pauses before repeats. With the time-outs of the requests, about a minute.
  private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4)]
  /// No repeat begins later than this after the first request.
  private static let longest = Duration.seconds(45)

  /// Takes the turn, and sends a request with a key that was stored before. If the response is lost, sends the same request with the
  /// same key again.
  ///
  /// - Parameters:
  ///   - claim: how the user signs in.
  ///   - purpose: the method and the account; others get another key.
  ///   - repeats: `false` if the caller repeats the request itself.
  package static func exchange<Success>(
    by claim: SignInClaim, for purpose: String, repeats: Bool = true,
    _ request: (RotationKey) async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    try await take(by: claim) { () async throws(SessionError) in
      let start = ContinuousClock.now
      var key = await key(for: purpose)
      var pauses = repeats ? pauses[...] : []
      var (wasLost, hasChanged) = (false, false)
      while true {
        do throws(SessionError) { return try await request(key) } catch {
          if case .refused("rotation_key_used", _) = error, !hasChanged {
            // The session of an earlier attempt, which is no longer in use here.
            key = await self.key(for: purpose, insteadOf: key)
            hasChanged = true
            continue
          }
          let outcome = Outcome(error)
          wasLost = wasLost || outcome == .lost
          if outcome == .refused, !wasLost { await current?.keys?.forget(key) }
          guard wasLost, let wait = outcome.pause(error), !Task.isCancelled, let pause = pauses.popFirst(),
            start.duration(to: .now) + max(wait, pause) < longest
          else { throw error }
          do { try await sleep(max(wait, pause)) } catch { throw .cancelled }
        }
      }
    }
  }

  /// Returns the key of a purpose: the same one as long as this sign-in lasts, also if it cannot be stored.
  private static func key(for purpose: String, insteadOf used: RotationKey? = nil) async -> RotationKey {
    let known = current?.sent.withLock { $0[purpose] }
    if let known, known != used { return known }
    var random = SystemRandomNumberGenerator()
    let key = await current?.keys?.key(purpose, used) ?? RotationKey(from: &random)
    current?.sent.withLock { $0[purpose] = key }
    return key
  }

  private static func sleep(_ pause: Duration) async throws {
    guard let keys = current?.keys else { return try await Task.sleep(for: pause) }
    try await keys.sleep(pause)
  }

  /// The state of the request, as far as an error shows it.
  private enum Outcome: Equatable {
    /// The server may have begun a session.
    case lost
    /// No response, but the request did not begin one either.
    case unanswered
    /// The server's own statement, or a failure before the request.
    case refused
    /// The server may have begun a session; the same request would fail in the same way.
    case unusable

    init(_ error: SessionError) {
      switch error {
      case .requestFailed(.unusableTokens, _), .requestFailed(.clock, _): self = .unusable
      case .requestFailed(let failure, _): self = failure.exchange != .withoutEffect ? .lost : .unanswered
      case .invalidResponse, .cancelled: self = .unusable
      default: self = .refused
      }
    }

    /// How long the server asks to wait; `nil` if the request is not repeated.
    func pause(_ error: SessionError) -> Duration? {
      guard self == .lost || self == .unanswered, case .requestFailed(_, let delay) = error else { return nil }
      return delay ?? .zero
    }
  }
}

/// A backend whose server waits for the word of a client that has stored a new session.
package protocol SessionConfirming: Sendable {
  /// Says that the session of this access token was stored. Nothing depends on it: any use of the session says the same.
  @concurrent func confirm(_ token: AccessToken) async
}
