public import Foundation
public import HandstampCore
import HandstampSupport
import HandstampVaults

extension Accounts {
  /// Manages the accounts of the program `name`, such as `org.example.forum`, at one backend. List, vaults and folders are in
  /// the platform's standard places. A sign-out removes those folders of the account that its plan includes: the
  /// database that `StorePlace` of `HandstampData` names, the downloads (`AccountID.downloadsFolder(of:)`) and the images.
  ///
  /// - Parameters:
  ///   - audits: whether each account has an audit log, see ``FileAuditLog``. With a vault of your own, the logs lie
  ///     where the platform's vaults do, and their key beside them, in `audit.key`.
  ///   - presence: one lock for all accounts; `nil` if none.
  ///   - formerly: where an earlier version of the program kept its one session, such as `[.vault(.keychain(name))]`: it becomes an
  ///     account of the list, and moves when that account's session is first used. A list of accounts does not move:
  ///     ``FormerPlace/accounts(of:vault:)`` has no effect here. Default: none.
  ///   - vault: creates an account's vault, such as `.keychain(name, account: $0)`; `nil` uses the platform's vault.
  public convenience init(
    _ name: String, backend: Server, baseURL: URL, vault: ((AccountID) -> any Vault)? = nil,
    transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), formerly: [FormerPlace] = [], audits: Bool = false,
    presence: PresenceLock? = nil,
    cleanups: @escaping (AccountID) -> [CleanupStep] = { _ in [] },
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    let adopted = Locked<[AccountID: [FormerPlace]]>([:])
    self.init(
      index: .platform(name), observesChanges: true, formerly: formerly, abilities: backend.abilities,
      adopted: adopted
    ) { account in
      let vault = vault?(account) ?? PlatformVault.platform(name, account: account)
      return SessionManager(
        backend: backend, vault: vault,
        formerly: formerly.filter { $0.serverName != nil } + adopted.withLock { $0[account, default: []] },
        baseURL: baseURL,
        transport: transport, policy: policy,
        audit: audits ? FileAuditLog.log(of: vault, account, program: name) : nil, presence: presence,
        cleanups: cleanups(account) + (AccountFolder(of: account, program: name).map { .removals(in: $0) } ?? []),
        load: load)
    }
  }
}

extension FileAuditLog {
  fileprivate static func log(of vault: any Vault, _ account: AccountID, program: String) -> FileAuditLog {
    if let known = vault as? any AuditableVault { return FileAuditLog(vault, in: known.auditPlace) }
    let folder = ProgramFolder(program)?.vaults ?? ""
    // Not the key of the platform's vaults: there may be none.
    return FileAuditLog(vault, in: AuditPlace(folder: folder, account: account, key: .file(folder + "/audit.key")))
  }
}
