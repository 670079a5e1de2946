#if Server
import Foundation
public import HandstampCore
public import HandstampRegistry
import HandstampSupport

/// An operator's work with a server's accounts and sessions: the one implementation behind `handstamp-server admin` and the HTTP API.
///
/// Every change is in the audit log, in the same write. Changes are durable when a call returns.
public struct Administration: Sendable {
  /// The most rows that a list returns at once.
  public static let mostRows = 1000
  /// Lifetime of the code for an account that an administrator creates without a password.
  public static let invitation = Duration.seconds(24 * 3600)

  let registry: Registry
  let passwords: PasswordPool
  let policy: PasswordPolicy
  let hasDirectory: Bool
  let hasMailer: Bool
  let sendsWebhooks: Bool
  /// The template for links.
  let link: String?
  /// The IDs of those configured clients that have no users: they are the subjects of their tokens.
  let configuredMachines: Set<String>
  let now: @Sendable () -> UnixTime
  /// Wakes the event streams of this process. Those of others read the store.
  let announce: @Sendable (AccountID, [SessionRow]) -> Void
  /// Whether a client is configured, or need not be.
  private let knows: @Sendable (_ client: String) -> Bool

  init(
    _ registry: Registry, configuration: ServerConfiguration, passwords: PasswordPool, hasDirectory: Bool,
    hasMailer: Bool = true, sendsWebhooks: Bool, now: @escaping @Sendable () -> UnixTime,
    announce: @escaping @Sendable (AccountID, [SessionRow]) -> Void,
    knows: @escaping @Sendable (_ client: String) -> Bool
  ) {
    self.registry = registry
    self.passwords = passwords
    policy = configuration.policyOfPasswords
    (self.hasDirectory, self.hasMailer, self.sendsWebhooks) = (hasDirectory, hasMailer, sendsWebhooks)
    link = configuration.mail.link
    configuredMachines = Set(configuration.clients.filter { $0.flows.contains(where: \.isForMachines) }.map(\.id))
    self.now = now
    self.announce = announce
    self.knows = knows
  }

  /// Administers a store without its server, which may be running: it notices the changes. Times are those of the machine's clock.
  ///
  /// - Parameters:
  ///   - actor: who is named in the audit log.
  ///   - configuration: the server's, as far as it is known: passwords, their policy, links, and clients.
  public init(
    _ registry: Registry, by actor: AuditActor, configuration: ServerConfiguration = ServerConfiguration()
  ) {
    self.init(
      registry.acting(as: actor), configuration: configuration,
      passwords: PasswordPool(parameters: configuration.passwords.hashing), hasDirectory: false,
      sendsWebhooks: BuildPart.webhooks.isHere, now: configuration.now, announce: { _, _ in },
      // Without an entry, nothing is known of the clients; some describe or register themselves.
      knows: { [clients = configuration.clients] id in
        clients.isEmpty || ClientURL(id) != nil || RegisteredClient.isID(id) || clients.contains { $0.id == id }
      })
  }

  /// Whether a session's client is configured no more: its tokens are refused until it is again.
  package func lacksClient(_ row: SessionRow) -> Bool { row.client.map { !knows($0.id) } ?? false }

  /// Counts accounts, sessions and the other rows. It may take long on a large store.
  public func counts() async throws(AdministrationError) -> RegistryCounts {
    try await ask(try await registry.counts())
  }

  /// Returns at most `limit` entries of the audit log after the one with that ID, in order.
  ///
  /// - Parameters:
  ///   - account: returns only those about this account; `nil` returns all.
  ///   - pseudonym: returns only those that name this address, see ``pseudonym(of:)``.
  ///   - since: returns none from before that time.
  public func auditedActions(
    after id: Int64 = 0, about account: AccountID? = nil, naming pseudonym: String? = nil, since: UnixTime? = nil,
    limit: Int = 100
  ) async throws(AdministrationError) -> [StoredAuditedAction] {
    let limit = Administration.clamped(limit)
    var (found, last) = ([StoredAuditedAction](), id)
    let step = since == nil && pseudonym == nil ? limit : Administration.mostRows
    repeat {
      let after = last
      let page = try await ask(try await registry.auditedActions(after: after, about: account, limit: step))
      found += page.filter { entry in
        (since.map { entry.audited.at >= $0 } ?? true) && (pseudonym.map(entry.audited.details.contains) ?? true)
      }
      guard page.count == step, let end = page.last else { break }
      last = end.id
    } while found.count < limit
    return Array(found.prefix(limit))
  }

  /// Returns the name that the log and the audit log have for an address, as `email_hash`: only this server's current refresh key can
  /// connect the two.
  public func pseudonym(of email: String) throws(AdministrationError) -> String {
    guard let email = EmailAddress(composed: email) else { throw .invalidEmail }
    return registry.mint.mac(of: email.normalized, for: .logName)
  }

  /// Appends to the audit log an action that is not in the store, such as a backup.
  public func audit(_ kind: AuditedAction.Kind, details: String = "{}") async throws(AdministrationError) {
    try await ask(try await registry.audit(kind, details: details, now: now()))
  }

  static func clamped(_ limit: Int) -> Int { min(max(limit, 1), mostRows) }

  func ask<Value: Sendable>(
    _ value: @autoclosure () async throws(RegistryError) -> Value
  ) async throws(AdministrationError) -> Value {
    do throws(RegistryError) { return try await value() } catch { throw AdministrationError(error) }
  }

  /// Changes an account as `body` says, again if the account changes meanwhile.
  func changing<Value: Sendable>(
    _ id: AccountID, _ body: (AccountRecord) async throws(AdministrationError) -> Value
  ) async throws(AdministrationError) -> Value {
    for _ in 0..<Registry.attempts {
      let record = try await account(id)
      guard record.state != .deleted else { throw .accountDeleted }
      do throws(AdministrationError) { return try await body(record) } catch {
        guard error == .registry(.accountChanged) else { throw error }
      }
    }
    throw .registry(Registry.contention)
  }
}

extension UnixTime {
  /// Parses a date, or a date and a time with its zone (RFC 3339); a date alone is its first instant in UTC.
  package init?(date text: String) {
    guard let date = try? Date(text.contains("T") ? text : text + "T00:00:00Z", strategy: .iso8601) else { return nil }
    self.init(seconds: Int64(date.timeIntervalSince1970))
  }
}

extension AdministrationError {
  init(_ error: RegistryError) {
    self = error == .emailTaken ? .emailTaken : .registry(error)
  }
}
#endif
