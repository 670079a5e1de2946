import GRDB
import Handstamp

/// The times at which lists were fetched. Stored with the content, so they are erased with the account's store.
enum Fetches {
  /// Older records are useless.
  private static let life = Duration.seconds(7 * 86_400)

  static func note(_ list: Listing, at now: UnixTime, in database: Database) throws {
    // A new row with a new number, so that observers also notice a fetch that changed nothing else.
    try database.execute(
      sql: "INSERT OR REPLACE INTO fetched (list, time) VALUES (?, ?)", arguments: [list.name, now.milliseconds])
    try database.execute(
      sql: "DELETE FROM fetched WHERE time < ?", arguments: [now.advanced(by: .zero - life).milliseconds])
  }

  static func number(of list: Listing, in database: Database) throws -> Int64? {
    try Int64.fetchOne(database, sql: "SELECT id FROM fetched WHERE list = ?", arguments: [list.name])
  }

  static func time(of list: Listing, in database: Database) throws -> UnixTime? {
    try Int64.fetchOne(database, sql: "SELECT time FROM fetched WHERE list = ?", arguments: [list.name])
      .map { UnixTime(milliseconds: $0) }
  }
}
