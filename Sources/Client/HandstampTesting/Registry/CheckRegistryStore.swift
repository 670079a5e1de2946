import HandstampCore
public import HandstampRegistry

/// Checks that a store keeps every promise of the port ``RegistryStore``. Call it in a test of your own store:
///
/// ```swift
/// @Test func `keeps the promises of a store`() async throws {
///   try await checkRegistryStore { try MyStore(folder: newFolder()) } again: { try MyStore(folder: $0.folder) }
/// }
/// ```
/// - Parameters:
///   - make: Creates a new, empty store. Called several times.
///   - again: Opens the same store again, as a second server would. By default the store itself is reused.
/// - Throws: ``ConformanceError`` for the first broken promise.
public func checkRegistryStore<S: RegistryStore>(
  _ make: @escaping @Sendable () async throws -> S,
  again: @escaping @Sendable (S) async throws -> S = { $0 }
) async throws {
  let check = RegistryStoreCheck(make: make, again: again)
  try await check.nothingIsThere()
  try await check.everyFieldOfASessionComesBack()
  try await check.everyFieldOfAnAccountComesBack()
  try await check.nothingIsCreatedTwice()
  try await check.aDeviceHasOneSessionOfAnAccount()
  try await check.pendingSessionsExcludeNone()
  try await check.staleWritersChangeNothing()
  try await check.anEndNeedsNoRevision()
  try await check.addressesAreTakenOnce()
  try await check.accountsMustBeWhatWasChecked()
  try await check.sessionsMustBeLive()
  try await check.identitiesAreTakenOnce()
  try await check.oneTimeTokensAreUsedOnce()
  try await check.everyFieldOfAOneTimeTokenComesBack()
  try await check.everyFieldOfAnItemComesBack()
  try await check.staleWritersChangeNoItem()
  try await check.itemsAreListed()
  try await check.itemsExpire()
  try await check.guestsGoWithTheirLastSession()
  try await check.theAuditLogGrows()
  try await check.addressesOfTheAuditLogAreReduced()
  try await check.accountsAreListedAndCounted()
  try await check.onlyWhatIsOverIsForgotten()
  try await check.theClockIsNoted()
  try await check.timesAreMoved()
  try await check.writesAreWholeOrNothing()
  try await check.eventsStandInLine()
  try await check.sessionsAreListed()
  try await check.overdueSessionsAreFound()
  try await check.oneOfManyWritersWins()
  try await check.decisionsAreAboutWhatIsStored()
  try await check.concurrentWritesLoseNothing()
}

/// The parts of ``checkRegistryStore(_:again:)``. Each starts with an empty store.
struct RegistryStoreCheck<S: RegistryStore> {
  let make: @Sendable () async throws -> S
  let again: @Sendable (S) async throws -> S

  /// Opens a new store twice.
  func pair() async throws -> (S, S) {
    let first = try await make()
    return (first, try await again(first))
  }

  /// Opens a new store twice, with some accounts in it.
  func pair(with accounts: AccountID...) async throws -> (S, S) {
    let (store, other) = try await pair()
    for id in accounts { try await store.write([.createAccount(RegistrySamples.account(id))], events: []) }
    return (store, other)
  }

  func expect(_ isTrue: Bool, _ promise: String, found: @autoclosure () -> Any) throws {
    if !isTrue { throw ConformanceError(promise, found: "\(found())") }
  }

  /// Makes a write that must fail with `error`.
  func expect(
    _ error: RegistryStoreError, _ promise: String, from store: S, writing changes: [RegistryChange],
    events: [RegistryEvent] = []
  ) async throws {
    let outcome: String
    do throws(RegistryStoreError) {
      try await store.write(changes, events: events)
      outcome = "done"
    } catch {
      outcome = "\(error)"
    }
    try expect(outcome == "\(error)", promise, found: outcome)
  }
}
