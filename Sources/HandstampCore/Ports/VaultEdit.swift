/// A change of a vault's entry, as a value, with the rules of when it applies. ``Vault/edit(_:noting:)`` applies it.
package enum VaultEdit: Sendable, Hashable {
  /// The write-ahead of a sign-in: stores its key, unless one for the same purpose is stored that is not `insteadOf`. Never a conflict.
  case prepareSignIn(PendingSignIn, insteadOf: RotationKey? = nil)
  /// The server has refused the request with this key.
  case forgetSignIn(RotationKey)
  /// A sign-in. A former session becomes a tombstone with the reason ``EndReason/replaced``, and with `steps` if it belonged to
  /// another account. A conflict if that is another server's.
  case begin(StoredSession, steps: [String] = [])
  /// The write-ahead of a refresh: stores `key` unless a key is pending already. Only if the session holds `token`, and
  /// `access`, if given: where refresh tokens do not rotate, only the access token shows that another process has refreshed.
  ///
  /// With `attempt`, which replaces `over`: only if no other attempt is recorded.
  case prepare(
    SessionID, holding: RefreshToken, replacing: AccessToken? = nil, key: RotationKey, attempt: RefreshAttempt? = nil,
    over: RefreshAttempt? = nil)
  /// Records that an attempt was read under another boot, or with `nil` that it had no consequences. Only if it is the recorded
  /// one.
  case updateAttempt(SessionID, RefreshAttempt, as: RefreshAttempt?)
  /// A refresh has succeeded: stores the successor and clears the pending key and attempt. Only if the session holds
  /// ``RefreshedTokens/sent``.
  case advance(SessionID, RefreshedTokens)
  /// The server replaced the credential in requests, as it may with a cookie. Only if the session holds that one, so that of two
  /// concurrent responses the second is merged. If the same secret is also the revocation handle, the new one replaces it.
  case renew(SessionID, holding: Credential, with: StoredAccess)
  /// An older state of the vault was restored (a restored folder) while a program still held this newer one, stored at
  /// `revision`: it is written again. Only if the vault holds the same session at no higher revision.
  case putBack(StoredSession, revision: UInt64)
  /// The session has ended, and these clean-up steps are pending. Only if it holds `token`; with `nil`, whatever it holds.
  case end(SessionID, holding: RefreshToken?, reason: EndReason, at: Moment, steps: [String] = [])
  /// Sign-out: ends any session; if there is none, adds the steps to the last tombstone. Never a conflict. A late write spares
  /// a session that began after it.
  case signOut(EndReason, at: Moment, steps: [String] = [], isLate: Bool = false)
  /// A session that was never stored has ended; stores its tombstone. Never a conflict.
  case bury(Tombstone)
  /// The server has confirmed the end of this session, if not `nil` for this handle: its tombstone keeps only the reason. A
  /// tombstone with another handle stays: a replaced token ends nothing.
  case delivered(SessionID, with: RevocationHandle? = nil)
  /// The pending revocation of this session gets another handle, if it had `former`.
  case replaceRevocation(SessionID, with: RevocationHandle, insteadOf: RevocationHandle)
  /// The server's response to this handle decides nothing: the revocation is retried after `delay`.
  case postpone(SessionID, with: RevocationHandle, DeliveryDelay)
  /// These clean-up steps have run.
  case cleaned(SessionID, steps: [String])
  /// The session was used.
  case touch(SessionID, at: Moment)
  /// The session is this server's: it was stored without a server, or the server had another name.
  case claim(SessionID, issuer: String)
  /// Takes over the content of another place. Of two sessions the later one stays, and the other has ended with the reason
  /// ``EndReason/replaced``; an end that either place knows holds. A conflict if one of the two is another server's.
  case receive(VaultEntry)
  /// The content is in another place: nothing stays. Only if it is still the one of this revision.
  case vacate(revision: UInt64)

  /// The most tombstones kept; the oldest are dropped first. They exist only while the server cannot be reached.
  package static let tombstoneLimit = 32
  /// How often an edit is tried while others are faster. Each time one of them has written.
  package static let patience = 100

  /// The result of applying an edit to an entry.
  package enum Result: Sendable, Hashable {
    /// Write this; its revision is one higher.
    case write(VaultEntry)
    /// The edit already holds: nothing to write.
    case unchanged
    /// The condition is not met: nothing to write.
    case conflict
  }

  /// The purpose of its write, for the vault.
  package var write: VaultWrite {
    switch self {
    case .begin: .begin
    case .prepare(_, _, _, _, .some, _): .attempt
    case .advance, .bury, .vacate: .response
    case .end: .end
    case .signOut: .signOut
    case .prepareSignIn, .forgetSignIn, .prepare, .updateAttempt, .renew, .putBack, .delivered, .replaceRevocation,
      .postpone, .cleaned,
      .touch,
      .claim, .receive:
      .ordinary
    }
  }

  /// Applies the edit to `entry`. Pure.
  package func applied(to entry: VaultEntry) -> Result {
    var new = entry
    new.revision += 1
    switch self {
    case .prepareSignIn(let signIn, let used):
      new.signIn = signIn.joined(to: entry.signIn, insteadOf: used)
      guard new.signIn != entry.signIn else { return .unchanged }
    case .forgetSignIn(let key):
      guard entry.signIn?.key == key else { return .unchanged }
      new.signIn = nil
    case .begin(let session, let steps):
      if let former = entry.session, session.isOfAnotherServer(than: former) { return .conflict }
      new.signIn = nil
      if let former = new.session, former.id != session.id {
        let isAnother = session.isOfAnotherAccount(than: former)
        new.bury(former, reason: .replaced, at: session.startedAt, steps: isAnother ? steps : [])
      }
      new.release(session.id, revokedBy: session.revocation)
      // The same user is back: their data stays.
      if let account = session.person {
        for index in new.tombstones.indices where new.tombstones[index].account == account {
          new.tombstones[index].steps = []
        }
      }
      new.forgetDelivered(keeping: 1)
      new.session = session
    case .prepare(let id, let token, let access, let key, let attempt, let former):
      guard let session = entry.session, session.id == id, session.refresh == token,
        access == nil || session.access?.token == access, attempt == nil || session.attempt == former
      else { return .conflict }
      guard attempt != nil || session.pendingKey == nil else { return .unchanged }
      new.session?.pendingKey = session.pendingKey ?? key
      if let attempt { new.session?.attempt = attempt }
    case .updateAttempt(let id, let former, let attempt):
      guard let session = entry.session, session.id == id, session.attempt == former else { return .conflict }
      new.session?.attempt = attempt
    case .advance(let id, let tokens):
      guard let session = entry.session, session.id == id, session.refresh == tokens.sent else { return .conflict }
      new.session?.refresh = tokens.successor
      if !tokens.isExchanged {
        new.session?.rotationKeys = session.rotationKeys.after(tokens.usedKey)
        new.session?.isRotated = tokens.successor != tokens.sent || session.isRotated == true
      }
      // At a server without handles the refresh token itself ends the session: then the newest one is needed.
      if session.revocation?.secret == tokens.sent.secret {
        new.session?.revocation = RevocationHandle(tokens.successor.secret)
      }
      if session.revocation == nil { new.session?.revocation = tokens.revocation }
      new.session?.pendingKey = nil
      new.session?.attempt = nil
      new.session?.access = tokens.access
      if let target = tokens.target, let access = tokens.targeted { new.session?.keep(access, for: target) }
      if let idToken = tokens.idToken { new.session?.idToken = idToken }
      if let profile = tokens.profile { new.session?.profile = profile }
    case .renew(let id, let former, let access):
      guard let session = entry.session, session.id == id, session.access?.credential == former else {
        return .conflict
      }
      guard access != session.access else { return .unchanged }
      if session.revocation?.secret == former.secret {
        new.session?.revocation = RevocationHandle(access.credential.secret)
      }
      new.session?.access = access
    case .putBack(let session, let revision):
      guard entry.session?.id == session.id, entry.revision <= revision else { return .conflict }
      new.session = session
      new.revision = max(entry.revision, revision) + 1
    case .end(let id, let token, let reason, let time, let steps):
      guard let session = entry.session, session.id == id, token == nil || session.refresh == token else {
        return .conflict
      }
      new.bury(session, reason: reason, at: time, steps: steps)
    case .signOut(let reason, let time, let steps, let isLate):
      if isLate, let later = entry.session?.startedAt.elapsed(since: time), later > .zero { return .unchanged }
      new.signIn = nil
      guard let session = entry.session else {
        guard entry.signIn == nil || !entry.tombstones.isEmpty else { break }
        // A repeated sign-out that erases more applies to the last session.
        guard let last = new.tombstones.indices.last, !Set(steps).isSubset(of: new.tombstones[last].steps) else {
          return .unchanged
        }
        let known = new.tombstones[last].steps
        new.tombstones[last].steps += steps.filter { !known.contains($0) }
        break
      }
      new.bury(session, reason: reason, at: time, steps: steps)
    case .bury(let tombstone):
      if new.session?.id == tombstone.session { new.session = nil }
      new.add(tombstone)
    case .delivered(let id, let handle):
      let open = entry.tombstones.filter { $0.session == id && $0.revocation != nil }
      if open.isEmpty { return .unchanged }
      guard handle == nil || open.contains(where: { $0.revocation == handle }) else { return .conflict }
      for index in new.tombstones.indices where new.tombstones[index].session == id {
        new.tombstones[index].revocation = nil
        new.tombstones[index].delay = nil
        if new.tombstones[index].isFinished { new.tombstones[index].account = nil }
      }
      new.forgetDelivered(keeping: 1)
    case .replaceRevocation(let id, let handle, let former):
      guard let index = entry.tombstones.firstIndex(where: { $0.session == id && $0.revocation == former }) else {
        return .conflict
      }
      new.tombstones[index].revocation = handle
      new.tombstones[index].delay = nil
    case .postpone(let id, let handle, let delay):
      guard let index = entry.tombstones.firstIndex(where: { $0.session == id && $0.revocation == handle }) else {
        return .unchanged
      }
      new.tombstones[index].delay = delay
    case .cleaned(let id, let steps):
      let isOpen = entry.tombstones.contains { $0.session == id && $0.steps.contains(where: steps.contains) }
      guard isOpen else { return .unchanged }
      for index in new.tombstones.indices where new.tombstones[index].session == id {
        new.tombstones[index].steps.removeAll(where: steps.contains)
        if new.tombstones[index].isFinished { new.tombstones[index].account = nil }
      }
      new.forgetDelivered(keeping: 1)
    case .touch(let id, let time):
      guard entry.session?.id == id else { return .conflict }
      new.session?.activeAt = time
    case .claim(let id, let issuer):
      guard let session = entry.session, session.id == id else { return .conflict }
      guard session.issuer != issuer else { return .unchanged }
      new.session?.issuer = issuer
    case .receive(let other):
      if let theirs = other.session, let own = entry.session, theirs.isOfAnotherServer(than: own) { return .conflict }
      new.receive(other)
      guard (new.session, new.tombstones, new.signIn) != (entry.session, entry.tombstones, entry.signIn) else {
        return .unchanged
      }
    case .vacate(let revision):
      guard entry.revision == revision else { return .conflict }
      guard !entry.isEmpty else { return .unchanged }
      new = VaultEntry(revision: new.revision)
    }
    return .write(new)
  }
}

