import HandstampCore

/// The ends that a provider has announced for a user or a session there: what began before them is not to begin a session here.
///
/// The write that begins a session creates or replaces the same item. So of a sign-in and an end at the same time either the end
/// finds the session, or the sign-in finds the end.
struct UpstreamMark: StoredPayload, Equatable {
  /// How long the end of a session is remembered, and that of all sessions of a user: as long as a sign-in may take that had begun
  /// before. A provider that ends all of a user's sessions, and not that in another browser, delays a sign-in there no longer.
  static let lives = (session: Duration.seconds(86_400), user: Duration.seconds(900))
  /// How long before the write a user may have signed in, if the provider does not say when.
  static let unsure = Duration.seconds(60)

  /// The latest end, by the provider's clock.
  var endedAt: UnixTime?
  /// When the latest was announced here, by this server's clock.
  var heardAt: UnixTime?
  /// Whether the provider's account is disabled or deleted: no session begins by it.
  var isDisabled = false
  /// When the provider last said so, or the contrary.
  var stateAt: UnixTime?

  init() {}

  var fields: [String: String?] {
    [
      "ended": endedAt.map { String($0.milliseconds) }, "disabled": isDisabled ? "1" : nil,
      "heard": heardAt.map { String($0.milliseconds) }, "state": stateAt.map { String($0.milliseconds) },
    ]
  }

  init?(fields: [String: String]) {
    endedAt = fields.time("ended")
    heardAt = fields.time("heard")
    isDisabled = fields["disabled"] != nil
    stateAt = fields.time("state")
  }

  /// Whether it stops a sign-in of the user whose mark it is.
  ///
  /// - Parameter since: when the user signed in at the provider.
  func stops(_ upstream: UpstreamSession, since: UnixTime) -> Bool {
    if isDisabled { return true }
    guard let endedAt, endedAt >= since else { return false }
    // The user has signed in there anew, whatever `auth_time` says: the browser was sent there after the end, and to do so (OpenID
    // Connect Core 1.0 section 3.1.2.1, `max_age`).
    guard let heardAt, let asked = upstream.askedAt else { return true }
    return asked <= heardAt
  }

  func item(for key: UpstreamKey, lasting life: Duration, now: UnixTime) -> StoredItem {
    StoredItem(
      id: key.markID, kind: .upstreamEnd, subject: key.text, payload: PayloadCoding.text(self), createdAt: now,
      expiresAt: now.advanced(
        by: isDisabled ? StoredItem.forever : stateAt == nil ? life : Registry.upstreamEventMemory))
  }
}

extension Registry {
  /// The changes that let a session begin only if no end was announced of what it depends on, and remove notes of sessions that have
  /// ended.
  ///
  /// - Throws: ``RegistryError/upstreamEnded``.
  func expectations(of upstream: UpstreamSession?, now: UnixTime) async throws(RegistryError) -> [RegistryChange] {
    guard let upstream else { return [] }
    let keys = upstream.keys
    let since = upstream.authenticatedAt ?? now.advanced(by: .zero - UpstreamMark.unsure)
    var changes = try await expectation(of: keys.user, now: now) { $0.stops(upstream, since: since) }
    // An ID is never that of another session: a token that names it is of the one that has ended, whenever the browser was sent.
    if let session = keys.session {
      changes += try await expectation(of: session, now: now) { $0.endedAt != nil }
    }
    let noted = try await dependents(on: keys.user)
    let live = Set(noted.filter { $0.row?.end == nil && $0.row != nil }.compactMap(\.dependency.key))
    for previous in noted where previous.row.map({ $0.end != nil }) ?? true {
      changes.append(.removeItem(previous.item))
      if let key = previous.dependency.key, !live.contains(key) {
        changes.append(.removeItems(.upstreamSession, subject: key))
      }
    }
    return changes
  }

  private func expectation(
    of key: UpstreamKey, now: UnixTime, refusing refuses: (UpstreamMark) -> Bool
  ) async throws(RegistryError) -> [RegistryChange] {
    let stored = try await item(key.markID)
    guard let stored, stored.expiresAt > now else {
      let none = UpstreamMark().item(for: key, lasting: UpstreamMark.unsure, now: now)
      return (stored.map { [.removeItem($0)] } ?? []) + [.createItem(none)]
    }
    guard let mark = PayloadCoding.value(UpstreamMark.self, stored.payload) else {
      throw .unavailable("an end at a provider was stored by a later version")
    }
    guard !refuses(mark) else { throw .upstreamEnded }
    return [.replaceItem(stored, expecting: stored.revision)]
  }
}
