public import HandstampCore
import HandstampSupport

/// Users of other identity providers.
///
/// Each is an item, whose ID keeps it from belonging to two accounts. The column of the account's record has one as well if the account
/// has no address, and would count as a guest's without it. An account of an app's own directory has only that: no one signs in by it.
extension Registry {
  /// Returns the account of a user of another identity provider.
  public func account(identity: ExternalIdentity) async throws(RegistryError) -> AccountRecord? {
    if let first = try await read(try await store.account(identity: identity)) { return first }
    guard let link = try await item(StoredItemID(identity)).flatMap({ LinkedIdentity($0) }) else { return nil }
    return try await account(link.account)
  }

  /// Returns the identities of an account, the oldest first.
  public func identities(of account: AccountRecord) async throws(RegistryError) -> [LinkedIdentity] {
    try await items(.identity, of: account.id.rawValue).compactMap { LinkedIdentity($0) }
  }

  // MARK: Sign-in

  /// Returns the use of an identity that an account has; `nil` if it no longer has it.
  public func credentialUse(
    by proof: IdentityProof, of account: AccountRecord, now: UnixTime
  ) async throws(RegistryError) -> CredentialUse? {
    guard var link = try await identities(of: account).first(where: { $0.identity == proof.identity }) else {
      return nil
    }
    link.lastUsedAt = now
    return CredentialUse(by: proof, of: account, changes: [.replaceItem(link.item, expecting: link.revision)])
  }

  /// Returns the use of an identity that becomes one of an account's, because the provider is trusted to know its address. The owner is
  /// told by mail.
  public func credentialUse(linking proof: IdentityProof, to account: AccountRecord, now: UnixTime) -> CredentialUse {
    CredentialUse(by: proof, of: account, changes: linking(proof, to: account, now: now))
  }

  /// Returns the use of an identity that gets an account of its own.
  ///
  /// - Parameter email: an address that the provider is trusted to have verified. Without it, the identity alone is the way in.
  public func credentialUse(
    opening proof: IdentityProof, email: EmailAddress?, username: String, now: UnixTime
  ) -> CredentialUse {
    var record = newAccount(
      email: email, identity: email == nil ? proof.identity : nil, username: username, passwordHash: nil, now: now)
    record.emailConfirmedAt = email == nil ? nil : now
    let link = LinkedIdentity(proof, of: record.id, at: now)
    return CredentialUse(
      by: proof, of: record,
      changes: [
        .createAccount(record), .createItem(link.item), audited(.accountCreated, account: record.id, at: now),
      ])
  }

  /// Signs in a user of another identity provider. The first sign-in creates the account.
  ///
  /// - Parameters:
  ///   - username: for a new account.
  ///   - email: an address that the provider is trusted to have verified, for a new account; left out if another one has it.
  ///   - start: the session. A repeat with the same key gets the same session until that is used.
  ///   - methods: how the user has proved it to the provider.
  ///   - nonce: a one-time token of purpose `nonce`, unique to this sign-in at the provider. Stored in the same write.
  /// - Throws: ``RegistryError/nonceUsed`` if the nonce is already stored; ``RegistryError/keyUsed``.
  public func signIn(
    as identity: ExternalIdentity, username: String, email: EmailAddress? = nil, _ start: SessionStart,
    methods: AuthenticationMethods = [.federated], nonce: OneTimeTokenRecord, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let origin = SessionOrigin(
      start: start, way: .provider, subject: ["identity", identity.issuer, identity.subject], methods: methods,
      upstream: UpstreamSession(identity: identity, sid: nil, authenticatedAt: nil))
    let proof = IdentityProof(identity, provider: "", label: "", methods: methods, nonce: nonce)
    for _ in 0..<Registry.attempts {
      if let repeated = try await repeated(origin, now: now) { return repeated }
      guard try await !hasUsed(nonce) else { throw .nonceUsed }
      let known = try await account(identity: identity)
      if known?.closedAt != nil { throw .accountClosed }
      let upstream = try await expectations(of: origin.upstream, now: now)
      let found: CredentialUse? =
        if let known { try await credentialUse(by: proof, of: known, now: now) } else {
          credentialUse(opening: proof, email: try await unused(email), username: username, now: now)
        }
      guard let use = found else { continue }
      let expected = known.map { [RegistryChange.expectAccount($0.id, revision: $0.revision)] } ?? []
      do throws(RegistryStoreError) {
        let live = try await known == nil ? [] : store.sessions(of: use.account.id)
        return try await begin(use.account, origin, among: live, now: now, with: expected + use.changes + upstream)
      } catch {
        switch error {
        // The same token twice at once, the same user on two devices, or a change of the account: read again.
        case .alreadyExists, .conflict, .notFound: continue
        case .unavailable: throw RegistryError(error)
        }
      }
    }
    throw Registry.contention
  }

  /// Returns an address that no account has.
  public func unused(_ email: EmailAddress?) async throws(RegistryError) -> EmailAddress? {
    guard let email, try await account(email: email) == nil else { return nil }
    return email
  }

  /// Returns whether a nonce was used. The write decides. This tells why it failed, and tells an answer that was sent twice apart from
  /// that of a copied passkey.
  public func hasUsed(_ nonce: OneTimeTokenRecord) async throws(RegistryError) -> Bool {
    try await oneTimeToken(nonce.id) != nil
  }

  // MARK: Linking

