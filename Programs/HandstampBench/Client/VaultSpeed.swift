#if Programs
import Handstamp
import HandstampTesting

/// Measures reading and durably replacing the sealed file of one account.
struct VaultSpeed {
  let folder: String
  private let reads = (batches: 31, count: 200)
  private let edits = 301

  @concurrent func measure(into report: inout Report) async throws {
    let vault = SealedFileVault(folder: folder, account: AccountID("ada"))
    var session = VaultSamples.session()
    session.access?.credential = .accessToken(Sessions.accessToken)
    guard case .done = await vault.edit(.begin(session)) else { throw BenchError("the vault cannot be written") }
    let read = try await Timing.nanoseconds(batches: reads.batches, of: reads.count) { count in
      for _ in 0..<count {
        guard case .value = await vault.read() else { throw BenchError("the vault cannot be read") }
      }
    }
    report.add(
      "vault", "SealedFileVault, read", read / 1000, "µs",
      note: "median of \(reads.batches) batches of \(reads.count)")
    var times: [Double] = []
    for second in 0..<edits {
      let edit = VaultEdit.touch(session.id, at: VaultSamples.moment(Int64(second) + 2))
      let time = try await Timing.once {
        guard case .done = await vault.edit(edit) else { throw BenchError("the vault cannot be written") }
      }
      times.append(time.inMicroseconds)
    }
    report.add(
      "vault", "SealedFileVault, edit", times.median, "µs",
      note: "syncs file and folder; median of \(edits), best \((times.min() ?? 0).figure)")
  }
}
#endif
