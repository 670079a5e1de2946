public import HandstampCore

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
