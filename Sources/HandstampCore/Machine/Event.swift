extension SessionMachine {
  /// One piece of work that has been asked for; its answer names it.
  package struct Operation: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    package var description: String { "#\(number)" }
  }

  /// One caller who waits for a token, or one command that waits for its outcome. Never used twice.
  package struct Waiter: Sendable, Hashable, Comparable {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }

  /// What a caller needs of a token.
  package struct Need: Sendable, Hashable {
    /// How long it must last yet. More than a token's life is clamped, see ``SessionMachine/clamp(_:toLife:)``.
    package var validity: Duration
    /// The token that an API refused: any other will do.
    package var refused: AccessToken?

    package init(validity: Duration = .zero, refused: AccessToken? = nil) {
      self.validity = validity
      self.refused = refused
    }
  }

  /// How a refresh was answered.
  package enum RefreshAnswer: Sendable, Hashable {
    case granted(Grant)
    /// The definitive rejection of `ROTATION.md`, with the server's reason.
    case rejected(EndReason)
    /// `superseded`: the server has moved on from this token.
    case superseded
    /// A new refresh token, and no usable access token.
    case unusable(successor: RefreshToken, entropy: UInt64)
    /// Nothing that decides anything. Never ends a session. The entropy spreads the next attempt.
    /// With `isSettled` the token is known to be what it was: nothing was sent, or the server said no.
    case none(retryAfter: Duration?, entropy: UInt64, isSettled: Bool = false)
  }

  /// A timer; starting one again replaces the former.
  package enum Timer: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The refresh ahead of expiry.
    case refresh
    /// The next attempt of a refresh.
    case retry
    /// The most that an answer is waited for at a server without rotation keys. Counted in time during which the program ran.
    case answer
    /// The next try to store tokens that could not be stored, or a tombstone.
    case save
    /// The idle and the absolute limit.
    case limit
    /// The next try to tell the server of an end.
    case deliver
    /// The next try of clean-up steps that failed.
    case clean
    /// The most that a sign-in waits for clean-up steps.
    case hold
    /// The most that the end of a session waits for the vault.
    case end

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  /// Everything that can happen to a session.
  package enum Event: Sendable, Hashable {
    /// The program began.
    case start
    /// Another process may have written to the vault, or the vault may have been unlocked.
    case vaultChanged
    case timer(Timer, ticket: UInt64)
    /// A read was answered.
    case read(Operation, VaultReading)
    /// An edit was answered; `asOf` is when the vault looked.
    case edited(Operation, VaultOutcome, asOf: Moment)

    /// Somebody began to sign in; a former attempt is cancelled.
    case signIn(Waiter)
    /// How it went. The session id serves where the server gave none.
    case signInAnswered(Waiter, Result<Grant, SessionError>, fallback: SessionID, remember: Bool = true)
    case signOut(Waiter, EndReason, SignOutPlan = .standard)
    /// A clean-up step was done, or could not be.
    case cleaned(SessionID, step: String, succeeded: Bool, entropy: UInt64)
    /// The server said, outside any refresh, that a session is over.
    case ended(SessionID, EndReason)

    /// The server replaced what requests of this session carry.
    case renewed(Waiter, SessionID, from: AccessToken, to: AccessToken)

    case demand(Waiter, Need)
    /// A caller waits no longer.
    case gone(Waiter)
    /// Somebody used the session.
    case activity
    /// The network or the device came back: what waits for its time may go now.
    case nudge

    /// The flight lock is ours; the key is fresh and random, for the case that none is pending.
    case locked(Operation, RotationKey)
    /// The flight lock could not be taken, for this reason.
    case lockFailed(Operation, RotationKey, VaultTrouble = .unavailable("the flight lock is held elsewhere"))
    case answered(Operation, RefreshAnswer)
    /// The server was told of an end, or could not be.
    /// With `refusal`, the server's error code, it said that it will not end that session. With `isAnswered` it answered in a way
    /// that decides nothing.
    case revoked(SessionID, delivered: Bool, refusal: String? = nil, isAnswered: Bool = false, entropy: UInt64)
  }
}
