// A process that a test starts, and kills while it is writing.
#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampData

@main struct DataProbe {
  /// Writes rows concurrently until it is killed; prints the number of each as soon as it is acknowledged.
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 2 else { return }
    let shelf = CachedTable("row", key: ["number"])
    let schema = StoreSchema(shelves: [shelf]) { migrator in
      migrator.registerMigration("1") { database in
        try database.execute(
          sql: "CREATE TABLE row (id INTEGER PRIMARY KEY, number INTEGER NOT NULL UNIQUE, text TEXT)")
      }
    }
    let store = try DataStore(StorePlace(folder: URL(fileURLWithPath: arguments[1])), schema: schema)
    let first = try store.read { try Int.fetchOne($0, sql: "SELECT coalesce(max(number), 0) FROM row") ?? 0 }
    await withTaskGroup(of: Void.self) { group in
      for lane in 0..<4 {
        group.addTask {
          var number = first + 1 + lane
          while true {
            let current = number
            let done: Void? = try? await store.write { database in
              try shelf.upsert(
                database, [current], ["text": String(repeating: "x", count: current % 3000)],
                at: UnixTime(seconds: Int64(current)))
            }
            guard done != nil else { return }
            say("\(current)")
            number += 4
          }
        }
      }
    }
  }

  /// Prints whole lines, one at a time.
  private static func say(_ text: String) {
    FileHandle.standardOutput.write(Foundation.Data((text + "\n").utf8))
  }
}
#else
@main struct DataProbe { static func main() {} }
#endif
