public import HandstampCore
import HandstampSupport

/// The default vault of the platform.
public typealias PlatformVault = SealedFileVault

extension Vault where Self == PlatformVault {
  /// The vault of the program `name`, such as `org.example.forum`, for one of its accounts. A program with one account
  /// at a time does not need to name it.
  ///
  /// | system | folder |
  /// |---|---|
  /// | Linux | `$XDG_STATE_HOME/<name>/vault`; `~/.local/state/<name>/vault` if unset |
  /// | Apple | `Application Support/<name>/vault`; apps should prefer ``KeychainVault`` |
  /// | tvOS | `Caches/<name>/vault`, which the system may empty: use ``KeychainVault`` |
  ///
  /// If the folder cannot be determined, every use is ``VaultError/unavailable(_:)``.
  public static func platform(_ name: String, account: AccountID = AccountID("default")) -> PlatformVault {
    SealedFileVault(folder: ProgramFolder(name)?.vaults ?? "", account: account)
  }
}

extension AccountsIndex where Self == FileAccountsIndex {
  /// The list of accounts of the program `name`, beside its vaults.
  package static func platform(_ name: String) -> FileAccountsIndex {
    FileAccountsIndex(folder: ProgramFolder(name)?.vaults ?? "")
  }
}
