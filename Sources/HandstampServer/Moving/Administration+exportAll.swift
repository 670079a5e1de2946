#if Server
import HandstampCore
import HandstampRegistry

extension Administration {
  /// Passes all accounts to `write`, as lines of ``ImportFormat/handstamp``: IDs, addresses, names, groups, passkeys, identities, and
  /// whether they are disabled. An import of them into an empty server gives the same accounts.
  ///
  /// Deleted accounts and guests are left out: there is no way to sign in to them elsewhere. The audit log gets the export.
  ///
  /// - Parameters:
  ///   - withPasswordHashes: with them, passwords can be guessed.
  ///   - write: gets some hundred lines at a time.
  /// - Returns: how many accounts there were, and how many guests were left out.
  public func exportAccounts(
    withPasswordHashes: Bool = false, _ write: ([UInt8]) throws -> Void
  ) async throws -> (accounts: Int, guests: Int) {
    var (count, guests, last) = (0, 0, AccountID?.none)
    // First, so that there is none that the log does not have.
    try await audit(.accountExported, details: #"{"accounts":"all","password_hashes":\#(withPasswordHashes)}"#)
    while case let page = try await accounts(after: last, limit: Administration.mostRows), let end = page.last {
      var lines: [UInt8] = []
      for account in page where account.state != .deleted {
        guard !account.isGuest else {
          guests += 1
          continue
        }
        let (passkeys, groups) = try await asking { () throws(RegistryError) in
          (try await registry.passkeys(of: account.id), try await registry.groups(of: account.id))
        }
        lines += ImportedAccount(account, passkeys: passkeys, groups: groups, withHash: withPasswordHashes).line
        count += 1
      }
      try write(lines)
      last = end.id
    }
    return (count, guests)
  }
}
#endif
