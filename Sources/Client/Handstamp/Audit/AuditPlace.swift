package import HandstampCore

/// Where an account's audit log lies, and the source of the key that authenticates it.
package struct AuditPlace: Sendable {
  let place: VaultFolder
  let files: VaultFiles
  let account: AccountID
  let key: VaultKey
  /// How long a write waits for other writers.
  let patience: Duration

  /// Creates nothing until the log is first used.
  ///
  /// - Parameters:
  ///   - folder: An absolute path. Created by the first record, accessible by its owner only, and excluded from backups.
  ///   - key: Created with the first record if there is none. Anyone who has it can rewrite the log unnoticed, so keep it as
  ///     well as the vault.
  package init(folder: String, account: AccountID, key: VaultKey) {
    self.init(in: VaultFolder(folder), account: account, key: key)
  }

  init(in place: VaultFolder, account: AccountID, key: VaultKey, patience: Duration = .seconds(10)) {
    self.place = place
    files = VaultFiles(account: account)
    self.account = account
    self.key = key
    self.patience = patience
  }
}

extension SealedFileVault {
  /// The log lies beside the vault, and its key is derived from the vault's.
  package var auditPlace: AuditPlace { AuditPlace(in: place, account: account, key: key, patience: patience) }
}

extension KeychainVault {
  /// The log lies in the folder of the locks, and its key in a keychain item of its own, one per service.
  var auditPlace: AuditPlace { fileVault.auditPlace }
}
