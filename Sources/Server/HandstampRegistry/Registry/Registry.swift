public import HandstampCore

/// The server's list of sessions: which accounts are signed in on which devices, and every operation on them.
///
/// It has no clock: the caller passes the time. Changes are durable when a call returns. Any number of tasks and servers may
/// use it concurrently: each write states the revision it expects, and the decision is made again if that has changed.
public struct Registry: Sendable {
  /// The storage of the list. Only the registry's own operations use it, so that its rules hold for every caller.
  let store: any RegistryStore
  public let mint: TokenMint
  public let limits: RegistryLimits
  /// The events of which accounts are told by mail. Stored in the write that makes the event, and sent by a server that has a mailer.
  package var notices: Set<AccountNotice> = []
  let rotation = Rotation()
  let random: @Sendable () -> UInt64
  /// The actor of the changes, for the audit log.
  private(set) var actor = AuditActor.server()

  /// How often an operation is tried when concurrent writers change the same row. Each conflict means that another write won.
  package static let attempts = 32

  /// - Parameter random: 64 bits from a cryptographic random source per call.
  public init(
    store: any RegistryStore, mint: TokenMint, limits: RegistryLimits = RegistryLimits(),
    random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
  ) {
    self.store = store
    self.mint = mint
    self.limits = limits
    self.random = random
  }

  /// Returns the registry with another name in the audit log for the changes that are made with it.
  public func acting(as actor: AuditActor) -> Registry {
    var registry = self
    registry.actor = actor
    return registry
  }

  /// The change that logs an action of this registry's actor.
  func audited(
    _ kind: AuditedAction.Kind, account: AccountID? = nil, session: SessionID? = nil, details: String = "{}",
    at now: UnixTime
  ) -> RegistryChange {
    .audit(AuditedAction(at: now, kind, by: actor, account: account, session: session, details: details))
  }

  /// The registry's source as a generator.
  struct Source: RandomNumberGenerator {
    let draw: @Sendable () -> UInt64
    mutating func next() -> UInt64 { draw() }
  }
  var source: Source { Source(draw: random) }

  package static let contention = RegistryError.unavailable("too many concurrent writes to one session")

  /// Returns a live session, or `nil`. One that has waited too long for its first use does not count, see
  /// ``SessionRow/isForgotten(at:)``.
  public func session(_ id: SessionID, now: UnixTime) async throws(RegistryError) -> SessionRow? {
    try await storedSession(id).flatMap { $0.endReason(at: now) == nil && !$0.isForgotten(at: now) ? $0 : nil }
  }

  /// Returns a session, ended or not; `nil` if there is none, or it was deleted.
  public func storedSession(_ id: SessionID) async throws(RegistryError) -> SessionRow? {
    try await read(try await store.session(id))
  }

  /// Returns whether the session is live.
  public func isLive(_ id: SessionID, now: UnixTime) async throws(RegistryError) -> Bool {
    try await session(id, now: now) != nil
  }

  /// Returns an account's live sessions, most recently seen first, without those that have waited too long for their first use.
  public func sessions(of account: AccountID, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    try await liveSessions(of: account).filter { $0.endReason(at: now) == nil && !$0.isForgotten(at: now) }.sorted {
      ($0.lastSeenAt, $0.id) > ($1.lastSeenAt, $1.id)
    }
  }

  func read<Value: Sendable>(
    _ value: @autoclosure () async throws(RegistryStoreError) -> Value
  ) async throws(RegistryError) -> Value {
    do throws(RegistryStoreError) { return try await value() } catch { throw RegistryError(error) }
  }

  func write(_ changes: [RegistryChange]) async throws(RegistryError) {
    try await read(try await store.write(changes, events: []))
  }

  /// Writes changes that depend on an account.
  ///
  /// - Throws: ``RegistryError/accountChanged`` if something that they expect has changed or is missing.
  func writeIfUnchanged(_ changes: [RegistryChange], events: [RegistryEvent] = []) async throws(RegistryError) {
    do throws(RegistryStoreError) { try await store.write(changes, events: events) } catch {
      throw RegistryError(error, changed: .accountChanged, missing: .accountChanged)
    }
  }
}