/// The tokens that a refresh brought, until they are stored.
package struct RefreshedTokens: Sendable, Hashable {
  package var sent: RefreshToken
  package var successor: RefreshToken
  package var access: StoredAccess
  package var profile: Profile?
  /// The ID token that came with it; `nil` keeps the former one.
  var idToken: StoredIDToken?
  /// The token for another target that came with the successor.
  var targeted: StoredAccess?
  /// Whether it was exchanged: the refresh token was not sent.
  var isExchanged = false
  /// That target; `nil` if the token does not serve it.
  var target: TokenTarget?
  /// Whether the server used the rotation key.
  var usedKey: Bool
  /// The handle that came with it, for a session without one.
  var revocation: RevocationHandle?

  package init(
    sent: RefreshToken, to successor: RefreshToken, access: StoredAccess, profile: Profile?, usedKey: Bool = false,
    revocation: RevocationHandle? = nil
  ) {
    self.sent = sent
    self.successor = successor
    self.access = access
    self.profile = profile
    self.usedKey = usedKey
    self.revocation = revocation
  }
}

extension VaultEntry {
  fileprivate mutating func bury(_ former: StoredSession, reason: EndReason, at time: Moment, steps: [String]) {
    session = nil
    add(
      Tombstone(
        session: former.id, reason: reason, endedAt: time, revocation: former.revocation, account: former.profile?.id,
        issuer: former.issuer, steps: steps))
  }

