#if Data
public import HandstampCore

/// Why an account's database cannot be used. Texts name what failed, never what is in it.
@nonexhaustive
public enum StoreError: ErrorWithRecovery, Hashable {
  /// The system does not say where a program may keep its data.
  case noPlace
  /// The folder or the file cannot be made, opened or written now: the disk is full, or it is another's.
  case unusable(String)
  /// The store has been removed, with the account's sign-out: open another.
  case removed
  /// A statement is wrong, or breaks a constraint; the text is SQLite's own, without any values.
  case statement(String)

  public var recovery: Recovery {
    switch self {
    case .noPlace, .statement: .none
    case .unusable: .retry(after: nil)
    case .removed: .signIn
    }
  }
}
#endif
