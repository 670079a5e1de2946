#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampPostgres
import HandstampRegistry
import HandstampSQLite
import HandstampServer

struct AdminCopy: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "copy", abstract: "move all sessions and accounts to another database, while no server runs",
    discussion: """
      from a data folder to PostgreSQL, or back; clients go on with the tokens
      that they have

      refuses a target that is not empty; an interrupted copy goes on where it
      ended when the same command runs again; in the end it counts and compares
      every table, and no server starts on the source any more

      the keys are those of the data folder, or of HANDSTAMP_SERVE_KEYS
      """)

  @Option(help: "data folder, or address of a PostgreSQL database") var from: String
  @Option(help: "the same; a data folder needs the keys.json of the source") var to: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let keys = try SettingValues<ServeSettings>(environment: ProcessInfo.processInfo.environment).keys()
    let summaries: [StoreCopy.Summary]
    do throws(RegistryOpenError) { summaries = try await copy(keys) } catch { throw CommandError(error) }
    output.write(
      "tables", summaries,
      [
        Column("name", as: "TABLE", \.table),
        Column("count", as: "ROWS", \.count),
        // Of all rows in order, in hexadecimal.
        Column("checksum", as: "SHA-256", \.checksum),
      ])
    if output.json { return }
    Terminal.say("copied; start the servers on \(place(to))")
  }

  private func copy(_ keys: ServerKeys?) async throws(RegistryOpenError) -> [StoreCopy.Summary] {
    switch (PostgresAddress.isLikely(from), PostgresAddress.isLikely(to)) {
    case (false, true):
      let source = ServerFolder(path: from)
      return try await database(to, folder: from).withMove { target throws(RegistryOpenError) in
        try source.move(to: target, keys: keys, progress: AdminCopy.report)
      }
    case (true, false):
      let target = ServerFolder(path: to)
      return try await database(from, folder: to).withMove { source throws(RegistryOpenError) in
        try source.move(to: target, keys: keys, progress: AdminCopy.report)
      }
    case (true, true), (false, false):
      throw .refused(
        "one of --from and --to must be a data folder, and the other one a PostgreSQL database",
        hint: "use --from DIR --to postgresql://db.example.org/handstamp, or the other way round")
    }
  }

  private func database(_ address: String, folder: String) throws(RegistryOpenError) -> PostgresDatabase {
    PostgresDatabase(try PostgresAddress(address), folder: folder)
  }

  private func place(_ text: String) -> String { (try? PostgresAddress(text).description) ?? text }

  private static func report(_ table: String, _ count: Int) {
    if count % 100_000 == 0 { Terminal.say("\(table): \(count) rows") }
  }
}
#endif
