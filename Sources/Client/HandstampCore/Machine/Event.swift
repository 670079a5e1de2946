extension SessionMachine {
  /// One piece of requested work; its answer names it.
  package struct Operation: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    package var description: String { "#\(number)" }
  }

  /// One caller that waits for a credential, or one command that waits for its outcome. Never used twice.
  package struct Waiter: Sendable, Hashable, Comparable {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }

  /// A caller's requirements for a token.
  package struct Need: Sendable, Hashable {
    /// The minimum remaining lifetime. Clamped to the token's lifetime, see ``SessionMachine/clamp(_:toLifetime:)``.
    package var validity: Duration
    /// The credential that an API rejected: any other will do.
    package var refused: Credential?
    /// The token that is wanted; `nil` for the session's own.
    package var target: TokenTarget?

    package init(validity: Duration = .zero, refused: Credential? = nil, target: TokenTarget? = nil) {
      self.target = target
      self.validity = validity
      self.refused = refused
    }
  }

  /// A timer; starting it again replaces the previous one.
  package enum Timer: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// The refresh ahead of expiry.
    case refresh
    /// The next attempt of a refresh.
    case retry
    /// The longest wait for a response at a server without rotation keys, in time during which the program runs.
    case answer
    /// The next attempt to store tokens that could not be stored.
    case save
    /// The next attempt to store a credential that was replaced.
    case renew
    /// The next attempt to store a tombstone.
    case bury
    /// The next reading of a vault to which an older copy was restored, and which could not be written.
    case reload
    /// The idle and the absolute limit, and the notice before them.
    case limit
    /// The next attempt of pending revocations.
    case revoke
    /// The next attempt of clean-up steps that failed.
    case clean
    /// The longest that a sign-in waits for clean-up steps.
    case hold
    /// The longest that the end of a session waits for the vault.
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
    /// An edit was answered; `asOf` is when the vault applied it.
    case edited(Operation, VaultOutcome, asOf: Moment)

    /// A sign-in began; a previous attempt is cancelled.
    case signIn(Waiter)
    /// The result of a sign-in, and how the user signed in. The fallback is used if the server sent no session ID.
    case signInAnswered(
      Waiter, Result<TokenResponse, SessionError>, by: SignInClaim, fallback: SessionID, remember: Bool = true)
    case signOut(Waiter, EndReason, SignOutPlan = .standard)
    /// A clean-up step succeeded or failed.
    case cleaned(SessionID, step: String, succeeded: Bool, entropy: UInt64)
    /// The server reported, outside any refresh, that a session has ended.
    case ended(SessionID, EndReason)

    /// The server replaced the credential in this session's requests.
    case renewed(Waiter, SessionID, from: Credential, to: Credential)
    /// The app knows whose session it is, or how the account is called now.
    case identified(Waiter, SessionID, Profile)

    case demand(Waiter, Need)
    /// A caller no longer waits.
    case gone(Waiter)
    /// The session was used.
    case activity
    /// The network or the device came back: delayed work may start now.
    case conditionsChanged

    /// The refresh lock is acquired, unless it could not be, for this reason. The key is fresh and random, in case none is
    /// pending.
    case locked(Operation, RotationKey, failing: VaultError? = nil)
    /// The response to a refresh. The entropy spreads the next attempt.
    case refreshCompleted(Operation, RefreshResult, entropy: UInt64 = 0)
    /// Whether the sender of a recorded attempt has ended.
    case senderChecked(Operation, hasEnded: Bool)
    /// The response to a revocation. The entropy spreads the next attempt.
    case revoked(SessionID, RevocationResult, entropy: UInt64 = 0)
  }
}
