#if Operator
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampServer

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

    func run() async throws {
      let data = try options.folder()
      let files = try await data.open { store throws(CommandError) in
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
      if output.json { return Terminal.out(json: ["folder": folder, "files": files]) }
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
        passkeys, consents, previous passwords and addresses

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

    /// For programs.
    ///
    /// - Parameters:
    ///   - restored: `everything`, `database` or `postgresql`.
    ///   - former: the path of the former database.
    private func answer(
      _ restored: String, _ reapplied: Reapplied? = nil, former: String? = nil, keys: Keys
    ) -> JSONObject {
      [
        "restored": restored, "former": former, "endedAgain": reapplied?.sessions,
        "keys": keys.known, "lostKeys": keys.losses,
        // The numbers of removals that were made again, by kind.
        "takenAway": reapplied.map { Dictionary($0.counts.map { ($0.name, $0.count) }, uniquingKeysWith: { $1 }) },
        // Whether ends.log lacked entries that the backup's own had.
        "logIncomplete": reapplied?.isIncomplete, "unreadableLines": reapplied?.unreadableLines,
        // The accounts without a password, because it was changed since.
        "lostPasswords": reapplied?.lostPasswords.objects([
          Column("account", \.account.rawValue), Column("address", \.hasAddress),
          Column("confirmedAddress", \.hasConfirmedAddress),
        ]),
      ]
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
      let keys = try await data.open { store throws(CommandError) in
        try await store.audit(.restored)
        return try await refreshKeys(of: store)
      }
      switch result {
      case .everything:
        if output.json { return Terminal.out(json: answer("everything", keys: keys)) }
        Terminal.say("restored everything to \(data.path), with the refresh keys \(keys.known.joined(separator: ", "))")
        Terminal.say(
          "a client with a token of a later key is answered 503, and the log names the key: put the newest keys.json into the folder"
            + " before a server starts; if it is lost: handstamp-server admin keys retire ID --force")
        Terminal.say(
          "sessions that ended since the backup are live again, and what was taken away since is back; to end all sessions:"
            + " handstamp-server admin sessions end --everyone")
      case .database(let reapplied, let former):
        if output.json { return Terminal.out(json: answer("database", reapplied, former: former, keys: keys)) }
        Terminal.say("restored the database of \(data.path)")
        say(reapplied)
        if let former { Terminal.say("the former database is \(former)") }
      }
      say(keys)
    }

    /// The refresh keys after a restore.
    private typealias Keys = (known: [String], losses: [String])

    private func refreshKeys(of store: AdminStore) async throws(CommandError) -> Keys {
      (
        store.keys.master.keys.keys.sorted().map(\.rawValue),
        try await RefreshKeyRing(store: store).losses(now: .current)
      )
    }

    private func say(_ keys: Keys) {
      for loss in keys.losses { Terminal.say("warning: \(loss)") }
    }

    /// Says what was taken away again, and whose passwords are gone.
    private func say(_ reapplied: Reapplied) {
      Terminal.say("ended \(reapplied.sessions) session(s) again")
      if reapplied.isIncomplete {
        Terminal.say(
          "warning: ends.log lacked entries that the backup's own has, so it was emptied or replaced, and what was taken away after it"
            + " may be back; to end all sessions: handstamp-server admin sessions end --everyone")
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
      let code = ": its owner sets one with a mailed code"
      if lost.hasConfirmedAddress { return code }
      let way = "handstamp-server admin accounts take-back \(lost.account) --email OWNER"
      if lost.hasAddress { return code + ", if the address is theirs, which was never confirmed; otherwise: \(way)" }
      return ", without an address: \(way)"
    }

    private func endAgain(_ data: AdminFolder) async throws(CommandError) {
      guard folder == nil else {
        throw CommandError(
          .usage, "a PostgreSQL database is restored with PostgreSQL's own tools",
          hint: "restore it, then run this command without a folder")
      }
      let hasLog = PrivateFile.exists(data.path + "/ends.log")
      let (reapplied, keys) = try await data.open { store throws(CommandError) in
        try await store.audit(.restored)
        return (store.store.reapplied, try await refreshKeys(of: store))
      }
      if output.json { return Terminal.out(json: answer("postgresql", reapplied, keys: keys)) }
      say(reapplied)
      say(keys)
      Terminal.say("that is what this node knew of; run it with the data folder of each other node")
      guard !hasLog else { return }
      Terminal.say(
        "this folder had no ends.log: sessions that a node with it has ended are live again, and what it took away is back; to end"
          + " all sessions: handstamp-server admin sessions end --everyone")
    }
  }

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "check database, keys and log",
      discussion: "changes nothing; exits 1 if it finds a problem")

    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    private struct Finding {
      var isGood: Bool
      var text: String

      static func good(_ text: String) -> Finding { Finding(isGood: true, text: text) }
      static func bad(_ text: String) -> Finding { Finding(isGood: false, text: text) }
    }

    func run() async throws {
      let folder = try options.folder()
      let findings = try await folder.open { store throws(CommandError) in try await inspect(store, in: folder) }
      let problems = findings.filter { !$0.isGood }
      if output.json {
        let objects = findings.objects([Column("ok", \.isGood), Column("text", \.text)])
        Terminal.out(json: ["ok": problems.isEmpty, "findings": objects])
      } else {
        Table(rows: findings.map { [$0.isGood ? "ok" : "problem", $0.text] }).write()
      }
      guard problems.isEmpty else {
        throw CommandError(
          .failure, "\(problems.count) problem(s) found", hint: "for a damaged database, restore a backup")
      }
    }

    private func inspect(_ store: AdminStore, in folder: AdminFolder) async throws(CommandError) -> [Finding] {
      let (inspection, counts): (StoreInspection, RegistryCounts)
      do throws(RegistryStoreError) {
        (inspection, counts) = (try await store.store.inspect(), try await store.store.counts())
      } catch { throw CommandError(error) }
      var findings = inspection.faults.map { Finding.bad("database: \($0.onOneLine)") }
      if findings.isEmpty { findings.append(.good("the database is intact, \(inspection.size) bytes")) }
      findings.append(.good("its tables have \(inspection.migrations.last ?? "no format")"))
      let keys = store.keys.master.keys.keys.sorted().map(\.rawValue).joined(separator: ", ")
      findings.append(.good("the keys belong to it: \(keys)"))
      findings += try await RefreshKeyRing(store: store).losses(now: .current).map { .bad($0) }
      let unreadable = store.store.unreadableEnds
      findings.append(
        unreadable == 0 ? .good("ends.log is readable") : .bad("\(unreadable) unreadable line(s) in ends.log"))
      do throws(CommandError) {
        let ids = try SigningKeyRing.locked(in: folder.path) { $0.keys.ids }
        findings.append(.good("\(ids.count) signing key(s)"))
      } catch { findings.append(.bad(error.message)) }
      findings.append(.good("\(counts.accounts) account(s), \(counts.liveSessions) live session(s)"))
      return findings
    }
  }
}
#endif
