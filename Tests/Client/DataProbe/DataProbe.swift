// A process that a test starts, and kills while it is writing.
#if Data
import Foundation
import GRDB
import HandstampCore
import HandstampData

@main struct DataProbe {
  /// `DataProbe sign-in|sign-out|resume PROGRAM`, or `DataProbe FOLDER`, which writes rows concurrently until it is killed, and
  /// prints the number of each as soon as it is acknowledged.
  static func main() async throws {
    let arguments = CommandLine.arguments
    if arguments.count == 3 {
      let accounts = AccountsProbe(name: arguments[2])
      switch arguments[1] {
      case "sign-in": try await accounts.signIn()
      case "sign-out": try await accounts.signOut()
      default: try await accounts.resume()
      }
      return
    }
    guard arguments.count == 2 else { return }
    let table = CachedTable("row", key: ["number"])
    let schema = StoreSchema(tables: [table]) { migrator in
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
              try table.upsert(
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
