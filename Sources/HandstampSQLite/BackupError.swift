#if SQLite
public import HandstampStorage

/// A reason for which a backup was not made or not restored. Nothing was changed, unless the text says so.
public enum BackupError: Error, Sendable, Hashable {
  /// The folder for the backup has something in it.
  case notEmpty(path: String)
  /// The folder is not a usable backup. The text says why.
  case notABackup(path: String, String)
  /// The backup is of another server than the folder that it would be restored to.
  case otherServer(path: String)
  /// A server, or another program, has the database open.
  case inUse(path: String)
  case folder(RegistryOpenError)

  /// Advice for the operator.
  public var hint: String {
    switch self {
    case .notEmpty: "name a folder that does not exist yet"
    case .notABackup: "name a folder that `handstamp admin database backup` has written"
    case .otherServer: "restore it to an empty folder, or to that of the same server"
    case .inUse: "stop the server, then run the command again"
    case .folder(let error): error.hint
    }
  }
}

extension BackupError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notEmpty(let path): "\(path) is not empty"
    case .notABackup(let path, let why): "\(path) is not a usable backup: \(why)"
    case .otherServer(let path): "\(path) is a backup of another server"
    case .inUse(let path): "\(path) is in use"
    case .folder(let error): "\(error)"
    }
  }
}
#endif
