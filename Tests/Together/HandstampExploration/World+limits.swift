package import HandstampCore

extension World {
  /// The moves that may occur in a world, and how often.
  /// An OAuth client at our own server.
  package enum OAuthKind: String, Sendable, Hashable, CaseIterable {
    /// It sends rotation keys, from its sign-in on.
    case keyed
    /// It sends neither keys nor proofs.
    case open
    /// It proves itself, with a secret or with the key that its tokens are bound to, and sends no rotation keys.
    case constrained
  }

  package struct Limits: Sendable, Hashable {
    /// The kind of OAuth client, at our own server; `nil` for the server's own protocol. For clients without keys, ``server`` is set
    /// as well: they follow the rules for third-party servers.
    package var oauth: OAuthKind?
    /// How long a third-party server with an overlap accepts a replaced token.
    package var overlap: Duration = .seconds(90)
    /// The client's knowledge of it.
    package var reuse: RefreshTokenReuse?
    /// How often a client of a third-party server presents a token before its callers get an error.
    package var attempts = 2
    /// Whether work in progress takes no time: time passes only while every process waits. Otherwise any overlap may pass while a
    /// process is busy.
    package var isPrompt = false
    package var processes = 2
    /// Refresh requests of honest processes.
    package var requests = 4
    /// Crashes, timeouts and lost responses.
    package var troubles = 2
    package var duplicates = 0
    package var lostCommits = 0
    /// Whether nodes of the server read and commit apart, so that they can be in each other's way.
    package var hasNodes = false
    /// How many commits of nodes have an unknown outcome.
    package var unknownCommits = 0
    package var failovers = 0
    package var lockWorks = true
    /// The kind of third-party server; `nil` for our own.
    package var server: KeylessServer.Kind?
    /// The kinds of trouble.
    package var kinds: Set<Trouble> = [.lost, .killed]
    /// How often the response deadline may pass.
    package var passes = 0
    /// Whether a suspended program releases its refresh lock, as on iOS.
    package var suspensionGivesUpLock = false
    /// Whether each process is in a namespace of its own, like a container, where it sees only locks.
    package var hasNamespaces = false
    /// Whether a process that is killed leaves a child that was forked with its descriptors.
    package var childrenLive = false
    /// Whether the file system grants a lock that is held, which a sender notices.
    package var locksExcludeNobody = false
    /// Whether the second process has a copy of the vault.
    package var copiesVault = false
    /// Whether the world starts without a session.
    package var startsSignedOut = false
    /// How often an older vault is restored.
    package var goesBack = 0
    /// Whether the server ends an account's session when the user signs in again.
    package var oneSessionEach = false
    /// Whether to check, for one state in 64, that everything comes to a good end from there.
    package var checksLiveness = false
    /// Whether a request may arrive after its sender has given up.
    package var delays = false
    package var thief: Stealing?
    package var thiefRequests = 4
    package var faults: Set<Fault> = []
    /// How often a user signs out, and in again.
    package var signOuts = 0
    /// How often the vault fails for a while.
    package var vaultTroubles = 0
    /// Whether writing an end may take the vault longer than the client waits.
    package var vaultHangs = false
    /// Whether processes are notified of each other's writes.
    package var signals = false
    /// The target that processes ask a token for; `nil` for the session's own. Its tokens expire, so that the vault keeps them.
    package var target: TokenTarget?
    /// If set, time passes, and everything else in a session's life can happen; for simulations. If `nil`, time stands
    /// still, and its effects are moves of their own; for explorations.
    package var life: Life?

    package init() {}

    /// Whether requests carry the rotation key.
    var sendsKeys: Bool { oauth == nil || oauth == .keyed }
  }

  /// A fault between a process and a server, or in a process.
  package enum Trouble: String, Sendable, Hashable, CaseIterable {
    /// A request or a response is lost together with its connection, or the response does not come from the token endpoint.
    case lost
    /// A response is lost, and nothing tells its sender.
    case silent
    /// A response arrives after the deadline.
    case late
    /// A process is killed.
    case killed
    /// A process is killed while it has tokens that are in no vault.
    case endsUnsaved
    /// A process is suspended until its connection breaks.
    case frozenOut
    /// An older vault is restored while no process holds a newer one.
    case goesBackUnseen

    // Troubles that must never cost a session:
    /// A process is suspended and resumed.
    case suspended
    /// A request is lost, and its sender gives it up without knowing that no response can arrive.
    case leftOpen
    /// The server responds with a protocol error, or nothing could be sent.
    case refused
    /// A program ends, or releases the session.
    case leaves
    /// A caller stops waiting.
    case cancelled
  }

