package import HandstampCore
import HandstampTesting

extension Simulation {
  /// Puts a vault through every edit of this history, in order and by process, and compares the entry after each edit
  /// with the rules. Requires a run with ``init(seed:steps:traced:)`` and `traced`.
  ///
  /// ```swift
  /// @Test(arguments: 0..<20 as Range<UInt64>)
  /// func `my vault follows the rules`(seed: UInt64) async throws {
  ///   try await Simulation(seed: seed, traced: true).check {
  ///     MyVault(folder: newFolder())
  ///   } again: {
  ///     MyVault(folder: $0.folder)
  ///   }
  /// }
  /// ```
  /// - Parameters:
  ///   - make: Creates a vault over a new, empty store.
  ///   - again: Opens the same store again, as a second process would. By default the vault itself is reused.
  /// - Throws: ``ConformanceError`` for the first difference.
  package func check<V: Vault>(
    _ make: @Sendable () async throws -> V, again: @Sendable (V) async throws -> V = { $0 }
  ) async throws {
    let first = try await make()
    var vaults = [first]
    var model = VaultEntry()
    for record in records {
      while vaults.count <= record.process { vaults.append(try await again(first)) }
      let outcome = await vaults[record.process].edit(record.edit)
      var isConflict = false
      switch record.edit.applied(to: model) {
      case .write(let new): model = new
      case .unchanged: break
      case .conflict: isConflict = true
      }
      switch outcome {
      case .done(let entry) where !isConflict: try compare(entry, model, after: record.edit)
      case .conflict(let entry) where isConflict: try compare(entry, model, after: record.edit)
      case .done, .conflict, .failed:
        throw ConformanceError(
          "seed \(seed): an edit is done or in conflict according to its rules", found: "\(outcome)")
      }
    }
    switch await vaults[vaults.count - 1].read() {
    case .value(let entry): try compare(entry, model, after: nil)
    case .absent where model.isEmpty: break
    case let reading: throw ConformanceError("seed \(seed): the entry can be read", found: "\(reading)")
    }
  }

  private func compare(_ entry: VaultEntry, _ model: VaultEntry, after edit: VaultEdit?) throws {
    guard entry.session == model.session, entry.tombstones == model.tombstones else {
      throw ConformanceError(
        "seed \(seed): the entry matches the rules",
        found: "a different entry after \(edit.map { "\($0)" } ?? "all")")
    }
  }
}
