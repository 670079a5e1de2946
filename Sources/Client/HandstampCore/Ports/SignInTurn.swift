import HandstampSupport

/// Serializes the sign-ins of an account among all programs that share its vault. If two ran at once, the server might keep one
/// session and the vault the other.
///
/// ```swift
/// try await session.signIn {
///   try await SignInTurn.take(by: .browser)
///   return try await myServer.exchange(code)
/// }
/// ```
/// A closure that is passed to `signIn(remember:_:)` or `Accounts.add(tag:remember:_:)` and calls a server itself must take its
/// turn like this: right before the request that begins a session at the server, never while the user types. It keeps the turn
/// until the tokens are stored or the sign-in fails; if the request fails and the user is asked again, it calls ``giveBack()``
/// first. With the turn it says how the user signs in: an audit log records it.
///
/// The sign-in functions of this package's backends take their turn themselves: a closure that only calls one of them needs
/// none of this.
public final class SignInTurn: Sendable {
  /// How long a sign-in waits for others: 60 s.
  package static let patience: Duration = .seconds(60)

  @TaskLocal package static var current: SignInTurn?

  /// Releases a lock.
  package typealias Release = @Sendable () -> Void

  private typealias Waiting = Task<Result<Release?, VaultError>, Never>

  private enum State: Sendable {
    case free
    case waiting(Waiting)
    case taken(Release?)
    /// The tokens are stored, or the sign-in failed.
    case over
  }

  private let lock: @Sendable () async -> Result<Release?, VaultError>
  private let state = Locked(State.free)
  private let named: Locked<SignInClaim?>
  let keys: SignInKeys?
  private let remembers: Bool
  /// The keys that this sign-in has sent, by purpose.
  let sent = Locked<[String: RotationKey]>([:])

  /// - Parameters:
  ///   - claim: how the user signs in; `nil` if whoever calls the server says it.
  ///   - remember: whether the session is stored.
  ///   - keys: stores the keys of requests; `nil` keeps them for this sign-in alone.
  ///   - lock: acquires the lock; `nil` if the sign-in continues without one.
  package init(
    by claim: SignInClaim?, remember: Bool = true, keys: SignInKeys? = nil,
    _ lock: @escaping @Sendable () async throws(VaultError) -> Release?
  ) {
    named = Locked(claim)
    remembers = remember
    self.keys = keys
    self.lock = { do throws(VaultError) { return .success(try await lock()) } catch { return .failure(error) } }
  }

  deinit { end() }

  /// Waits until no other sign-in of the account is being exchanged or stored. Does nothing outside a sign-in, or if this
  /// sign-in already has its turn.
  ///
  /// - Parameters:
  ///   - method: how the user signs in. What the sign-in itself says counts: a password that the device released for a biometric
  ///     sign-in makes it no sign-in by password.
  ///   - identifier: what the user typed as the account's name. A failed sign-in is recorded with it if it has the form of an email
  ///     address; `nil` (the default) if the user typed none.
  /// - Throws: ``SessionError/storage(_:)`` if the turn does not come within 60 s; the text names the process that holds it.
  public static func take(by method: SignInMethod, as identifier: String? = nil) async throws(SessionError) {
    try await take(by: SignInClaim(method, as: identifier))
  }

  package static func take(by claim: SignInClaim) async throws(SessionError) {
    name(claim)
    try await current?.begin()
  }

  /// Says how the user signs in, before anything that may fail.
  package static func name(_ claim: SignInClaim) {
    current?.named.withLock { named in
      named = SignInClaim(named?.method ?? claim.method, as: named?.address ?? claim.address)
    }
  }

  /// Whether the session of the sign-in is stored. The server is told if it is not: it ends the session once it is unused.
  package static var remembers: Bool { current?.remembers ?? true }

  /// How the user signs in.
  package var claim: SignInClaim { named.withLock { $0 } ?? SignInClaim(.other) }

  /// Finds out, before the user is asked for anything, that there can be a turn: a sign-in could not be stored safely on a file
  /// system without locks.
  ///
  /// - Throws: As ``take(by:as:)`` does.
  package static func check() async throws(SessionError) {
    guard let current, current.state.withLock({ if case .free = $0 { true } else { false } }) else { return }
    try await current.begin()
    giveBack()
  }

  /// Gives up the turn after a failed exchange, so that other sign-ins can proceed.
  public static func giveBack() { current?.become(.free) }

  private func begin() async throws(SessionError) {
    let waiting = state.withLock { state -> Waiting? in
      switch state {
      case .taken, .over: return nil
      case .waiting(let task): return task
      case .free:
        let task: Waiting = Task { [lock] in await lock() }
        state = .waiting(task)
        return task
      }
    }
    guard let waiting else { return }
    let result = await withTaskCancellationHandler {
      await waiting.value
    } onCancel: {
      waiting.cancel()
    }
    let unwanted = state.withLock { state -> Release? in
      switch state {
      case .waiting: break
      // Another task of this sign-in, which waited for the same lock.
      case .taken: return nil
      // The lock is no longer wanted.
      case .free, .over: return (try? result.get()) ?? nil
      }
      switch result {
      case .success(let lock): state = .taken(lock)
      case .failure: state = .free
      }
      return nil
    }
    unwanted?()
    if case .failure(let trouble) = result { throw .storage(trouble) }
  }

  /// Runs `body` as part of the sign-in that has this turn.
  package func during<Success>(
    _ body: () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    let result: Result<Success, SessionError> = await SignInTurn.$current.withValue(self) {
      do throws(SessionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Takes the turn for `exchange`, and gives it back if that throws.
  package static func take<Success>(
    by claim: SignInClaim, for exchange: () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    try await take(by: claim)
    do throws(SessionError) { return try await exchange() } catch {
      giveBack()
      throw error
    }
  }

  package func end() { become(.over) }

  private func become(_ new: State) {
    let previous = state.withLock { state in
      let previous = state
      if case .over = state { return previous }
      state = new
      return previous
    }
    if case .taken(let release) = previous { release?() }
  }
}

/// Where a sign-in keeps the keys of its requests, so that a later attempt, also of a later launch, repeats them.
package struct SignInKeys: Sendable {
  /// Returns the stored key of a purpose, or stores a new one: one other than `used`, if given. `nil` if none can be stored.
  package var key: @Sendable (_ purpose: String, _ used: RotationKey?) async -> RotationKey?
  /// Forgets a key that began no session.
  package var forget: @Sendable (RotationKey) async -> Void
  package var sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - remember: `false` stores no key.
  ///   - clock: dates the keys, and measures pauses.
  ///   - store: stores a key, unless there is one for its purpose that is not `used`; returns the one that is stored then.
  ///   - forget: as ``forget``.
  package init(
    remember: Bool, clock: any SessionClock,
    store: @escaping @Sendable (_ new: PendingSignIn, _ used: RotationKey?) async -> PendingSignIn?,
    forget: @escaping @Sendable (RotationKey) async -> Void
  ) {
    key = { purpose, used in
      let new = PendingSignIn(for: purpose, at: clock.now().wall)
      guard remember, let stored = await store(new, used), stored.purpose == new.purpose else { return nil }
      return stored.key
    }
    self.forget = { key in if remember { await forget(key) } }
    sleep = { try await clock.sleep(for: $0) }
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
