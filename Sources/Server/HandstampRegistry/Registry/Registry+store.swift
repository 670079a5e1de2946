public import HandstampCore

extension Registry {
  /// The last clock reading that any server on this store recorded, or `nil` if there is none.
  public func clockNote() async throws(RegistryError) -> ClockNote? {
    try await read(try await store.clockNote())
  }

  /// Records the server's clock reading. Call it periodically.
  ///
  /// - Parameter shift: moves stored times in the same write.
  /// - Returns: `false` if another server has already written a note of that revision. Nothing was written then.
  public func note(_ note: ClockNote, moving shift: TimeShift? = nil) async throws(RegistryError) -> Bool {
    let moves = shift.map { [RegistryChange.moveTimes($0)] } ?? []
    return try await write([.noteClock(note)] + moves, [])
  }

  /// Moves stored times that were written by a wrong clock, so that no session ends because of that clock.
  public func moveTimes(_ shift: TimeShift) async throws(RegistryError) {
    try await write([.moveTimes(shift)])
  }
}

extension Registry {
  /// Returns at most `limit` events after the one with that ID, in order; those of one account, or of all if `account` is
  /// `nil`.
  public func events(
    after id: EventID, of account: AccountID? = nil, limit: Int = 256
  ) async throws(RegistryError) -> [StoredEvent] {
    var events = try await bareEvents(after: id, of: account, limit: limit)
    for (index, stored) in events.enumerated() {
      guard let reason = stored.event.reason, let session = stored.event.session else { continue }
      var event = stored.event
      event.reason = try await named(reason, of: session)
      if event != stored.event { events[index] = StoredEvent(id: stored.id, event: event) }
    }
    return events
  }

  /// Returns events as they are stored: in one read, and without the names of providers.
  package func bareEvents(
    after id: EventID, of account: AccountID? = nil, limit: Int
  ) async throws(RegistryError) -> [StoredEvent] {
    try await read(try await store.events(after: id, account: account, limit: limit))
  }

  /// Begins to listen for events of other servers, see ``RegistryStore/news()``.
  public func news() -> StoreNews? { store.news() }

  /// How often another copy of the store has taken its place, see ``RegistryStore/replacements``.
  public var replacements: Int { store.replacements }

  /// Returns the ID of the newest event, or ``EventID/zero`` if there has never been one.
  public func lastEventID() async throws(RegistryError) -> EventID {
    try await read(try await store.lastEventID())
  }

  /// Returns the event with that ID; `nil` if there never was one, or it was deleted.
  public func event(_ id: EventID) async throws(RegistryError) -> StoredEvent? {
    let (before, isOver) = id.rawValue.subtractingReportingOverflow(1)
    guard !isOver else { return nil }
    return try await events(after: EventID(rawValue: before), limit: 1).first { $0.id == id }
  }

  /// Returns an ID after which all events later than `time` are, found with some ten reads.
  ///
  /// Events are in the order of their commits. Those of servers whose clocks differ, or of one whose clock was corrected, may be
  /// out of the order of time; pass a time that is earlier by as much.
  public func eventID(before time: UnixTime) async throws(RegistryError) -> EventID {
    // All events up to `low` are too early; after `high`, all are later.
    var (low, high) = (Int64(0), try await lastEventID().rawValue)
    while low < high {
      let middle = low + (high - low) / 2
      if let next = try await events(after: EventID(rawValue: middle), limit: 1).first, next.event.at <= time {
        low = min(next.id.rawValue, high)
      } else {
        high = middle
      }
    }
    return EventID(rawValue: low)
  }
}

extension Registry {
  func item(_ id: StoredItemID) async throws(RegistryError) -> StoredItem? {
    try await read(try await store.item(id))
  }

  /// Returns the items of a kind about one subject.
  func items(_ kind: StoredItem.Kind, of subject: String) async throws(RegistryError) -> [StoredItem] {
    try await read(try await store.items(kind, subject: subject))
  }

  /// Returns the items of a kind about one subject that have not expired.
  func liveItems(
    _ kind: StoredItem.Kind, of subject: String, now: UnixTime
  ) async throws(RegistryError) -> [StoredItem] {
    try await items(kind, of: subject).filter { $0.expiresAt > now }
  }

  /// Writes an item in the place of a stored one, or as the first.
  static func replacing(_ stored: StoredItem?, by next: StoredItem) -> RegistryChange {
    stored.map { .replaceItem(next, expecting: $0.revision) } ?? .createItem(next)
  }

  /// Returns an item that still holds at `now`.
  func liveItem(_ id: StoredItemID, now: UnixTime) async throws(RegistryError) -> StoredItem? {
    try await item(id).flatMap { $0.expiresAt > now ? $0 : nil }
  }

