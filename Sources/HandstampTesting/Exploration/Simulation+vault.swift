public import HandstampCore

extension Simulation {
  /// Puts a vault through every edit of this history, in its order and by its processes, and compares what is stored after
  /// each of them with what the rules say. For a run that was ``init(seed:steps:traced:)`` traced.
  ///
  /// ```swift
  /// @Test(arguments: 0..<20 as Range<UInt64>)
  /// func `my vault keeps to the rules`(seed: UInt64) async throws {
  ///   try await Simulation(seed: seed, traced: true).check { MyVault(folder: newFolder()) } again: { MyVault(folder: $0.folder) }
  /// }
  /// ```
  /// - Parameters:
  ///   - make: makes a vault over a new, empty store.
  ///   - again: opens the same store once more, as a second process would. Without it the vault itself is taken.
  /// - Throws: ``BrokenPromise`` at the first difference.
  public func check<V: Vault>(
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
        throw BrokenPromise("seed \(seed): an edit is done or a conflict by its rules", found: "\(outcome)")
      }
    }
    switch await vaults[vaults.count - 1].read() {
    case .value(let entry): try compare(entry, model, after: nil)
    case .absent where model.isEmpty: break
    case let reading: throw BrokenPromise("seed \(seed): what is stored can be read", found: "\(reading)")
    }
  }

  private func compare(_ entry: VaultEntry, _ model: VaultEntry, after edit: VaultEdit?) throws {
    guard entry.session == model.session, entry.tombstones == model.tombstones else {
      throw BrokenPromise(
        "seed \(seed): what is stored is what the rules make of it",
        found: "another entry after \(edit.map { "\($0)" } ?? "all")")
    }
  }
}