  /// Ends the session, if there is one.
  package mutating func endSession(_ reason: EndReason, at time: Moment) {
    if let session { bury(session, reason: reason, at: time, steps: []) }
  }

  /// The content of two places as one. A sign-out in one of them ends a session that began earlier in the other one, as the user meant
  /// it; what the same place says of its own session and its own ends was in order there.
  ///
  /// - Parameter isOlder: Whether what is there of a session that is here as well is older. Of a former place it may only be newer,
  ///   because what was copied from there is not used before that place is empty. A session in another item of one vault began after
  ///   a sign-out here: each move leaves that item empty.
  package mutating func receive(_ other: VaultEntry, isOlder: Bool = false) {
    let mine = session
    if let theirs = other.session {
      if let ended = tombstones.lastIndex(where: { $0.session == theirs.id }) {
        // Only the newest handle ends it.
        if !isOlder, let handle = theirs.revocation { tombstones[ended].revocation = handle }
      } else if let own = session, own.id == theirs.id {
        if !isOlder {
          session = theirs
          session?.issuer = theirs.issuer ?? own.issuer
        }
      } else if mine == nil, !isOlder, let out = tombstones.last(where: { $0.isSignOut(after: theirs) }) {
        session = theirs
        bury(theirs, reason: .signedOut, at: out.endedAt, steps: [])
      } else if let own = session {
        let isLater = theirs.startedAt.wall > own.startedAt.wall
        let (former, later) = isLater ? (own, theirs) : (theirs, own)
        bury(former, reason: .replaced, at: later.startedAt, steps: [])
        session = later
      } else {
        session = theirs
      }
    }
    if signIn == nil { signIn = other.signIn }
    for tombstone in other.tombstones where self.tombstone(of: tombstone.session) == nil {
      if let own = session, own.id == tombstone.session {
        bury(own, reason: tombstone.reason, at: tombstone.endedAt, steps: tombstone.steps)
        continue
      }
      if let own = session, own.id == mine?.id, own.id != other.session?.id, tombstone.isSignOut(after: own) {
        bury(own, reason: .signedOut, at: tombstone.endedAt, steps: tombstone.steps)
      }
      if !tombstone.isFinished || session == nil && tombstones.isEmpty {
        add(tombstone)
      }
    }
  }

