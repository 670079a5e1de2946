package import HandstampCore

extension World {
  /// What may happen in a world, and how often.
  package struct Limits: Sendable, Hashable {
    package var processes = 2
    /// Refresh requests of honest processes.
    package var requests = 4
    /// Crashes, time-outs and lost answers.
    package var troubles = 2
    package var duplicates = 0
    package var lostCommits = 0
    package var lockWorks = true
    /// Whether a request may arrive after its sender gave up.
    package var delays = false
    package var thief: Stealing?
    package var thiefRequests = 4
    package var faults: Set<Fault> = []
    /// How often a user signs out, and as often in again.
    package var signOuts = 0
    /// How often the vault is out of order for a while.
    package var vaultTroubles = 0
    /// Whether processes hear of each other's writes.
    package var signals = false
    /// With it, time passes and everything else happens that happens in a session's life; for simulations. Without it time
    /// stands still, and what it would bring about is a move of its own; for explorations.
    package var life: Life?

    package init() {}
  }

  /// What only a simulation has.
  package struct Life: Sendable, Hashable {
    /// How long access tokens last.
    package var tokenLife = Duration.seconds(600)
    /// The client's own limits.
    package var idleLimit: Duration?
    package var absoluteLimit: Duration?
    /// The server's.
    package var serverLimit: Duration?
    package var refreshesAhead = false
    /// By how much the device's wall clock is wrong from the beginning.
    package var skew = Duration.zero
    package var cleanups: [Cleanup] = []
    /// How often the device starts anew, its power cut; its wall clock is set; the server ends a session by itself; garbage
    /// comes instead of an answer; a clean-up step fails.
    package var reboots = 0
    package var clockJumps = 0
    package var revocations = 0
    package var garbage = 0
    package var cleanupTroubles = 0
    /// Whether what is shown and written down is searched for secrets, which takes time.
    package var looksForSecrets = false

    package init() {}
  }

  package enum Stealing: Sendable, Hashable {
    case token, tokenAndKey, tokenWithoutSendingKeys
  }

  /// How a vault is out of order.
  package enum VaultState: String, Sendable, Hashable, CaseIterable {
    case works
    case unavailable
    case locked
    /// Reads, but cannot write.
    case full
    /// The refresh item is locked, the access item is not.
    case accessOnly
    /// Writes, and yet says that it failed; a power cut undoes it.
    case unconfirmed
  }

  /// What can be planted to see that it is found.
  package enum Fault: String, Sendable, Hashable, CaseIterable {
    /// A crash or a power cut loses a rotation key that was written.
    case keyIsNotDurable
    /// A client that was refused tells the server nothing.
    case noDeadEndRule
    /// A rejected client deletes without comparing what is stored with what it had sent.
    case endsWithoutComparing
    /// A client stores what a refresh brought home whatever the vault holds by then.
    case advancesWithoutComparing
    /// A refresh's access token is stored, its refresh token is not.
    case successorIsNotStored
    /// The last writer's rotation key stays, not the first's.
    case preparesWithoutComparing
    /// Two get the flight lock.
    case lockIsGivenTwice
    /// A pair goes out while its key is still being written.
    case sendsBeforeWriting
    /// A power cut loses a session that was reported as written.
    case signInIsNotDurable
    /// A vault that cannot be read says that it is empty.
    case troubleReadsAsAbsence
    /// A sign-out writes nothing, and says that it did.
    case signOutWritesNothing
    /// A process never reads the vault again once it is signed in.
    case staleReads
    /// A clean-up step is noted as done before it is done.
    case cleanupIsNotedFirst
    /// A refusal by garbage is taken for the server's word.
    case garbageIsBelieved
    /// The server ends a session that a forged token names.
    case garbageEndsSessions
    /// An API goes by the token alone.
    case apiTrustsTokens
    /// The server serves two holders of one token.
    case keysAreNotCompared
    /// The audit log names the token.
    case auditNamesTokens
    /// An observer misses a state.
    case statesAreLost
    /// Expiry is measured by the clock that people set.
    case wallClockDecides
    /// The idle limit counts from sign-in, whatever was done since.
    case activityIsIgnored
  }
}
