#if SQLite
/// Why a server's folder cannot be opened. Nothing was changed or deleted; the server must not start.
public enum RegistryOpenError: Error, Sendable, Hashable {
  /// There is a database, but its key file is gone. With new keys everybody would be signed out.
  case keyFileMissing(path: String)
  /// There is a key file that was in use, but its database is gone.
  case databaseMissing(path: String)
  /// The keys were in use, and the database has nothing in it: it was emptied, made anew, or copied without its `-wal` file.
  case databaseEmpty(path: String)
  /// The log of ends is another server's, or none.
  case endLogForeign(path: String)
  /// The key file is no key file, or a newer version wrote it.
  case keyFileInvalid(path: String, String)
  /// Others than its owner can read or write the key file.
  case keyFileOpenToOthers(path: String)
  /// The keys are not those that the database was used with.
  case wrongKeys(path: String, String)
  /// A newer version wrote the database.
  case newerFormat(path: String)
  /// The file is no database, or a damaged one.
  case corrupt(path: String)
  /// The folder or a file cannot be read or written now; the text says why.
  case unavailable(String)

  /// What the operator can do.
  public var hint: String {
    switch self {
    case .keyFileMissing(let path): "put the key file back to \(path), from the back-up that belongs to the database"
    case .databaseMissing(let path): "put the database back to \(path), or take the key file away to start anew"
    case .databaseEmpty(let path):
      "put the database back to \(path), with the file \(path)-wal if the back-up has one, or move database and key file away to start anew"
    case .endLogForeign(let path):
      "put this server's own log back to \(path), or move it away: sessions that ended after the last back-up then count as living"
    case .keyFileInvalid(let path, _): "put the key file back to \(path), or start the version that wrote it"
    case .keyFileOpenToOthers(let path): "run: chmod 600 \(path)"
    case .wrongKeys: "bring key file and database of one server together"
    case .newerFormat: "start the version that wrote it"
    case .corrupt(let path): "put a back-up of the database to \(path)"
    case .unavailable: "see to the folder's disk, owner and mode"
    }
  }
}

extension RegistryOpenError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .keyFileMissing(let path): "the key file \(path) is missing"
    case .databaseMissing(let path): "the database \(path) is missing"
    case .databaseEmpty(let path): "the database \(path) is empty, and its keys were in use"
    case .endLogForeign(let path): "\(path) is not this server's log of ended sessions"
    case .keyFileInvalid(let path, let why): "the key file \(path) cannot be used: \(why)"
    case .keyFileOpenToOthers(let path): "others can read the key file \(path)"
    case .wrongKeys(let path, let why): "the keys are not those of the database \(path): \(why)"
    case .newerFormat(let path): "a newer version wrote the database \(path)"
    case .corrupt(let path): "\(path) is no database, or damaged"
    case .unavailable(let why): why
    }
  }
}
#endif
