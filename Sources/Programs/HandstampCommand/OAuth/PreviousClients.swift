#if Command
import Crypto
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// How an account signed in before it did by another client, or by another protocol: a server ends a session only for the client
/// that it belongs to (RFC 7009 section 2.1), so the revocations that were pending then, and that of the session that was
/// replaced, need it. Only the secret of a confidential client is secret; it is sealed beside the vault.
struct PreviousClient: Sendable, Hashable, Codable {
  /// `nil` for Handstamp's own protocol.
  var record: OAuthRecord?
  var sessions: [SessionID]
}

extension Home {
  /// The most previous clients that are kept; the oldest are dropped first.
  private static let previousLimit = 8

  private func previousPath(of account: AccountID) -> String {
    file(in: "oauth", for: account.rawValue, ending: "previous")
  }

  func secretFile(of client: String, _ account: AccountID) -> SealedFile {
    let digest = Hexadecimal.text(SHA256.hash(data: Array(client.utf8)).prefix(8))
    return SealedFile(beside: vault(of: account), account: account, purpose: "client-\(digest)", limit: 64 << 10)
  }

  /// The previous clients, oldest first. A file that cannot be read only makes revocations fail.
  func previousClients(of account: AccountID) -> [PreviousClient] {
    PlainFile.value(at: previousPath(of: account)) ?? []
  }

  /// Changes how an account signs in: the sessions that its vault knows by now belong to the previous client. The secret is saved
  /// before the record, which is useless without it, and removed after it.
  func change(to record: OAuthRecord?, _ secret: Secret?, of account: AccountID) async throws(CommandError) {
    let previous = try oauth(of: account)
    if !OAuthRecord.isSameClient(previous, record) { try await keep(previous, of: account) }
    if record != nil, let secret { try await clientSecretFile(of: account).keep(secret) }
    try save(record, of: account)
    if secret == nil { try clientSecretFile(of: account).forget() }
  }

  private func keep(_ record: OAuthRecord?, of account: AccountID) async throws(CommandError) {
    guard case .value(let entry) = await vault(of: account).read() else { return }
    var clients = previousClients(of: account)
    let known = Set(clients.flatMap(\.sessions))
    let pending = entry.unrevoked.map(\.session) + [entry.session?.id].compactMap { $0 }
    let sessions = pending.filter { !known.contains($0) }
    guard !sessions.isEmpty else { return }
    clients = (clients + [PreviousClient(record: record, sessions: sessions)]).suffix(Home.previousLimit)
    do throws(VaultError) {
      if let record, record.hasSecret == true, let secret = try await clientSecretFile(of: account).secret() {
        try await secretFile(of: record.client, account).save(secret)
      }
    } catch { throw CommandError(error) }
    try write(clients, to: previousPath(of: account))
  }

  /// Forgets an account that has no work left.
  func forgetClients(of account: AccountID) throws(CommandError) {
    for previous in previousClients(of: account) {
      if let client = previous.record?.client { try? secretFile(of: client, account).remove() }
    }
    unlink(previousPath(of: account))
    try forgetNetwork(of: account)
    try save(nil, of: account)
  }

  /// The backend of the previous client that the session of `handle` belongs to; `nil` if it belongs to none.
  func previousBackend(of handle: RevocationHandle, _ account: ListedAccount) async -> (any Backend)? {
    let clients = previousClients(of: account.id)
    guard !clients.isEmpty, case .value(let entry) = await vault(of: account.id).read() else { return nil }
    let sessions = Set(entry.tombstones.filter { $0.revocation == handle }.map(\.session))
    guard let previous = clients.first(where: { !sessions.isDisjoint(with: $0.sessions) }) else { return nil }
    guard let transport = try? transport(of: account.id) else { return nil }
    guard let record = previous.record else {
      return try? AccountClient.identity(at: account.serverAddress, home: self, over: transport)
    }
    return OAuthAccess(record, home: self, account: account.id, isPrevious: true, over: transport)
  }
}
#endif