  /// Creates or replaces an item with what `change` makes of the stored one, which is `nil` if there is none or it has expired.
  /// If `change` returns `nil`, the item is deleted.
  ///
  /// - Parameter more: further changes of the same write, given the new item.
  /// - Returns: the item as `change` made it.
  @discardableResult
  func updateItem(
    _ id: StoredItemID, now: UnixTime, with more: (StoredItem) -> [RegistryChange] = { _ in [] },
    _ change: (StoredItem?) -> StoredItem?
  ) async throws(RegistryError) -> StoredItem? {
    for _ in 0..<Registry.attempts {
      let stored = try await item(id)
      let next = change(stored.flatMap { $0.expiresAt > now ? $0 : nil })
      var changes: [RegistryChange] = []
      switch (stored, next) {
      case (nil, nil): return nil
      case (nil, let next?): changes = [.createItem(next)]
      case (let stored?, let next?) where stored.expiresAt > now:
        changes = [.replaceItem(next, expecting: stored.revision)]
      case (let stored?, let next):
        // Not replaced: an item that has expired has another creation time.
        changes = [.removeItem(stored)] + (next.map { [.createItem($0)] } ?? [])
      }
      if try await write(changes + (next.map(more) ?? []), []) { return next }
    }
    throw Registry.contention
  }
}

/// The settings that servers on a shared store must have in common, so that each accepts the access tokens of the others.
package struct NodeKeys: Sendable, Hashable {
  /// A name that the server has made up at its start.
  package var node: String
  /// The `iss` of its tokens.
  package var issuer: String
  /// The IDs of the keys that it signs with.
  package var signing: Set<String>
  /// The IDs of all keys that it publishes.
  package var published: Set<String>

  package init(node: String, issuer: String, signing: Set<String>, published: Set<String>) {
    self.node = node
    self.issuer = issuer
    self.signing = signing
    self.published = published
  }

  /// Returns the keys that one of the two signs with and the other one does not know.
  package func unknown(to other: NodeKeys) -> Set<String> {
    signing.subtracting(other.published).union(other.signing.subtracting(published))
  }

  fileprivate var text: String {
    ([signing, published].map { $0.sorted().joined(separator: ",") } + [issuer]).joined(separator: ";")
  }

  fileprivate init?(node: String, text: String) {
    let parts = text.split(separator: ";", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let sets = parts.prefix(2).map { Set($0.split(separator: ",").map(String.init)) }
    self.init(node: node, issuer: String(parts[2]), signing: sets[0], published: sets[1])
  }
}

extension Registry {
  /// How long a server that stopped noting its keys counts as running.
  private static let nodeLife = Duration.seconds(150)
  private static let nodes = "nodes"

  /// Notes the keys of a running server, and returns those of the others. Call it once a minute, and before the server answers its
  /// first request: of two that start at the same time, one finds the other.
  package func note(_ keys: NodeKeys, now: UnixTime) async throws(RegistryError) -> [NodeKeys] {
    let item = StoredItem(
      id: StoredItemID(.nodeKeys, keys.node), kind: .nodeKeys, subject: Registry.nodes,
      payload: "\(keys.node) \(keys.text)", createdAt: now, expiresAt: now.advanced(by: Registry.nodeLife))
    try await write([.putItem(item)])
    return try await liveItems(.nodeKeys, of: Registry.nodes, now: now).compactMap { item in
      let parts = item.payload.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[0] != keys.node else { return nil }
      return NodeKeys(node: String(parts[0]), text: String(parts[1]))
    }
  }

  /// Forgets a server that stops.
  package func forget(_ keys: NodeKeys) async throws(RegistryError) {
    guard let item = try await item(StoredItemID(.nodeKeys, keys.node)) else { return }
    try await write([.removeItem(item)])
  }
}

extension Registry {
  /// Reads and writes the store, to see whether it can be used: a full disk can still be read, and of a damaged database often
  /// all but a part.
  ///
  /// - Throws: ``RegistryError/unavailable(_:)``.
  public func checkUsable(now: UnixTime) async throws(RegistryError) {
    _ = try await lastEventID()
    let item = StoredItem(
      id: StoredItemID(.probe), kind: .probe, createdAt: now, expiresAt: now.advanced(by: .seconds(86_400)))
    try await write([.putItem(item)])
    if let damage = store.damage { throw .unavailable(damage) }
  }
}

extension Registry {
  /// Deletes events and ended sessions that are older than ``RegistryLimits/retention``, audited actions that are older than
  /// ``RegistryLimits/auditRetention``, and expired one-time tokens; reduces the addresses of audited actions
  /// that are older than ``RegistryLimits/addressRetention``: at most `limit` of each. Call it periodically. Returns how many were deleted.
  ///
  /// Events are kept at least for as long as access tokens of sessions that they end may be valid.
  ///
  /// An ended session is kept until it would have expired, if that is later: until then, a client that presents an old token
  /// learns why the session ended. After that the token is still refused, but only with the reason `rejected`.
  public func prune(now: UnixTime, limit: Int = 500) async throws(RegistryError) -> Int {
    let before = now.advanced(by: .zero - limits.retention)
    // Verifiers of access tokens have to hear of every session whose tokens may be valid still.
    let heard = Registry.revocationHorizon(now: now, life: try await longestTokenLife(now: now))
    let retention = Retention(
      eventsBefore: min(before, heard), endedBefore: before,
      auditBefore: now.advanced(by: .zero - limits.auditRetention),
      addressesBefore: now.advanced(by: .zero - limits.addressRetention), now: now)
    return try await read(try await store.prune(retention, limit: limit))
  }
}
