#if Command
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import HandstampStorage

struct AdminDatabase: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "database", abstract: "back up, restore and check the server's data",
    subcommands: [Backup.self, Restore.self, Check.self])

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup", abstract: "write a consistent copy of the data folder, while the server runs",
      discussion: """
        the copy has the keys of every session: keep it as secret as the folder
        itself
        """)

    @Argument(help: "folder for the copy, which must not exist yet or be empty; missing folders above it are created")
    var folder: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var folder: String
      var files: [String]
    }

    func run() async throws {
      let data = try options.folder()
      let files = try await data.open { store, _ throws(CommandError) in
        let files: [String]
        guard let file = store.store as? SQLiteRegistryStore else {
          throw CommandError(
            .usage, "the sessions are in PostgreSQL",
            hint: "back up the database with pg_basebackup or pg_dump, and the files of \(data.path) besides")
        }
        do throws(RegistryOpenError) { files = try await data.files.backUp(file, to: folder) } catch {
          throw CommandError(error)
        }
        try await store.audit(.backedUp)
        return files
      }
      if output.json { return Answer(folder: folder, files: files).writeLine() }
      Terminal.say("backed up to \(folder): \(files.joined(separator: ", "))")
      if data.keys != nil { Terminal.say("without the keys in \(data.keysPlace): back them up, too") }
    }
  }

  struct Restore: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "restore", abstract: "restore a backup, while no server runs",
      discussion: """
        to an empty or missing data folder: everything; sessions that ended since
        the backup are live again, and what was taken away since is back: accounts,
        passkeys, consents, former passwords and addresses

        to a server's data folder: only the database; ends.log has what ended or was
        taken away since the backup, and that is taken away again; a password that
        was changed since is removed: its owner sets one with a mailed code; keys,
        ends.log and clock stay, and the former database is kept beside it

        with --database: after PostgreSQL itself was restored to an earlier time,
        does the same with the ends.log of this node; run it with the folder of each
        node before any server starts

        codes that were mailed or shown before the backup are void
        """)

    @Argument(help: "folder with the backup; for PostgreSQL none") var folder: String?
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      /// `everything`, `database` or `postgresql`.
      var restored: String
      var endedAgain: Int?
      /// The numbers of removals that were made again, by kind.
      var takenAway: [String: Int]?
      /// Whether ends.log lacked entries that the backup's own had.
      var logIncomplete: Bool?
      /// How many lines of ends.log could not be read.
      var unreadableLines: Int?
      /// The accounts without a password, because it was changed since.
      var lostPasswords: [LostPassword]?
      /// The path of the former database.
      var former: String?

      struct LostPassword: Encodable {
        var account: String
        var address: Bool
        var confirmedAddress: Bool
      }

      init(_ restored: String, _ reapplied: Reapplied? = nil, former: String? = nil) {
        self.restored = restored
        self.former = former
        guard let reapplied else { return }
        endedAgain = reapplied.sessions
        logIncomplete = reapplied.isIncomplete
        unreadableLines = reapplied.unreadableLines
        takenAway = Dictionary(reapplied.counts.map { ($0.name, $0.count) }, uniquingKeysWith: { $1 })
        lostPasswords = reapplied.lostPasswords.map {
          LostPassword(
            account: $0.account.rawValue, address: $0.hasAddress, confirmedAddress: $0.hasConfirmedAddress)
        }
      }
    }

    func run() async throws {
      let data = try options.folder()
      if case .postgres = data.database { return try await endAgain(data) }
      guard let folder else {
        throw CommandError(
          .usage, "missing folder with the backup", hint: "name the folder that admin database backup has written")
      }
      let result: RestoredBackup
      do throws(RegistryOpenError) { result = try data.files.restore(from: folder, keys: data.keys) } catch {
        throw CommandError(error)
      }
      data.giveFilesToOwner()
      try await data.open { store, _ throws(CommandError) in try await store.audit(.restored) }
      switch result {
      case .everything:
        if output.json { return Answer("everything").writeLine() }
        Terminal.say("restored everything to \(data.path)")
        Terminal.say(
          "sessions that ended since the backup are live again, and what was taken away since is back; to end all sessions:"
            + " handstamp admin sessions end --everyone")
      case .database(let reapplied, let former):
        if output.json { return Answer("database", reapplied, former: former).writeLine() }
        Terminal.say("restored the database of \(data.path)")
        say(reapplied)
        if let former { Terminal.say("the former database is \(former)") }
      }
    }

    /// Says what was taken away again, and whose passwords are gone.
    private func say(_ reapplied: Reapplied) {
      Terminal.say("ended \(reapplied.sessions) session(s) again")
      if reapplied.isIncomplete {
        Terminal.say(
          "warning: ends.log lacked entries that the backup's own has, so it was emptied or replaced, and what was taken away after it"
            + " may be back; to end all sessions: handstamp admin sessions end --everyone")
      }
      if reapplied.unreadableLines > 0 {
        Terminal.say(
          "warning: \(reapplied.unreadableLines) line(s) of ends.log cannot be read; what they took away may be back")
      }
      let others = reapplied.counts.filter { $0.name != "ended_sessions" }
      guard !others.isEmpty else { return }
      Terminal.say(
        "took away again: "
          + others.map { "\($0.count) \($0.name.replacing("_", with: " "))" }.joined(separator: ", "))
      guard !reapplied.lostPasswords.isEmpty else { return }
      Terminal.say("these accounts have no password, because it was changed since the backup:")
      for lost in reapplied.lostPasswords.prefix(Restore.shown) {
        Terminal.say("  \(lost.account)\(Restore.way(into: lost))")
      }
      let more = reapplied.lostPasswords.count - Restore.shown
      if more > 0 { Terminal.say("  and \(more) more; --json lists all") }
    }

    private static let shown = 50

    private static func way(into lost: Reapplied.LostPassword) -> String {
      if lost.hasConfirmedAddress { return ": its owner sets one with a mailed code" }
      if lost.hasAddress { return ": the same, if the address is the owner's, which was never confirmed" }
      return ", without an address: handstamp admin accounts reset \(lost.account)"
    }

    private func endAgain(_ data: AdminFolder) async throws(CommandError) {
      guard folder == nil else {
        throw CommandError(
          .usage, "a PostgreSQL database is restored with PostgreSQL's own tools",
          hint: "restore it, then run this command without a folder")
      }
      let hasLog = PrivateFile.exists(data.path + "/ends.log")
      let reapplied = try await data.open { store, _ throws(CommandError) in
        try await store.audit(.restored)
        return store.store.reapplied
      }
      if output.json { return Answer("postgresql", reapplied).writeLine() }
      say(reapplied)
      Terminal.say("that is what this node knew of; run it with the data folder of each other node")
      guard !hasLog else { return }
      Terminal.say(
        "this folder had no ends.log: sessions that a node with it has ended are live again, and what it took away is back; to end"
          + " all sessions: handstamp admin sessions end --everyone")
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "check database, keys and log",
      discussion: "changes nothing; exits 1 if it finds a problem")

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      struct Item: Encodable {
        var ok: Bool
        var text: String
      }
      var ok: Bool
      var findings: [Item]
    }

    func run() async throws {
      let folder = try options.folder()
      let items = try await folder.open { store, _ throws(CommandError) in try await findings(store, in: folder) }
      let problems = items.filter { !$0.ok }
      if output.json {
        Answer(ok: problems.isEmpty, findings: items).writeLine()
      } else {
        Table(rows: items.map { [$0.ok ? "ok" : "problem", $0.text] }).write()
      }
      guard problems.isEmpty else {
        throw CommandError(
          .failure, "\(problems.count) problem(s) found", hint: "for a damaged database, restore a backup")
      }
    }

    private func findings(_ store: AdminStore, in folder: AdminFolder) async throws(CommandError) -> [Answer.Item] {
      let (inspection, counts): (StoreInspection, RegistryCounts)
      do throws(RegistryStoreError) {
        (inspection, counts) = (try await store.store.inspect(), try await store.store.counts())
      } catch { throw CommandError(error) }
      var items = inspection.faults.map { Answer.Item(ok: false, text: "database: \($0.onOneLine)") }
      if items.isEmpty { items.append(Answer.Item(ok: true, text: "the database is intact, \(inspection.size) bytes")) }
      items.append(Answer.Item(ok: true, text: "its tables have version \(inspection.migrations.last ?? "?")"))
      items.append(
        Answer.Item(
          ok: true,
          text: "the keys belong to it: \(store.keys.master.keys.keys.sorted().map(\.rawValue).joined(separator: ", "))"
        ))
      let unreadable = store.store.unreadableEnds
      items.append(
        Answer.Item(
          ok: unreadable == 0,
          text: unreadable == 0
            ? "ends.log is readable" : "\(unreadable) unreadable line(s) in ends.log"))
      do throws(CommandError) {
        let ids = try SigningKeyRing.locked(in: folder.path) { $0.keys.ids }
        items.append(Answer.Item(ok: true, text: "\(ids.count) signing key(s)"))
      } catch { items.append(Answer.Item(ok: false, text: error.message)) }
      items.append(
        Answer.Item(ok: true, text: "\(counts.accounts) account(s), \(counts.liveSessions) live session(s)"))
      return items
    }
  }
}

extension AdminStore {
  /// Logs an action on the whole folder.
  fileprivate func audit(_ kind: AuditedAction.Kind) async throws(CommandError) {
    do throws(AdministrationError) { try await administration().audit(kind) } catch { throw CommandError(error) }
  }
}
#endif
