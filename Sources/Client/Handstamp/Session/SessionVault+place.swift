import HandstampCore
import HandstampSupport

/// The store as one server's program may use it, once what lies in earlier places has moved there.
///
/// A session is this server's if it was begun by the server's name, by an earlier name of it, or without one. In the last two cases it
/// is claimed: it is shown under the present name at once, which is also stored, once. Any other is a stranger's: it is
/// ``VaultError/otherServer(_:)``, and neither shown nor sent nor ended, except by a sign-out; nor is what is pending for a stranger
/// shown.
extension SessionVault {
  func readPlace() async -> VaultReading {
    let trouble = await settle()
    switch await store.read(noting: audit) {
    case .value(let entry):
      // The earlier place may hold the only session, or still the same one, with which an earlier version may go on.
      if let trouble, entry.session == nil || entry.session?.id == moves.copied { return .trouble(trouble) }
      let claimed = await claimed(entry)
      do throws(VaultError) { return .value(try shown(claimed)) } catch { return .trouble(error) }
    case .accessOnly(let session):
      if let other = stranger(session.issuer) { return .trouble(.otherServer(other)) }
      return .accessOnly(session)
    case .absent: return trouble.map { .trouble($0) } ?? .absent
    case .trouble(let trouble): return .trouble(trouble)
    }
  }

  func writePlace(_ edit: VaultEdit) async -> VaultOutcome {
    var trouble: VaultError?
    switch edit {
    case .begin: _ = await settle()
    case .signOut(let reason, _, _, _):
      trouble = await settle()
      // A sign-in that is not remembered ends what it finds; a sign-out ends anything.
      if reason == .replaced, case .trouble(.otherServer(let server)) = await readPlace() {
        return .failed(.otherServer(server))
      }
      if trouble != nil { trouble = await end(by: edit) }
    // Any other edit belongs to what is here already, and may hold its refresh lock: it waits for no move.
    default: break
    }
    let outcome =
      if case .begin = edit { await begun(edit) } else {
        await store.edit(await locking(edit), noting: audit)
      }
    if let trouble { return .failed(trouble) }
    do throws(VaultError) { return try outcome.mapEntry(shown) } catch { return .failed(error) }
  }

  /// Applies an edit that compares servers by name alone, as `begin` and `receive` do. Whatever name of this server the session has that
  /// it finds, that is no obstacle.
  func begun(_ edit: VaultEdit) async -> VaultOutcome {
    let outcome = await store.edit(edit, noting: audit)
    guard case .conflict(let entry) = outcome else { return outcome }
    _ = await claimed(entry, again: true)
    return await store.edit(edit, noting: audit)
  }

  /// The name of a server that is not this one; `nil` if it is, or may be.
  func stranger(_ issuer: String?) -> String? { earlier.mayBelong(issuer, to: abilities) ? nil : issuer }

  /// Stores the present name with a session that has another one. Once, unless `again`, because a program that knows the server by the
  /// other name may do the same. If it cannot be written now, the next program does.
  private func claimed(_ entry: VaultEntry, again: Bool = false) async -> VaultEntry {
    guard let own = abilities.issuer, let session = entry.session, stranger(session.issuer) == nil,
      session.issuer.map({ !$0.isSameServer(as: own) }) ?? true, moves.claimsNow() || again,
      case .done(let written) = await store.edit(.claim(session.id, issuer: own), noting: audit)
    else { return entry }
    return written
  }

  /// The entry as this server's program sees it: its session by the present name, and without what is pending for strangers.
  private func shown(_ entry: VaultEntry) throws(VaultError) -> VaultEntry {
    guard let own = abilities.issuer else { return entry }
    var entry = entry
    if let session = entry.session, session.issuer != own {
      if let other = stranger(session.issuer) { throw .otherServer(other) }
      entry.session?.issuer = own
    }
    for index in entry.tombstones.indices where stranger(entry.tombstones[index].issuer) != nil {
      if entry.tombstones[index].revocation != nil { hasOthers.withLock { $0 = true } }
      entry.tombstones[index].revocation = nil
      entry.tombstones[index].delay = nil
    }
    return entry
  }
}
