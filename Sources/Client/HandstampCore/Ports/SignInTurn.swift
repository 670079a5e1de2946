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
    let former = state.withLock { state in
      let former = state
      if case .over = state { return former }
      state = new
      return former
    }
    if case .taken(let release) = former { release?() }
  }
}
