/// A session begins.
extension VaultEntry {
  /// Puts the session in place of a previous one, which becomes a tombstone.
  mutating func begin(_ new: StoredSession, steps: [String]) {
    signIn = nil
    if let previous = session, previous.id != new.id {
      bury(previous, reason: .replaced, at: new.startedAt, steps: new.isOfAnotherAccount(than: previous) ? steps : [])
    }
    release(new.id, revokedBy: new.revocation)
    session = new
    keepData()
  }

  /// The session in use is that account's.
  mutating func identify(_ profile: Profile) {
    session?.profile = profile
    keepData()
  }

  /// The user of the session is back: their data stays.
  private mutating func keepData() {
    if let account = session?.person {
      for index in tombstones.indices where tombstones[index].account == account { tombstones[index].steps = [] }
    }
    forgetDelivered()
  }
}

/// A session gets new secrets.
extension StoredSession {
  /// A refresh has succeeded: its tokens replace those that it sent, and nothing of it is pending.
  mutating func advance(with tokens: RefreshedTokens) {
    refresh = tokens.successor
    if !tokens.response.isExchanged {
      rotationKeys = rotationKeys.after(tokens.response.acceptsRotationKey)
      isRotated = tokens.successor != tokens.sent || isRotated == true
    }
    // At a server without handles the refresh token itself ends the session: then the newest one is needed.
    if revocation?.secret == tokens.sent.secret {
      revocation = RevocationHandle(tokens.successor.secret)
    } else if revocation == nil {
      revocation = tokens.response.revocation
    }
    pendingKey = nil
    attempt = nil
    access = tokens.ownAccess ?? access
    if let target = tokens.target, tokens.servesTarget { keep(tokens.access, for: target) }
    idToken = tokens.idToken ?? idToken
    profile = tokens.response.profile ?? profile
  }

  /// The server has replaced the credential. If the previous one is the revocation handle as well, so is the new one.
  mutating func renew(with new: StoredAccess) {
    if let previous = access?.credential, revocation?.secret == previous.secret {
      revocation = RevocationHandle(new.credential.secret)
    }
    access = new
  }
}

/// A session ends, and its tombstone remains until no work is pending.
extension VaultEntry {
  /// Ends the session; without one, the last tombstone gets the steps that it lacks: a repeated sign-out may erase more. Returns
  /// whether there was anything to do. A sign-in that waits for its response is forgotten, unless it began after a late sign-out.
  mutating func signOut(_ reason: EndReason, at time: Moment, steps: [String], isLate: Bool) -> Bool {
    let isSigningIn = signIn.map { !isLate || $0.startedAt <= time.wall } ?? false
    if isSigningIn { signIn = nil }
    if let session {
      bury(session, reason: reason, at: time, steps: steps)
      return true
    }
    guard let last = tombstones.indices.last else { return isSigningIn }
    let missing = steps.filter { !tombstones[last].steps.contains($0) }
    tombstones[last].steps += missing
    return isSigningIn || !missing.isEmpty
  }

  /// Changes the tombstones of a session. Those that are finished name no account.
  mutating func changeTombstones(of session: SessionID, _ change: (inout Tombstone) -> Void) {
    for index in tombstones.indices where tombstones[index].session == session {
      change(&tombstones[index])
      if tombstones[index].isFinished { tombstones[index].account = nil }
    }
    forgetDelivered()
  }

  mutating func bury(_ previous: StoredSession, reason: EndReason, at time: Moment, steps: [String]) {
    session = nil
    add(Tombstone(of: previous, reason: reason, at: time, steps: steps))
  }

  /// Ends the session, if there is one.
  package mutating func endSession(_ reason: EndReason, at time: Moment) {
    if let session { bury(session, reason: reason, at: time, steps: []) }
  }

  mutating func add(_ tombstone: Tombstone) {
    release(tombstone.session, revokedBy: tombstone.revocation)
    var tombstone = tombstone
    if tombstone.isFinished { tombstone.account = nil }
    tombstones.append(tombstone)
    tombstones.removeFirst(max(0, tombstones.count - VaultEdit.tombstoneLimit))
  }

  /// Frees the ID for another session. Some servers give one ID to all sessions of a single sign-on: a pending revocation with
  /// another handle stays, under an ID of its own.
  private mutating func release(_ id: SessionID, revokedBy handle: RevocationHandle?) {
    tombstones.removeAll { $0.session == id && ($0.revocation == nil || $0.revocation == handle) }
    for index in tombstones.indices where tombstones[index].session == id {
      tombstones[index].session = SessionID("\(id.rawValue)#\(revision)")
    }
  }

  /// Tombstones without pending work exist only for their reason; the newest is enough.
  private mutating func forgetDelivered() {
    let delivered = tombstones.filter(\.isFinished).dropLast()
    tombstones.removeAll { delivered.contains($0) }
  }
}

/// Two places become one.
extension VaultEntry {
  /// The content of two places as one. A sign-out in one of them ends a session that began earlier in the other one, as the user meant
  /// it; what the same place says of its own session and its own ends was in order there.
  ///
  /// - Parameter isOlder: Whether what is there of a session that is here as well is older. Of an earlier place it may only be newer,
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
        let (previous, later) = isLater ? (own, theirs) : (theirs, own)
        bury(previous, reason: .replaced, at: later.startedAt, steps: [])
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
}

extension Tombstone {
  package init(of session: StoredSession, reason: EndReason, at time: Moment, steps: [String] = []) {
    self.init(
      session: session.id, reason: reason, endedAt: time, revocation: session.revocation, account: session.profile?.id,
      issuer: session.issuer, steps: steps)
  }

  /// Whether the user signed out after that session had begun.
  fileprivate func isSignOut(after session: StoredSession) -> Bool {
    reason == .signedOut && endedAt.wall > session.startedAt.wall
  }
}
