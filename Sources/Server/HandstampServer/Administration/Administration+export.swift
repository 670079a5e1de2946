#if Server
public import HandstampCore
import HandstampRegistry
import HandstampSupport

extension Administration {
  /// The most entries that one read of the export returns.
  private static let page = 1000

  /// Returns everything that is stored about the owner of an account, as a JSON object: the account, its sessions, devices, events,
  /// and entries of the audit log (GDPR article 15). No hashes, no tokens, no keys.
  ///
  /// The audit log gets that it was given out.
  public func export(_ id: AccountID) async throws(AdministrationError) -> [UInt8] {
    let record = try await account(id)
    var json = JSONText(reserving: 16 << 10)
    json.add("schema_version", 1)
    json.add("exported_at", now().description)
    json.add("account", record.described)
    json.add("credentials", try await credentials(of: id).described)
    // In this order: a session that ends in between is in both lists rather than in neither.
    let live = try await ask(try await registry.sessions(of: id, now: now()))
    let ended = try await ask(try await registry.endedSessions(of: id))
    let over = Set(ended.map(\.id))
    json.add("sessions", (live.filter { !over.contains($0.id) } + ended).map(\.described))
    let items = try await ask(try await registry.items(about: record))
    json.add("remembered", items.map(\.described))
    json.add("events", try await events(of: id))
    json.add("audit", try await entries(about: id))
    try await ask(try await registry.audit(.accountExported, account: id, now: now()))
    return json.finished
  }

  private func events(of id: AccountID) async throws(AdministrationError) -> [JSONText] {
    var (all, last): ([JSONText], EventID) = ([], .zero)
    while true {
      let page = try await ask(try await registry.events(after: last, of: id, limit: Administration.page))
      guard let end = page.last else { return all }
      all += page.map(\.event.described)
      last = end.id
    }
  }

  private func entries(about id: AccountID) async throws(AdministrationError) -> [JSONText] {
    var (all, last): ([JSONText], Int64) = ([], 0)
    while true {
      let page = try await auditedActions(after: last, about: id, limit: Administration.page)
      guard let end = page.last else { return all }
      all += page.map(\.described)
      last = end.id
    }
  }
}

extension StoredItem {
  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("kind", kind.rawValue)
    json.add("since", createdAt.description)
    json.add("until", expiresAt.description)
    return json
  }
}

extension RegistryEvent {
  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("kind", kind.rawValue)
    json.add("at", at.description)
    json.add("session", ifPresent: session?.rawValue)
    json.add("reason", ifPresent: reason?.rawValue)
    return json
  }
}
#endif
