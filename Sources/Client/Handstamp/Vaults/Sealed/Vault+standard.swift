public import HandstampCore
import HandstampSupport

extension Vault where Self == SealedFileVault {
  /// The encrypted file of the program `name`, such as `org.example.forum`, for one of its accounts. A program with one account
  /// at a time does not need to name it.
  ///
  /// | system | folder |
  /// |---|---|
  /// | Linux | `$XDG_STATE_HOME/<name>/vault`; `~/.local/state/<name>/vault` if unset |
  /// | Apple | `Application Support/<name>/vault`; apps should prefer ``KeychainVault`` |
  /// | tvOS | `Caches/<name>/vault`, which the system may empty: use ``KeychainVault`` |
  ///
  /// If the folder cannot be determined, every use is ``VaultError/unavailable(_:)``.
  public static func sealedFile(_ name: String, account: AccountID = AccountID("default")) -> SealedFileVault {
    SealedFileVault(folder: ProgramFolder(name)?.vaults ?? "", account: account)
  }
}

#if canImport(Security)
extension Vault where Self == KeychainVault {
  /// The platform's usual vault of the program `name`, which a session has unless it is given another one: the keychain on Apple
  /// platforms, an encrypted file elsewhere.
  public static func standard(_ name: String, account: AccountID = AccountID("default")) -> KeychainVault {
    .keychain(name, account: account)
  }
}
#else
extension Vault where Self == SealedFileVault {
  /// The platform's usual vault of the program `name`, which a session has unless it is given another one: the keychain on Apple
  /// platforms, an encrypted file elsewhere.
  public static func standard(_ name: String, account: AccountID = AccountID("default")) -> SealedFileVault {
    .sealedFile(name, account: account)
  }
}
#endif

extension AccountsStore where Self == FileAccountsStore {
  /// The list of accounts of the program `name`, beside its vaults.
  package static func platform(_ name: String) -> FileAccountsStore {
    FileAccountsStore(folder: ProgramFolder(name)?.vaults ?? "")
  }
}
