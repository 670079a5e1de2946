#if Data
public import HandstampCore

/// The reason that an account's database cannot be used. Texts name the failure, never the contents.
@nonexhaustive
public enum StoreError: HandstampError, Hashable {
  /// The system does not reveal where a program may keep its data.
  case noPlace
  /// The folder or file cannot be created, opened or written now: the disk may be full, or access denied.
  case unusable(String)
  /// The store was removed by the account's sign-out; open a new one.
  case removed
  /// A statement is wrong or violates a constraint. The text is SQLite's own, without values.
  case statement(String)

  public var code: String {
    switch self {
    case .noPlace: "no_data_folder"
    case .unusable: "database_unavailable"
    case .removed: "database_removed"
    case .statement: "invalid_statement"
    }
  }

  public var recovery: Recovery? {
    switch self {
    case .noPlace, .statement: nil
    case .unusable: .retry(after: nil)
    case .removed: .signIn
    }
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .noPlace: "the system has no folder for the program's data"
    case .unusable(let text): "the database cannot be used: \(text)"
    case .removed: "the database was removed when the account signed out"
    case .statement(let text): "invalid statement: \(text)"
    }
  }
}
#endif
