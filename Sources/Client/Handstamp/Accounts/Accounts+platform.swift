public import Foundation
public import HandstampCore
import HandstampSupport
public import Logging

extension Accounts {
  /// Manages accounts at Handstamp's own server at `url`.
  ///
  /// ```swift
  /// let accounts = Accounts(server: url) { api in try await api.get("/v1/me", as: Me.self) }
  /// ```
  ///
  /// The list, vaults and folders are in the platform's standard places of the program `name`, as
  /// ``init(backend:name:vault:earlier:baseURL:transport:policy:audit:presence:cleanups:logger:apiOptions:load:)`` says. The one
  /// session of ``SessionManager/init(server:name:vault:earlier:transport:policy:audit:presence:cleanups:logger:apiOptions:load:)`` with
  /// the same `name` and no `vault` becomes an account of the list.
  ///
  /// - Parameters:
  ///   - url: the server's URL: `https`. Over `http`, passwords and tokens can be read in transit: only for tests.
  ///   - name: the program's name. Default: the bundle identifier, otherwise the name of the executable.
  ///   - vault: creates an account's vault; `nil` (the default) for the platform's usual one: the keychain on Apple platforms, an
  ///     encrypted file elsewhere.
  ///   - earlier: other places of one session of an earlier version, and other URLs of the server. Default: none.
  ///   - transport: sends the requests of the backend and of each ``SessionManager/api``.
  ///   - audit: creates an account's audit log, such as `.standard(account: $0)`; `nil` (the default) for none.
  ///   - load: loads an account's content, as for a ``SessionManager``; `{ _ in }` loads nothing.
  public convenience init(
    server url: URL, name: String = ServerBackend.programName, vault: ((AccountID) -> any Vault)? = nil,
    earlier: [EarlierPlace] = [], transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), audit: ((AccountID) -> any AuditLog)? = nil, presence: PresenceLock? = nil,
    cleanups: @escaping (AccountID) -> [CleanupStep] = { _ in [] }, logger: Logger? = nil,
    apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    self.init(
      backend: ServerBackend(url, program: name, transport: transport), name: name, vault: vault,
      earlier: earlier, baseURL: url, transport: transport, policy: policy, audit: audit,
      presence: presence, cleanups: cleanups, logger: logger, apiOptions: apiOptions, load: load)
  }

  /// Manages accounts at one backend. List, vaults and folders are in the platform's standard places of the program `name`, such as
  /// `org.example.forum`. A sign-out removes those folders of the account that its plan includes: the database that `StorePlace` of
  /// `HandstampData` names, the downloads (`AccountID.downloadsFolder(of:)`) and the images.
  ///
  /// - Parameters:
  ///   - backend: the server that issues the tokens. It sends its requests over a transport of its own.
  ///   - name: the program's name. Default: the bundle identifier, otherwise the name of the executable.
  ///   - vault: creates an account's vault, such as `.keychain(name, account: $0, inBackground: true)`; `nil` (the default) for the
  ///     platform's usual one, `.standard(name, account: $0)`.
  ///   - earlier: where an earlier version of the program kept its one session, and other URLs of the server. The session becomes an
  ///     account of the list, and moves when that account's session is first used. `.vault(.standard(name))` is always one of the
  ///     places. A list of accounts does not move: ``EarlierPlace/accounts(of:vault:)`` has no effect here. Default: none.
  ///   - baseURL: the URL of the app's API, for each ``SessionManager/api``.
  ///   - transport: sends the requests of each ``SessionManager/api``, not those of `backend`. Default: `URLSession`.
  ///   - policy: when to refresh, how to retry, when a session ends on its own.
  ///   - audit: creates an account's audit log, such as `.standard(name, account: $0)`, which is beside the platform's usual vault; with a
  ///     vault of your own, the log of that vault, see ``FileAuditLog``. `nil` (the default) for none.
  ///   - presence: one lock for all accounts; `nil` (the default) if none.
  ///   - cleanups: the steps that erase an account's data when its session ends, beside those that every session has, see
  ///     ``SignOutPlan``.
  ///   - logger: gets one line for every decision of a session; `nil` (the default) for none. No line contains a secret.
  ///   - apiOptions: coders, headers and retries of each ``SessionManager/api``.
  ///   - load: loads an account's content, as for a ``SessionManager``; `{ _ in }` loads nothing.
  public convenience init(
    backend: any Backend, name: String = ServerBackend.programName, vault: ((AccountID) -> any Vault)? = nil,
    earlier: [EarlierPlace] = [], baseURL: URL, transport: any Transport = URLSessionTransport(),
    policy: SessionPolicy = SessionPolicy(), audit: ((AccountID) -> any AuditLog)? = nil, presence: PresenceLock? = nil,
    cleanups: @escaping (AccountID) -> [CleanupStep] = { _ in [] }, logger: Logger? = nil,
    apiOptions: APIClient.Options = APIClient.Options(),
    load: @escaping @Sendable (APIClient) async throws -> Content
  ) {
    let adopted = Locked<[AccountID: [EarlierPlace]]>([:])
    self.init(
      store: .platform(name), observesChanges: true, earlier: [.vault(.standard(name))] + earlier, backend: backend,
      adopted: adopted
    ) { account in
      // An account of this ID has the place of the one session, unless it has a vault of its own: nothing moves.
      let isInPlace = vault == nil && account == AccountID("default")
      let vault = vault?(account) ?? .standard(name, account: account)
      return SessionManager(
        backend: backend, vault: vault,
        earlier: earlier.filter { $0.serverName != nil }
          + (isInPlace ? [] : adopted.withLock { $0[account, default: []] }),
        baseURL: baseURL, transport: transport, policy: policy, clock: SystemClock(),
        audit: audit?(account), presence: presence, clearing: { _ in account },
        cleanups: cleanups(account) + (AccountFolder(of: account, program: name).map { .removals(in: $0) } ?? []),
        logger: logger, apiOptions: apiOptions, load: load)
    }
  }
}

extension AuditLog where Self == FileAuditLog {
  /// The audit log beside the vault `.standard(name, account: account)`, which a session has unless it is given another one.
  ///
  /// ```swift
  /// let session = SessionManager(server: url, audit: .standard())
  /// ```
  /// - Parameters:
  ///   - name: the program's name. Default: the bundle identifier, otherwise the name of the executable.
  ///   - account: one of the program's accounts. A program with one account at a time does not need to name it.
  public static func standard(
    _ name: String = ServerBackend.programName, account: AccountID = AccountID("default")
  ) -> FileAuditLog {
    FileAuditLog(.standard(name, account: account))
  }
}