  /// Adds an identity to an account, whose owner has proved both. A mail tells the owner.
  ///
  /// - Parameter session: the session that the owner asked in.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account is closed.
  public func link(
    _ proof: IdentityProof, to id: AccountID, in session: SessionID, now: UnixTime
  ) async throws(RegistryError) -> IdentityChange {
    for _ in 0..<Registry.attempts {
      guard let record = try await account(id), record.closedAt == nil else { throw .accountChanged }
      let previous = try await identities(of: record)
      if let known = previous.first(where: { $0.identity == proof.identity }) { return .done(known) }
      guard previous.count < LinkedIdentity.most else { return .tooMany }
      guard try await account(identity: proof.identity) == nil else { return .taken }
      let changes =
        [.expectSession(session), .replaceAccount(record, expecting: record.revision)]
        + linking(proof, to: record, now: now)
      if try await writeWays(changes, of: id, in: session, now: now) {
        return .done(LinkedIdentity(proof, of: id, at: now))
      }
    }
    throw Registry.contention
  }

  /// Removes an identity from its account, whose owner a mail tells. Sessions go on.
  ///
  /// - Parameters:
  ///   - link: its ``LinkedIdentity/id``.
  ///   - mailed: whether a mailed code can set a password, which counts as a way in.
  ///   - session: the session that the owner asked in.
  /// - Throws: ``RegistryError/accountChanged`` if the session has ended, or the account is closed.
  public func unlink(
    _ link: String, of id: AccountID, orMailed mailed: Bool, in session: SessionID, now: UnixTime
  ) async throws(RegistryError) -> IdentityChange {
    for _ in 0..<Registry.attempts {
      guard let record = try await account(id), record.closedAt == nil else { throw .accountChanged }
      let all = try await identities(of: record)
      guard let gone = all.first(where: { $0.id == link }) else { return .unknown }
      let rest = all.filter { $0.id != link }
      // An account without an address and an identity would count as a guest's.
      if rest.isEmpty {
        guard record.email != nil else { return .isLast }
        let hasPasskeys = try await !passkeys(of: id).isEmpty
        guard mailed || hasPasskeys || record.passwordHash != nil else { return .isLast }
      }
      let changes = unlinking(gone, from: record, among: rest, now: now)
      if try await writeWays([.expectSession(session)] + changes, of: id, in: session, now: now) { return .done(gone) }
    }
    throw Registry.contention
  }

  private func linking(_ proof: IdentityProof, to account: AccountRecord, now: UnixTime) -> [RegistryChange] {
    let link = LinkedIdentity(proof, of: account.id, at: now)
    return [.createItem(link.item)]
      + changed(.identityLinked, .identityLinked, of: account.id, link.shownName, now: now)
  }

  private func unlinking(
    _ gone: LinkedIdentity, from record: AccountRecord, among rest: [LinkedIdentity], now: UnixTime
  ) -> [RegistryChange] {
    var next = record
    if record.identity == gone.identity { next.identity = record.email == nil ? rest.first?.identity : nil }
    // Replaced, so that two ways in are not removed at the same time.
    return [.replaceAccount(next, expecting: record.revision), .removeItem(gone.item)]
      + changed(.identityUnlinked, .identityUnlinked, of: record.id, gone.shownName, now: now)
  }

  /// Removes the identity of a user whose account at the provider was deleted. Everything else of the account here stays; an
  /// operator decides about it.
  ///
  /// The identity of an account that has no address and no other identity stays as well: without one the account would count as a
  /// guest's, and be deleted. It lets no one in, see ``UpstreamMark``.
  func unlink(purged identity: ExternalIdentity, now: UnixTime) async throws(RegistryError) {
    for _ in 0..<Registry.attempts {
      guard let record = try await account(identity: identity) else { return }
      let all = try await identities(of: record)
      let rest = all.filter { $0.identity != identity }
      guard let gone = all.first(where: { $0.identity == identity }), record.email != nil || !rest.isEmpty else {
        return
      }
      let changes = unlinking(gone, from: record, among: rest, now: now)
      if try await writeWays(changes, of: record.id, in: nil, now: now) { return }
    }
    throw Registry.contention
  }

  /// Writes a change of an account's ways in; `false` if it has to be decided again.
  ///
  /// - Parameter session: the one that it was asked in, which has to be live.
  func writeWays(
    _ changes: [RegistryChange], of id: AccountID, in session: SessionID?, now: UnixTime
  ) async throws(RegistryError) -> Bool {
    let event = RegistryEvent(kind: .credentialChange, account: id, at: now)
    guard try await !write(changes, [event]) else { return true }
    if let session, try await !isLive(session, now: now) { throw .accountChanged }
    return false
  }
}

extension LinkedIdentity {
  init(_ proof: IdentityProof, of account: AccountID, at now: UnixTime) {
    self.init(proof.identity, of: account, provider: proof.provider, label: proof.label, at: now)
    lastUsedAt = now
  }

  /// For mails and the audit log: the provider, and how it calls the user.
  public var shownName: String {
    let place = provider.isEmpty ? identity.issuer : provider
    return label.isEmpty ? place : "\(place): \(label)"
  }
}

extension CredentialUse {
  init(by proof: IdentityProof, of account: AccountRecord, changes: [RegistryChange]) {
    let used: [RegistryChange] = proof.nonce.map { [.createOneTimeToken($0)] } ?? []
    self.init(account: account, way: .provider, methods: proof.methods, changes: changes + used)
    authenticatedAt = proof.authenticatedAt
    latestExpiry = proof.latestExpiry
    upstream = UpstreamSession(
      identity: proof.identity, sid: proof.session, authenticatedAt: proof.authenticatedAt)
    upstream?.askedAt = proof.askedAt
  }
}
