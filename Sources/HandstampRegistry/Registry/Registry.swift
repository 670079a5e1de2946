public import HandstampCore

/// The server's list of sessions: who is signed in where, and everything that may happen to that.
///
/// It has no clock: every call is told what time it is. What it returns as done is durable. It may be used by any number
/// of tasks and servers at once: each write states what it expects to find, and is decided anew when that has changed.
public struct Registry: Sendable {
  /// Where the list lives.
  public let store: any RegistryStore
  public let mint: TokenMint
  public let limits: RegistryLimits
  let rotation: Rotation
  let random: @Sendable () -> UInt64

  /// How often a decision is made anew, because others wrote to the same row meanwhile. Each time one of them got ahead.
  package static let attempts = 32

  /// - Parameter random: Sixty-four random bits a call, of a cryptographic source.
  public init(
    store: any RegistryStore, mint: TokenMint, limits: RegistryLimits = RegistryLimits(),
    random: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
  ) {
    self.init(store: store, mint: mint, limits: limits, rotation: Rotation(), random: random)
  }

  package init(
    store: any RegistryStore, mint: TokenMint, limits: RegistryLimits, rotation: Rotation,
    random: @escaping @Sendable () -> UInt64
  ) {
    self.store = store
    self.mint = mint
    self.limits = limits
    self.rotation = rotation
    self.random = random
  }

  /// The registry's source as a generator.
  struct Source: RandomNumberGenerator {
    let draw: @Sendable () -> UInt64
    mutating func next() -> UInt64 { draw() }
  }
  var source: Source { Source(draw: random) }

  package static let contention = RegistryError.unavailable("too many write to one session at once")

  /// The session, if it lasts. For the server's own API, which asks at each request.
  public func session(_ id: SessionID, now: UnixTime) async throws(RegistryError) -> SessionRow? {
    let row = try await reading { () throws(RegistryStoreError) in try await store.session(id) }
    guard let row, row.over(at: now) == nil else { return nil }
    return row
  }

  /// Whether the session lasts.
  public func isLive(_ id: SessionID, now: UnixTime) async throws(RegistryError) -> Bool {
    try await session(id, now: now) != nil
  }

  /// The sessions of an account that last, those seen last first.
  public func sessions(of account: AccountID, now: UnixTime) async throws(RegistryError) -> [SessionRow] {
    let rows = try await reading { () throws(RegistryStoreError) in try await store.sessions(of: account) }
    return rows.filter { $0.over(at: now) == nil }.sorted { ($0.lastSeenAt, $0.id) > ($1.lastSeenAt, $1.id) }
  }

  func reading<Value: Sendable>(
    _ body: () async throws(RegistryStoreError) -> Value
  ) async throws(RegistryError) -> Value {
    do throws(RegistryStoreError) { return try await body() } catch { throw RegistryError(error) }
  }
}
