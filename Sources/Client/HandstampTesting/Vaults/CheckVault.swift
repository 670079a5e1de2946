public import HandstampCore

/// Checks that a vault keeps the promises of the port ``Vault``, as far as they show from outside. Call it in a test of your own vault:
///
/// ```swift
/// @Test func `keeps the promises of a vault`() async throws {
///   try await checkVault { MyVault(folder: newFolder()) } again: { MyVault(folder: $0.folder) }
/// }
/// ```
/// - Parameters:
///   - make: Creates a vault over a new, empty store, or for a new account of a shared one. Called several times.
///   - again: Opens the same store again, as a second process would. By default the vault itself is reused.
///   - signalsChanges: Whether ``Vault/changes()`` notifies one vault of the other's writes.
/// - Throws: ``ConformanceError`` for the first broken promise. The check takes a few seconds at most.
public func checkVault<V: Vault>(
  _ make: @escaping @Sendable () async throws -> V,
  again: @escaping @Sendable (V) async throws -> V = { $0 },
  signalsChanges: Bool = true
) async throws {
  let check = VaultCheck(make: make, again: again)
  try await check.nothingIsAbsent()
  try await check.everyFieldComesBack()
  try await check.rotationKeyOfTheFirstWriterStays()
  try await check.staleWritersChangeNothing()
  try await check.successorTakesThePlace()
  try await check.carriedSecretsAreReplaced()
  try await check.endsLeaveTombstones()
  try await check.revisionsRise()
  try await check.staleRevisionsLose()
  try await check.randomEditsFollowTheRules()
  try await check.concurrentEditsLoseNothing()
  try await check.flightLockExcludes()
  try await check.flightLockIsHandedOn()
  if signalsChanges { try await check.writesAreSignalled() }
}

/// A broken promise of a port's implementation. It contains no secrets.
public struct ConformanceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The promise, as a sentence.
  public var promise: String
  /// The actual result.
  public var found: String

  public init(_ promise: String, found: String) {
    self.promise = promise
    self.found = found
  }

  public var description: String { "\(promise) — found: \(found)" }
}

/// The parts of ``checkVault(_:again:signalsChanges:)``. Each starts with an empty store.
struct VaultCheck<V: Vault> {
  let make: @Sendable () async throws -> V
  let again: @Sendable (V) async throws -> V

  /// Opens a new store twice.
  func pair() async throws -> (V, V) {
    let first = try await make()
    return (first, try await again(first))
  }

  func expect(_ isTrue: Bool, _ promise: String, found: @autoclosure () -> Any) throws {
    if !isTrue { throw ConformanceError(promise, found: "\(found())") }
  }

  /// Applies an edit, and returns the entry stored afterwards.
  func done(_ vault: V, _ edit: VaultEdit, _ promise: String) async throws -> VaultEntry {
    let outcome = await vault.edit(edit)
    guard case .done(let entry) = outcome else { throw ConformanceError(promise, found: "\(outcome)") }
    return entry
  }

  func stored(_ vault: V, _ promise: String) async throws -> VaultEntry {
    let reading = await vault.read()
    guard case .value(let entry) = reading else { throw ConformanceError(promise, found: "\(reading)") }
    return entry
  }
}
