/// One sign-in of an account at a time, among all programs that share its vault. Of two at once the server may keep one session,
/// and the vault the other.
///
/// A sign-in takes its turn right before it exchanges what a person has entered for tokens, never while that person types, and
/// keeps it until the tokens are stored. The backends of this package do so. A closure of your own that is given to
/// `SessionController.signIn(remember:_:)` calls ``take()`` before the request that begins a session at the server.
public final class SignInTurn: Sendable {
  /// How long a sign-in waits for others.
  package static let patience: Duration = .seconds(60)

  @TaskLocal package static var current: SignInTurn?

  private let lock: @Sendable () async throws(VaultTrouble) -> (any FlightLock)?
  private let held = Locked<(any FlightLock)?>(nil)

  /// - Parameter lock: takes the lock; `nil` where the sign-in goes on without.
  package init(_ lock: @escaping @Sendable () async throws(VaultTrouble) -> (any FlightLock)?) { self.lock = lock }

  deinit { end() }

  /// Returns when no other sign-in of the account is being exchanged or stored. Does nothing outside a sign-in, and in one that
  /// has taken its turn.
  ///
  /// - Throws: ``SessionError/storage(_:)`` when the turn does not come within a minute; the text says whose turn it is.
  public static func take() async throws(SessionError) {
    guard let turn = current, turn.held.withLock({ $0 }) == nil else { return }
    let lock: (any FlightLock)?
    do throws(VaultTrouble) { lock = try await turn.lock() } catch { throw .storage(error) }
    turn.held.withLock { $0 = lock }
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

  /// Lets others go first: nothing came of the exchange yet.
  package static func giveBack() { current?.end() }

  package func end() {
    let held = held.withLock { held in
      defer { held = nil }
      return held
    }
    held?.unlock()
  }
}
