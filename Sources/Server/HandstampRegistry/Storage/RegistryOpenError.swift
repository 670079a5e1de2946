/// A reason for which a server's folder or database cannot be opened, backed up, restored or copied. Nothing was changed or deleted,
/// unless the text says so; the server must not start.
public enum RegistryOpenError: Error, Sendable, Hashable {
  /// There is a database, but its key file is missing. With new keys, all users would be signed out.
  case keyFileMissing(path: String)
  /// There is a key file that was in use, but its database is missing.
  case databaseMissing(path: String)
  /// The keys were in use, but the database is empty: it was emptied, recreated, or copied without its `-wal` file.
  case databaseEmpty(path: String)
  /// The keys were in use, but the PostgreSQL database has no tables: its sessions are elsewhere.
  case tablesMissing(path: String)
  /// The log of ended sessions belongs to another server, or is not such a log.
  case endLogForeign(path: String)
  /// The key file is not valid, or another version wrote it.
  case keyFileInvalid(path: String, String)
  /// Users other than its owner can read or write the key file.
  case keyFileOpenToOthers(path: String)
  /// Every user of the machine can write to the folder or the file: anyone could replace what is in it.
  case writableByAnyone(path: String)
  /// The keys are not the ones that the database was used with.
  case wrongKeys(path: String, String)
  /// A version before format 1 wrote the database.
  case draftFormat(path: String)
  /// A newer version wrote the database.
  case newerFormat(path: String)
  /// An earlier version wrote the database, and its server may be running.
  case olderFormat(path: String)
  /// The file is damaged, or not a database.
  case corrupt(path: String)
  /// The folder for a backup has something in it.
  case backupNotEmpty(path: String)
  /// The folder is not a usable backup. The text says why.
  case notABackup(path: String, String)
  /// The backup is of another server than the folder that it would be restored to.
  case backupOfOtherServer(path: String)
  /// A server, or another program, has the database open.
  case inUse(path: String)
  /// A database cannot be used as it is. The text says why, the hint what to do.
  case refused(String, hint: String)
  /// The folder or a file cannot be read or written at the moment. The text says why.
  case unavailable(String)

  /// Advice for the operator.
  public var hint: String {
    switch self {
    case .keyFileMissing(let path): "restore the key file to \(path) from the backup that belongs to the database"
    case .databaseMissing(let path):
      "if the sessions are in PostgreSQL, name it with --database; else restore the database to \(path), or, to start without any"
        + " session, move the key file away"
    case .databaseEmpty(let path):
      "restore the database to \(path), with \(path)-wal if the backup has it, or move database and key file away to start over"
    case .tablesMissing(let path):
      "move the sessions there first: handstamp-server admin copy --from … --to \(path); or restore a backup of it"
    case .endLogForeign(let path):
      "restore this server's own log to \(path), or run the version that wrote it; or move it away: sessions that ended after the"
        + " last backup then count as live"
    case .keyFileInvalid(let path, _):
      "restore the key file to \(path); or if another version wrote it, run with that one: handstamp admin export"
        + " users.jsonl --with-secrets; start this one on an empty folder, and run: handstamp-server admin import"
        + " users.jsonl --from handstamp"
    case .keyFileOpenToOthers(let path): "run: chmod 600 \(path)"
    case .writableByAnyone(let path): "run: chmod o-w \(path)"
    case .wrongKeys: "use the key file and the database of the same server"
    case .draftFormat:
      "with the program that wrote it, run: handstamp admin export users.jsonl --with-secrets; start this one"
        + " on an empty folder or database, and run: handstamp-server admin import users.jsonl --from handstamp;"
        + " users sign in again"
    case .newerFormat: "run the version that wrote it"
    case .olderFormat: "start the server of this version once"
    case .corrupt(let path): "restore a backup of the database to \(path)"
    case .backupNotEmpty: "name a folder that does not exist yet"
    case .notABackup: "name a folder that handstamp-server admin database backup has written"
    case .backupOfOtherServer: "restore it to an empty folder, or to that of the same server"
    case .inUse: "stop the server, then run the command again"
    case .refused(_, let hint): hint
    case .unavailable: "check the folder's disk, owner and permissions"
    }
  }
}

extension RegistryOpenError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .keyFileMissing(let path): "the key file \(path) is missing"
    case .databaseMissing(let path): "the database \(path) is missing"
    case .databaseEmpty(let path): "the database \(path) is empty, and its keys were in use"
    case .tablesMissing(let path): "the database \(path) is empty, and the keys were in use"
    case .endLogForeign(let path): "\(path) is not this server's log of ended sessions"
    case .keyFileInvalid(let path, let why): "the key file \(path) is not valid: \(why)"
    case .keyFileOpenToOthers(let path): "others can read the key file \(path)"
    case .writableByAnyone(let path): "every user of this machine can write to \(path)"
    case .wrongKeys(let path, let why): "the keys do not belong to the database \(path): \(why)"
    case .draftFormat(let path): "a version before format 1 wrote the database \(path)"
    case .newerFormat(let path): "a newer version wrote the database \(path)"
    case .olderFormat(let path): "an earlier version wrote the database \(path)"
    case .corrupt(let path): "\(path) is damaged or not a database"
    case .backupNotEmpty(let path): "\(path) is not empty"
    case .notABackup(let path, let why): "\(path) is not a usable backup: \(why)"
    case .backupOfOtherServer(let path): "\(path) is a backup of another server"
    case .inUse(let path): "\(path) is in use"
    case .refused(let why, _): why
    case .unavailable(let why): why
    }
  }
}
