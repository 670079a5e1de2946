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
    /// Whose server it is: our own, or one of others.
    package var server: KeylessServer.Kind?
    /// What the troubles are.
    package var kinds: Set<Trouble> = [.lost, .killed]
    /// How often as much time passes as an answer is waited for.
    package var passes = 0
    /// Whether a suspended program gives its flight lock up, as on iOS.
    package var suspensionGivesUpLock = false
    /// Whether the second process has a copy of the vault.
    package var copiesVault = false
    /// Whether it begins without a session.
    package var startsSignedOut = false
    /// How often an older vault is put back.
    package var goesBack = 0
    /// Whether the server ends a person's session when they sign in once more.
    package var oneSessionEach = false
    /// Whether it is asked, of one state in 64, if all comes to a good end from there.
    package var checksLiveness = false
    /// Whether a request may arrive after its sender gave up.
    package var delays = false
    package var thief: Stealing?
    package var thiefRequests = 4
    package var faults: Set<Fault> = []
    /// How often a user signs out, and as often in again.
    package var signOuts = 0
    /// How often the vault is out of order for a while.
    package var vaultTroubles = 0
    /// Whether the vault may take longer for an end than it is waited for.
    package var vaultHangs = false
    /// Whether processes hear of each other's writes.
    package var signals = false
    /// With it, time passes and everything else happens that happens in a session's life; for simulations. Without it time
    /// stands still, and what it would bring about is a move of its own; for explorations.
    package var life: Life?

    package init() {}
  }

  /// What may go wrong between a process and a server, or happen to a process.
  package enum Trouble: String, Sendable, Hashable, CaseIterable {
    /// A request or an answer is lost, or the answer does not come from the token endpoint.
    case lost
    /// An answer comes later than it is waited for.
    case late
    /// A process is killed.
    case killed
    /// A process is killed that has tokens which no vault took.
    case endsUnsaved
    /// A process is suspended until its connection is gone.
    case frozenOut
    /// An older vault is put back while no process holds what was newer.
    case goesBackUnseen

    // What must never cost a session:
    /// A process is suspended, and goes on.
    case suspended
    /// The server answers with an error of the protocol, or nothing could be sent.
    case refused
    /// A program ends, or the owner of the session lets go of it.
    case leaves
    /// A caller waits no longer.
    case cancelled
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
    /// Like ``full``, without room for a tombstone: the session that ends goes all the same.
    case crammed
    /// Its folder is away: unmounted, or renamed.
    case vanished
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
    /// A refresh compares refresh tokens alone, which may never change.
    case comparesRefreshTokenAlone
    /// The flight lock is given back while the new tokens are in memory alone.
    case lockIsGivenBackUnsaved
    /// The answer to a refresh is lost with its caller.
    case leavingLosesTheAnswer
    /// The time in which a process was suspended counts for its deadline.
    case deadlineRunsWhileSuspended
    /// A token is presented again without regard to an attempt that was not answered.
    case repeatsAtOnce
    /// A running program takes a folder that is away for an empty one.
    case vanishedReadsAsAbsence
    /// An older vault that is put back is adopted, whatever the program holds.
    case olderVaultIsAdopted
    /// Two may sign in at once.
    case signInsAreNotExclusive
    /// Any 200 counts as a revocation.
    case anyAnswerRevokes
    /// On a full disk the tombstone is lost, and the end reported as written.
    case fullDiskForgetsEnds
    /// The idle limit counts from sign-in, whatever was done since.
    case activityIsIgnored
  }
}