  /// Parameters of a simulation.
  package struct Life: Sendable, Hashable {
    /// The lifetime of access tokens.
    package var tokenLife = Duration.seconds(600)
    /// The client's own limits.
    package var idleLimit: Duration?
    package var absoluteLimit: Duration?
    /// The server's limit.
    package var serverLimit: Duration?
    package var refreshesAhead = false
    /// The initial error of the device's wall clock.
    package var skew = Duration.zero
    package var cleanups: [Cleanup] = []
    /// How often the device restarts after a power cut, its wall clock is set, the server ends a session by itself,
    /// garbage arrives instead of a response, and a clean-up step fails.
    package var reboots = 0
    package var clockJumps = 0
    package var revocations = 0
    package var garbage = 0
    package var cleanupTroubles = 0
    /// Whether to search states and logs for secrets, which takes time.
    package var looksForSecrets = false

    package init() {}
  }

  package enum Stealing: Sendable, Hashable {
    case token, tokenAndKey, tokenWithoutSendingKeys
  }

  /// The condition of a vault.
  package enum VaultState: String, Sendable, Hashable, CaseIterable {
    case works
    case unavailable
    case locked
    /// Readable, but not writable.
    case full
    /// The refresh item is locked, but not the access item.
    case accessOnly
    /// Writes, but reports a failure; a power cut undoes the write.
    case unconfirmed
    /// Like ``full``, but without space for a tombstone: the session is removed all the same.
    case crammed
    /// The folder is missing: unmounted or renamed.
    case vanished
  }

  /// Faults to plant, to prove that the checks find them.
  package enum Fault: String, Sendable, Hashable, CaseIterable {
    /// A crash or a power cut loses a rotation key that was written.
    case keyIsNotDurable
    /// A client does not report a refusal to the server.
    case noDeadEndRule
    /// A rejected client deletes the entry without comparing its token with the one sent.
    case endsWithoutComparing
    /// A client stores the result of a refresh regardless of the vault's current entry.
    case advancesWithoutComparing
    /// A refresh's access token is stored, but not its refresh token.
    case successorIsNotStored
    /// The last writer's rotation key wins instead of the first's.
    case preparesWithoutComparing
    /// Two processes get the refresh lock.
    case lockIsGivenTwice
    /// A pair is sent while its key is still being written.
    case sendsBeforeWriting
    /// A power cut loses a session that was reported as written.
    case signInIsNotDurable
    /// An unreadable vault reports that it is empty.
    case troubleReadsAsAbsence
    /// A sign-out writes nothing, but reports success.
    case signOutWritesNothing
    /// A process never reads the vault again after signing in.
    case staleReads
    /// A clean-up step is recorded as done before it is performed.
    case cleanupIsNotedFirst
    /// Garbage is taken for a refusal by the server.
    case garbageIsBelieved
    /// The server ends the session named by a forged token.
    case garbageEndsSessions
    /// An API checks only the token.
    case apiTrustsTokens
    /// The server serves two holders of one token.
    case keysAreNotCompared
    /// The audit log contains the token.
    case auditNamesTokens
    /// An observer misses a state.
    case statesAreLost
    /// Expiry is measured by the wall clock, which users can set.
    case wallClockDecides
    /// A refresh compares only refresh tokens, which may never change.
    case comparesRefreshTokenAlone
    /// The refresh lock is released while the new tokens are in memory only.
    case lockIsGivenBackUnsaved
    /// The response to a refresh is lost when its caller leaves.
    case leavingLosesTheAnswer
    /// The time of a suspension counts towards the deadline.
    case deadlineRunsWhileSuspended
    /// A token is sent again regardless of an unanswered attempt.
    case repeatsAtOnce
    /// Senders hold no lock of their attempt.
    case attemptsAreNotLocked
    /// A sender that does not hold the refresh lock counts as dead.
    case refreshLockProvesTheEnd
    /// A sender that waits without the refresh lock has released that of its attempt as well, and left the file.
    case attemptIsUnlockedWithTheRefreshLock
    /// A lock is believed in that another process could have, too.
    case anyLockIsBelieved
    /// A client waits as long after a broken connection as after silence.
    case waitsAfterTheEnd
    /// A running program takes a missing folder for an empty one.
    case vanishedReadsAsAbsence
    /// A restored older vault is adopted, whatever the program holds.
    case olderVaultIsAdopted
    /// Two processes may sign in at the same time.
    case signInsAreNotExclusive
    /// Any 200 counts as a revocation.
    case anyAnswerRevokes
    /// On a full disk the tombstone is lost, but the end is reported as written.
    case fullDiskForgetsEnds
    /// A node writes a row whatever it has become since it was read.
    case nodesWriteBlindly
    /// A node takes an unknown outcome for a refusal.
    case unknownCommitIsRefused
    /// A failover loses ends that were acknowledged.
    case failoverLosesEnds
    /// The idle limit counts from sign-in, regardless of activity since.
    case activityIsIgnored
  }
}
