/// A change of a vault's entry, as a value, with the rules of when it applies. ``Vault/edit(_:noting:)`` applies it.
package enum VaultEdit: Sendable, Hashable {
  /// The write-ahead of a sign-in: stores its key, unless one for the same purpose is stored that is not `insteadOf`. Never a conflict.
  case prepareSignIn(PendingSignIn, insteadOf: RotationKey? = nil)
  /// The server has refused the request with this key.
  case forgetSignIn(RotationKey)
  /// A sign-in. A previous session becomes a tombstone with the reason ``EndReason/replaced``, and with `steps` if it belonged to
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
  /// The session is this account's, or the account is called so now. Only if it is not known to be another's.
  case identify(SessionID, Profile)
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
  /// The server has decided about the end of this session, if not `nil` for this handle: its tombstone keeps only the reason. A
  /// tombstone with another handle stays: a replaced token ends nothing.
  case delivered(SessionID, with: RevocationHandle? = nil)
  /// The pending revocation of this session gets another handle, if it had `previous`.
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
    case .prepareSignIn, .forgetSignIn, .prepare, .updateAttempt, .renew, .identify, .putBack, .delivered,
      .replaceRevocation, .postpone, .cleaned, .touch, .claim, .receive:
      .ordinary
    }
  }

  /// Applies the edit to `entry`. Pure. The conditions of all edits are here; a change of more than a few lines is a function of
  /// what it changes.
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
      if let previous = entry.session, session.isOfAnotherServer(than: previous) { return .conflict }
      new.begin(session, steps: steps)
    case .prepare(let id, let token, let access, let key, let attempt, let previous):
      guard let session = entry.session, session.id == id, session.refresh == token,
        access == nil || session.access?.token == access, attempt == nil || session.attempt == previous
      else { return .conflict }
      guard attempt != nil || session.pendingKey == nil else { return .unchanged }
      new.session?.pendingKey = session.pendingKey ?? key
      if let attempt { new.session?.attempt = attempt }
    case .updateAttempt(let id, let previous, let attempt):
      guard let session = entry.session, session.id == id, session.attempt == previous else { return .conflict }
      new.session?.attempt = attempt
    case .advance(let id, let tokens):
      guard let session = entry.session, session.id == id, session.refresh == tokens.sent else { return .conflict }
      new.session?.advance(with: tokens)
    case .renew(let id, let previous, let access):
      guard let session = entry.session, session.id == id, session.access?.credential == previous else {
        return .conflict
      }
      guard access != session.access else { return .unchanged }
      new.session?.renew(with: access)
    case .identify(let id, let profile):
      guard let session = entry.session, session.id == id, session.profile.map({ $0.id == profile.id }) ?? true else {
        return .conflict
      }
      guard session.profile != profile else { return .unchanged }
      new.identify(profile)
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
      guard new.signOut(reason, at: time, steps: steps, isLate: isLate) else { return .unchanged }
    case .bury(let tombstone):
      if new.session?.id == tombstone.session { new.session = nil }
      new.add(tombstone)
    case .delivered(let id, let handle):
      let open = entry.tombstones.filter { $0.session == id && $0.revocation != nil }
      if open.isEmpty { return .unchanged }
      guard handle == nil || open.contains(where: { $0.revocation == handle }) else { return .conflict }
      new.changeTombstones(of: id) { ($0.revocation, $0.delay) = (nil, nil) }
    case .replaceRevocation(let id, let handle, let previous):
      guard let index = entry.tombstones.firstIndex(where: { $0.session == id && $0.revocation == previous }) else {
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
      new.changeTombstones(of: id) { $0.steps.removeAll(where: steps.contains) }
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

/// The response to a refresh, until it is stored.
package struct RefreshedTokens: Sendable, Hashable {
  /// The refresh token that was sent.
  package var sent: RefreshToken
  package var response: TokenResponse
  /// When the request was sent: lifetimes count from then.
  package var since: Moment
  /// The other target that the access token was requested for; `nil` for the session's own.
  var target: TokenTarget?
  /// Whether the access token serves that target.
  var servesTarget = true

  package init(_ response: TokenResponse, sent: RefreshToken, since: Moment) {
    (self.response, self.sent, self.since) = (response, sent, since)
  }

  package var successor: RefreshToken { response.tokens.refresh ?? sent }
  package var access: StoredAccess { StoredAccess(response.tokens, since: since) }
  /// The session's own; `nil` if it keeps the one that it has.
  var ownAccess: StoredAccess? { target == nil ? access : nil }
  /// The ID token that came with it; `nil` keeps the previous one.
  var idToken: StoredIDToken? { response.idToken.map { StoredIDToken($0, since: since) } }
}
