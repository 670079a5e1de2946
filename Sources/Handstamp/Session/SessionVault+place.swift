import HandstampCore
import HandstampSupport

/// The store as one server's program may use it: what lies there is that server's, and what lies in former places has moved there.
///
/// A session of another server is neither shown nor sent nor erased, except by a sign-out; nor is what is pending for one.
extension SessionVault {
  func readPlace() async -> VaultReading {
    let trouble = await settle()
    switch await store.read(noting: audit) {
    case .value(let entry):
      // The former place may hold the only session, or still the same one, with which an earlier version may go on.
      if let trouble, entry.session == nil || entry.session?.id == moves.copied { return .trouble(trouble) }
      do throws(VaultError) {
        let entry = try await claimed(entry)
        return entry.isEmpty ? .absent : .value(entry)
      } catch { return .trouble(error) }
    case .accessOnly(let session):
      if let other = stranger(session) { return .trouble(.otherServer(other)) }
      return .accessOnly(session)
    case .absent: return trouble.map { .trouble($0) } ?? .absent
    case .trouble(let trouble): return .trouble(trouble)
    }
  }

  func editPlace(_ edit: VaultEdit) async -> VaultOutcome {
    // Edits of a session in use belong to what is here already, and may hold its refresh lock.
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
    default: break
    }
    var outcome = await store.edit(edit, noting: audit)
    if case .begin = edit, case .conflict(let entry) = outcome, let own = try? await claimed(entry),
      own.session?.issuer != entry.session?.issuer
    {
      outcome = await store.edit(edit, noting: audit)
    }
    if let trouble { return .failed(trouble) }
    do throws(VaultError) {
      switch outcome {
      case .done(let entry): return .done(try await claimed(entry))
      case .conflict(let entry): return .conflict(try await claimed(entry))
      case .failed: return outcome
      }
    } catch { return .failed(error) }
  }

  /// The server of a session that is not this one's; `nil` if it is, or may be.
  func stranger(_ session: StoredSession) -> String? {
    former.mayBelong(session.issuer, to: abilities) ? nil : session.issuer
  }

  /// The entry as this server's program sees it. A session without a server, or with a former name of it, gets the present one.
  func claimed(_ entry: VaultEntry) async throws(VaultError) -> VaultEntry {
    guard let own = abilities.issuer else { return entry }
    var entry = entry
    if let session = entry.session, session.issuer != own {
      if let other = stranger(session) { throw .otherServer(other) }
      // Once, because a program that knows the server by the other name may do the same. If it cannot be written now, the next one
      // does.
      if session.issuer.map({ !$0.isSameServer(as: own) }) ?? true, moves.claimsNow(),
        case .done(let written) = await store.edit(.claim(session.id, issuer: own), noting: audit)
      {
        entry = written
      }
      entry.session?.issuer = own
    }
    for index in entry.tombstones.indices {
      guard !former.mayBelong(entry.tombstones[index].issuer, to: abilities) else { continue }
      if entry.tombstones[index].revocation != nil { hasOthers.withLock { $0 = true } }
      entry.tombstones[index].revocation = nil
      entry.tombstones[index].delay = nil
    }
    return entry
  }
}
