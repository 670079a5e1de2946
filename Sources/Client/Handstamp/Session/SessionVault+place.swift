import HandstampCore
import HandstampSupport

/// The store as one server's program may use it, once what lies in former places has moved there.
///
/// A session is this server's if it was begun by the server's name, by a former name of it, or without one. In the last two cases it
/// is claimed: it is shown under the present name at once, which is also stored, once. Any other is a stranger's: it is
/// ``VaultError/otherServer(_:)``, and neither shown nor sent nor ended, except by a sign-out; nor is what is pending for a stranger
/// shown. The edits `begin` and `receive` compare servers by name alone: if they find a session to claim, they are applied again.
extension SessionVault {
  func readPlace() async -> VaultReading {
    let trouble = await settle()
    switch await store.read(noting: audit) {
    case .value(let entry):
      // The former place may hold the only session, or still the same one, with which an earlier version may go on.
      if let trouble, entry.session == nil || entry.session?.id == moves.copied { return .trouble(trouble) }
      do throws(VaultError) { return .value(try await claimed(entry)) } catch { return .trouble(error) }
    case .accessOnly(let session):
      if let other = stranger(session.issuer) { return .trouble(.otherServer(other)) }
      return .accessOnly(session)
    case .absent: return trouble.map { .trouble($0) } ?? .absent
    case .trouble(let trouble): return .trouble(trouble)
    }
  }

  func editPlace(_ edit: VaultEdit) async -> VaultOutcome {
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
    var outcome = await store.edit(await locking(edit), noting: audit)
    if let trouble { return .failed(trouble) }
    do throws(VaultError) {
      if case .begin = edit, case .conflict(let entry) = outcome,
        try await claimed(entry).session?.issuer != entry.session?.issuer
      {
        outcome = await store.edit(edit, noting: audit)
      }
      return try await outcome.mapEntry(claimed)
    } catch { return .failed(error) }
  }

  /// The name of a server that is not this one; `nil` if it is, or may be.
  func stranger(_ issuer: String?) -> String? { former.mayBelong(issuer, to: abilities) ? nil : issuer }

  /// The entry as this server's program sees it: its session claimed, and without what is pending for strangers.
  func claimed(_ entry: VaultEntry) async throws(VaultError) -> VaultEntry {
    guard let own = abilities.issuer else { return entry }
    var entry = entry
    if let session = entry.session, session.issuer != own {
      if let other = stranger(session.issuer) { throw .otherServer(other) }
      // Once, because a program that knows the server by the other name may do the same. If it cannot be written now, the next one
      // does.
      if session.issuer.map({ !$0.isSameServer(as: own) }) ?? true, moves.claimsNow(),
        case .done(let written) = await store.edit(.claim(session.id, issuer: own), noting: audit)
      {
        entry = written
      }
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
