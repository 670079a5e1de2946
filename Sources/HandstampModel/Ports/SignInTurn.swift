/// One sign-in of an account at a time, among all programs that share its vault. Of two at once the server may keep one session,
/// and the vault the other.
///
/// A sign-in takes its turn right before it exchanges what a person has entered for tokens, never while that person types, and
/// keeps it until the tokens are stored. The sign-ins of this package's backends do so. A closure of your own that is given to
/// `SessionController.signIn(remember:_:)` calls ``take()`` before the request that begins a session at the server, and
/// ``giveBack()`` when nothing came of it and the person is asked again.
public final class SignInTurn: Sendable {
  /// How long a sign-in waits for others.
  package static let patience: Duration = .seconds(60)

  @TaskLocal package static var current: SignInTurn?

  /// Gives a lock back.
  package typealias Release = @Sendable () -> Void

  private typealias Waiting = Task<Result<Release?, VaultTrouble>, Never>

  private enum State: Sendable {
    case free
    case waiting(Waiting)
    case taken(Release?)
    /// Whatever it brought is stored, or of no use.
    case over
  }

  private let lock: @Sendable () async -> Result<Release?, VaultTrouble>
  private let state = Locked(State.free)

  /// - Parameter lock: takes the lock; `nil` where the sign-in goes on without.
  package init(_ lock: @escaping @Sendable () async throws(VaultTrouble) -> Release?) {
    self.lock = { do throws(VaultTrouble) { return .success(try await lock()) } catch { return .failure(error) } }
  }

  deinit { end() }

  /// Returns when no other sign-in of the account is being exchanged or stored. Does nothing outside a sign-in, and in one that
  /// has taken its turn.
  ///
  /// - Throws: ``SessionError/storage(_:)`` when the turn does not come within a minute; the text says whose turn it is.
  public static func take() async throws(SessionError) { try await current?.begin() }

  /// Lets others go first: nothing came of the exchange.
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
      // By another task of this sign-in, which waited for the same.
      case .taken: return nil
      // It is not wanted any more.
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

  /// Does `body` as a part of the sign-in that has this turn.
  package func during<Success>(
    _ body: () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    let result: Result<Success, SessionError> = await SignInTurn.$current.withValue(self) {
      do throws(SessionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// Takes the turn for `exchange`, and gives it back if nothing comes of that.
  package static func take<Success>(
    for exchange: () async throws(SessionError) -> Success
  ) async throws(SessionError) -> Success {
    try await take()
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
