#if Command
import ArgumentParser
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite

/// `handstamp admin database`.
struct AdminDatabase: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "database", abstract: "back up, restore and check the server's data",
    subcommands: [Backup.self, Restore.self, Check.self])

  struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "backup", abstract: "write a consistent copy of the data folder, while the server runs",
      discussion: "the copy has the keys of every session: keep it as secret as the folder itself")

    @Argument(help: "folder for the copy, which must not exist yet or be empty") var folder: String
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      var folder: String
      var files: [String]
    }

    func run() async throws {
      let data = try options.folder()
      let files = try await data.open { store, _ throws(Refusal) in
        let files: [String]
        guard let file = store.store as? SQLiteRegistryStore else {
          throw Refusal(
            .usage, "the sessions are in PostgreSQL",
            hint: "back up the database with pg_basebackup or pg_dump, and the files of \(data.path) besides")
        }
        do throws(BackupError) { files = try await data.files.backUp(file, to: folder) } catch {
          throw Refusal(error)
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
        to an empty or missing data folder: everything; sessions that ended since the backup are live again
        to a server's data folder: only the database, and sessions that ended since the backup are ended again; keys, ends.log
        and clock stay, and the former database is kept beside it
        with --database: after PostgreSQL itself was restored to an earlier time, ends again what the node of this data folder has
        ended since; run it with the folder of each node before any server starts
        """)

    @Argument(help: "folder with the backup; for PostgreSQL none") var folder: String?
    @OptionGroup var options: AdminOptions
    @OptionGroup var output: OutputOptions

    struct Answer: Document {
      var schemaVersion = 1
      /// `everything`, `database` or `postgresql`.
      var restored: String
      var endedAgain: Int?
      /// The path of the former database.
      var former: String?
    }

    func run() async throws {
      let data = try options.folder()
      if case .postgres = data.database { return try await endAgain(data) }
      guard let folder else {
        throw Refusal(
          .usage, "missing folder with the backup", hint: "name the folder that admin database backup has written")
      }
      let result: RestoredBackup
      do throws(BackupError) { result = try data.files.restore(from: folder, keys: data.keys) } catch {
        throw Refusal(error)
      }
      data.giveFilesToOwner()
      try await data.open { store, _ throws(Refusal) in try await store.audit(.restored) }
      var answer = Answer(restored: "everything")
      if case .database(let endedAgain, let former) = result {
        answer = Answer(restored: "database", endedAgain: endedAgain, former: former)
      }
      if output.json { return answer.writeLine() }
      switch result {
      case .everything:
        Terminal.say("restored everything to \(data.path)")
        Terminal.say(
          "sessions that ended since the backup are live again; to end all: handstamp admin sessions end --everyone")
      case .database(let endedAgain, let former):
        Terminal.say("restored the database of \(data.path), ended \(endedAgain) session(s) again")
        if let former { Terminal.say("the former database is \(former)") }
      }
    }

    private func endAgain(_ data: AdminFolder) async throws(Refusal) {
      guard folder == nil else {
        throw Refusal(
          .usage, "a PostgreSQL database is restored with PostgreSQL's own tools",
          hint: "restore it, then run this command without a folder")
      }
      let hasLog = PrivateFile.exists(data.path + "/ends.log")
      let count = try await data.open { store, _ throws(Refusal) in
        try await store.audit(.restored)
        return store.store.endedAgain
      }
      if output.json { return Answer(restored: "postgresql", endedAgain: count).writeLine() }
      Terminal.say(
        "ended \(count) session(s) again that this node had ended; run it with the data folder of each other node")
      guard !hasLog else { return }
      Terminal.say(
        "this folder had no ends.log: sessions that a node with it has ended are live again; to end all: handstamp admin"
          + " sessions end --everyone")
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
      var schemaVersion = 1
      var ok: Bool
      var findings: [Item]
    }

    func run() async throws {
      let folder = try options.folder()
      let items = try await folder.open { store, _ throws(Refusal) in try await findings(store, in: folder) }
      let problems = items.filter { !$0.ok }
      if output.json {
        Answer(ok: problems.isEmpty, findings: items).writeLine()
      } else {
        for line in Table(rows: items.map { [$0.ok ? "ok" : "problem", $0.text] }).lines { Terminal.out(line) }
      }
      guard problems.isEmpty else {
        throw Refusal(
          .failure, "\(problems.count) problem(s) found", hint: "for a damaged database, restore a backup")
      }
    }

    private func findings(_ store: AdminStore, in folder: AdminFolder) async throws(Refusal) -> [Answer.Item] {
      let (inspection, counts): (StoreInspection, RegistryCounts)
      do throws(RegistryStoreError) {
        (inspection, counts) = (try await store.store.inspect(), try await store.store.counts())
      } catch { throw Refusal(error) }
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
            ? "the log of ended sessions is readable" : "\(unreadable) unreadable line(s) in ends.log"))
      do throws(Refusal) {
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
  fileprivate func audit(_ kind: AuditedAction.Kind) async throws(Refusal) {
    do throws(AdministrationError) { try await administration().audit(kind) } catch { throw Refusal(error) }
  }
}

extension Refusal {
  fileprivate init(_ error: BackupError) {
    if case .folder(let error) = error {
      self.init(error)
    } else {
      self.init(.failure, plain("\(error)"), hint: error.hint.replacing("`", with: ""))
    }
  }
}
#endif
