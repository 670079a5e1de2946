package import HandstampCore

/// The session that a former token begins.
package struct FormerOrigin: Sendable {
  /// Has no key: the token itself serves as one. The device is set only for the server's own app.
  package var start: SessionStart
  /// The OAuth client that presents the token; `nil` for the server's own app.
  package var client: SessionClient?
  /// The client's name, for the list of devices.
  package var clientName: String

  package init(_ start: SessionStart, client: SessionClient? = nil, clientName: String = "") {
    (self.start, self.client, self.clientName) = (start, client, clientName)
  }
}

/// The response to another request with a token that was taken over.
package enum FormerRepeat: Sendable {
  /// Its session, which was not used yet: the response was lost.
  case session(NewSession)
  /// Another one, because the unused one was begun for another device or client.
  case begins(insteadOf: SessionRow)
  /// No session: that one was used.
  case used
}

extension Registry {
  /// Returns what is known of a former token.
  ///
  /// - Parameter id: ``FormerToken/id(of:)``.
  package func formerToken(_ id: StoredItemID) async throws(RegistryError) -> FormerToken {
    guard let item = try await item(id) else { return FormerToken(id) }
    guard let known = FormerToken(item) else { throw .unavailable("a former token was stored by a later version") }
    return known
  }

  /// Stores what is known of a token. Returns `nil` if that has changed in the meantime: read again.
  package func store(
    _ next: FormerToken.Record, of known: FormerToken, now: UnixTime
  ) async throws(RegistryError) -> FormerToken? {
    let change = known.change(to: next, now: now)
    guard try await write([change], []) else { return nil }
    var stored = known
    stored.record = next
    switch change {
    case .replaceItem(var item, let former):
      item.revision = former + 1
      stored.item = item
    case .createItem(let item): stored.item = item
    default: break
    }
    return stored
  }

  /// Forgets a token that is worth nothing, so that such tokens take no room.
  package func forget(_ known: FormerToken) async throws(RegistryError) {
    if let item = known.item { _ = try await write([.removeItem(item)], []) }
  }

  /// Begins the session of a token, and notes that, in one write.
  ///
  /// - Parameters:
  ///   - time: when the user signed in at the former system. If that is not known, the session counts as begun long ago, so that it
  ///     proves nothing.
  ///   - unused: the session that an earlier request has begun, and that ends.
  ///   - end: the work that ends the session at the former system; `nil` if there is none to end.
  /// - Throws: ``RegistryError/oneTimeTokenInvalid`` and ``RegistryError/accountChanged`` if something has changed: read again.
  ///   ``RegistryError/keyUsed`` if the token's session was used.
  package func takeOver(
    _ known: FormerToken, _ token: Secret, for account: AccountRecord, authenticatedAt time: UnixTime?,
    _ origin: FormerOrigin, insteadOf unused: SessionRow? = nil, ending end: FormerEnd?, now: UnixTime
  ) async throws(RegistryError) -> NewSession {
    let session = sessionOrigin(of: origin, token, authenticatedAt: time, now: now)
    var next = known.record
    (next.account, next.authenticatedAt) = (account.id, time)
    (next.session, next.successor, next.claimedUntil) = (session.session?.id, nil, nil)
    let changes =
      [known.change(to: next, now: now)] + (end.map { [$0.change(for: known, now: now)] } ?? [])
      + (unused.map { [.replaceSession($0.ended(.replaced, at: now), expecting: $0.revision)] } ?? [])
    return try await createSession(for: account, session, with: changes, now: now)
  }

  /// Decides about another request with a token that was taken over.
  package func repeatTakeOver(
    _ known: FormerToken, _ token: Secret, _ origin: FormerOrigin, now: UnixTime
  ) async throws(RegistryError) -> FormerRepeat {
    guard let id = known.record.session, let row = try await storedSession(id), row.pending != nil, row.counter == 0,
      row.endReason(at: now) == nil
    else { return .used }
    let begun = sessionOrigin(of: origin, token, authenticatedAt: known.record.authenticatedAt, now: now)
    do throws(RegistryError) {
      guard let repeated = try await repeated(begun, of: row.account, now: now) else {
        return .begins(insteadOf: row)
      }
      return .session(repeated)
    } catch {
      guard error == .keyUsed else { throw error }
      return .used
    }
  }

  private func sessionOrigin(
    of origin: FormerOrigin, _ token: Secret, authenticatedAt time: UnixTime?, now: UnixTime
  ) -> SessionOrigin {
    var session = SessionOrigin(
      start: origin.start, way: .formerSession,
      subject: ["former", origin.client?.id ?? "", origin.start.thumbprint ?? ""], client: origin.client,
      authenticatedAt: min(time ?? UnixTime(seconds: 0), now))
    session.start.key = FormerToken.key(of: token)
    let bytes = sessionBytes(of: session)
    session.session = bytes
    if origin.client != nil { session.start.device = DeviceInfo(client: origin.clientName, bytes) }
    return session
  }
}

/// A line of a table of former tokens.
package struct FormerEntry: Sendable, Hashable {
  /// ``FormerToken/id(of:)``, or that of the token's hash.
  package var id: StoredItemID
  package var account: AccountID
  package var authenticatedAt: UnixTime?
  /// When the token expires; `nil` keeps it for as long as tokens are remembered.
  package var expiresAt: UnixTime?

  package init(id: StoredItemID, account: AccountID, authenticatedAt: UnixTime?, expiresAt: UnixTime?) {
    (self.id, self.account, self.authenticatedAt, self.expiresAt) = (id, account, authenticatedAt, expiresAt)
  }
}

extension Registry {
  /// Stores former tokens, so that the sessions can be taken over without the former system. Those that are stored already stay.
  ///
  /// - Returns: for each, whether it was new; `nil` if there is no such account.
  package func importFormer(
    _ entries: [FormerEntry], now: UnixTime
  ) async throws(RegistryError) -> [Bool?] {
    var (results, changes): ([Bool?], [RegistryChange?]) = ([], [])
    var accounts: [AccountID: Bool] = [:]
    for entry in entries {
      let exists: Bool
      if let known = accounts[entry.account] {
        exists = known
      } else {
        exists = try await account(entry.account).map { $0.state != .deleted } ?? false
        accounts[entry.account] = exists
      }
      results.append(exists ? true : nil)
      changes.append(exists ? change(importing: entry, now: now) : nil)
    }
    guard try await !write(changes.compactMap(\.self), []) else { return results }
    // Some are stored already, or twice in the list.
    for (index, change) in changes.enumerated() {
      if let change { results[index] = try await write([change], []) }
    }
    return results
  }

  private func change(importing entry: FormerEntry, now: UnixTime) -> RegistryChange {
    var record = FormerToken.Record()
    (record.account, record.authenticatedAt, record.isImported) = (entry.account, entry.authenticatedAt, true)
    return .createItem(
      StoredItem(
        id: entry.id, kind: .formerToken, subject: entry.account.rawValue,
        payload: PayloadCoding.text(record), createdAt: now,
        expiresAt: entry.expiresAt ?? now.advanced(by: FormerToken.memory)))
  }
}
