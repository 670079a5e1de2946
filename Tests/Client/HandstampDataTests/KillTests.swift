#if Data
import Foundation
import GRDB
import HandstampCore
import Testing

@testable import HandstampData

@Suite(.timeLimit(.minutes(10))) struct `A program killed while writing` {
  @Test(arguments: [1, 40, 200, 700, 1500])
  func `leaves a store with every acknowledged write`(writes: Int) async throws {
    let folder = try NewFolder()
    var acknowledged: Set<Int> = []
    // The second program starts with the store of the first one.
    for _ in 0..<2 {
      let lines = try await run(until: writes, in: folder.place.folder)
      acknowledged.formUnion(lines)
    }
    #expect(acknowledged.count >= 2 * writes)
    let table = CachedTable("row", key: ["number"])
    let schema = StoreSchema(tables: [table]) { migrator in
      migrator.registerMigration("1") { _ in }
    }
    let store = try DataStore(folder.place, schema: schema)
    let found = try store.read { try Set(Int.fetchAll($0, sql: "SELECT number FROM row")) }
    #expect(acknowledged.subtracting(found).isEmpty)
    #expect(store.rebuilds == 0)
    #expect(try store.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
  }

  /// Starts the probe, kills it after that many acknowledged writes, and returns all acknowledged writes.
  private func run(until count: Int, in folder: URL) async throws -> [Int] {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appendingPathComponent("DataProbe")
    process.arguments = [folder.path]
    process.standardOutput = output
    try process.run()
    let running = Running(process)
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        var data = Foundation.Data()
        var lines = 0
        while lines < count {
          let more = output.fileHandleForReading.availableData
          if more.isEmpty { break }
          data += more
          lines += more.count { $0 == 10 }
        }
        running.kill()
        data += (try? output.fileHandleForReading.readToEnd()) ?? Foundation.Data()
        let text = String(decoding: data, as: UTF8.self)
        // A line without a line break is incomplete.
        let whole = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        continuation.resume(returning: whole.compactMap { Int($0) })
      }
    }
  }
}

/// A process that ends with its test.
// Unchecked: after the start it is only killed and waited for.
private final class Running: @unchecked Sendable {
  private let process: Process

  init(_ process: Process) { self.process = process }

  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
#endif
