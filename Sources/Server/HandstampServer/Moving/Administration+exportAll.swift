#if Server
import HandstampCore
import HandstampRegistry

extension Administration {
  /// Passes all accounts to `write`, as lines of ``ImportFormat/handstamp``: IDs, addresses, names, groups, passkeys, identities, and
  /// whether they are disabled. An import of them into an empty server gives the same accounts; with secrets, people sign in there as
  /// they do here.
  ///
  /// Deleted accounts and guests are left out: there is no way to sign in to them elsewhere. The audit log gets the export.
  ///
  /// - Parameters:
  ///   - withSecrets: whether hashes of passwords are included, by which passwords can be guessed, secrets of authenticator apps, and
  ///     hashes of recovery codes.
  ///   - write: gets some hundred lines at a time.
  /// - Returns: how many accounts there were, and how many guests were left out.
  public func exportAccounts(
    withSecrets: Bool = false, _ write: ([UInt8]) throws -> Void
  ) async throws -> (accounts: Int, guests: Int) {
    var (count, guests, last) = (0, 0, AccountID?.none)
    // First, so that there is none that the log does not have.
    try await audit(.accountExported, details: #"{"accounts":"all","secrets":\#(withSecrets)}"#)
    while case let page = try await accounts(after: last, limit: Administration.mostRows), let end = page.last {
      var lines: [UInt8] = []
      for account in page where account.state != .deleted {
        guard !account.isGuest else {
          guests += 1
          continue
        }
        lines += try await ask(try await moving(account, withSecrets: withSecrets)).line
        count += 1
      }
      try write(lines)
      last = end.id
    }
    return (count, guests)
  }

  private func moving(_ record: AccountRecord, withSecrets: Bool) async throws(RegistryError) -> ArrivingAccount {
    var account = ArrivingAccount(
      record, keepsID: true, passkeys: try await registry.passkeys(of: record.id),
      groups: try await registry.groups(of: record.id), identities: try await registry.identities(of: record))
    if withSecrets {
      account.totp = try await registry.movingTOTP(of: record.id)
      account.recoveryCodes = try await registry.recoveryCodeHashes(of: record.id)
    } else {
      account.record.passwordHash = nil
    }
    return account
  }
}
#endif