  /// Frees the ID for another session. Some servers give one ID to all sessions of a single sign-on: a pending revocation with
  /// another handle stays, under an ID of its own.
  fileprivate mutating func release(_ id: SessionID, revokedBy handle: RevocationHandle?) {
    tombstones.removeAll { $0.session == id && ($0.revocation == nil || $0.revocation == handle) }
    for index in tombstones.indices where tombstones[index].session == id {
      tombstones[index].session = SessionID("\(id.rawValue)#\(revision)")
    }
  }

  fileprivate mutating func add(_ tombstone: Tombstone) {
    release(tombstone.session, revokedBy: tombstone.revocation)
    var tombstone = tombstone
    if tombstone.isFinished { tombstone.account = nil }
    tombstones.append(tombstone)
    tombstones.removeFirst(max(0, tombstones.count - VaultEdit.tombstoneLimit))
  }

  /// Tombstones without pending work exist only for their reason; the newest is enough.
  fileprivate mutating func forgetDelivered(keeping count: Int) {
    let delivered = tombstones.filter(\.isFinished).dropLast(count)
    tombstones.removeAll { delivered.contains($0) }
  }
}

extension Tombstone {
  /// Whether the user signed out after that session had begun.
  fileprivate func isSignOut(after session: StoredSession) -> Bool {
    reason == .signedOut && endedAt.wall > session.startedAt.wall
  }
}
