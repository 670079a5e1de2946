#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

/// A command that uses a session. Whatever its outcome, pending revocations are delivered after it, and its audit log is written.
protocol SessionCommand: AsyncParsableCommand {
  func perform(in installation: Installation) async throws
}

extension SessionCommand {
  func run() async throws { try await Installation.use(perform) }
}

/// The accounts of this device, for one command: their list is read once, when it is first needed, and the session of the
/// chosen account is opened once.
@MainActor final class Installation {
  private var read: KnownAccounts?
  private var client: AccountClient?

  /// Concludes after `body`, whatever its outcome.
  nonisolated static func use(_ body: (Installation) async throws -> Void) async throws {
    let installation = Installation()
    do { try await body(installation) } catch {
      await installation.conclude()
      throw error
    }
    await installation.conclude()
  }

  /// Returns the list of accounts, as this command first read it.
  func knownAccounts() async throws(CommandError) -> KnownAccounts {
    if let read { return read }
    let known = try await KnownAccounts(of: Home.current())
    read = known
    return known
  }

  /// Opens the session of the named account, else of the active one.
  func client(
    _ options: AccountOptions? = nil, isShortLived: Bool = true, minimumAge: Duration = .seconds(5)
  ) async throws(CommandError) -> AccountClient {
    let known = try await knownAccounts()
    let named = options?.named ?? EnvironmentAccount.current
    let client = try AccountClient(
      home: known.home, account: known.account(named), named: options?.account, isShortLived: isShortLived,
      minimumAge: minimumAge)
    self.client = client
    return client
  }

  /// Does what is left to do before the program ends: delivers all pending revocations, of sessions that ended while the server
  /// was unreachable, concurrently, and waits for the audit log. If no revocation is pending, it costs one read of a small file
  /// for each account but the one whose session is open. Of pending revocations, the list shows only
  /// those of removed accounts; those of listed ones are in their sealed vaults.
  func conclude() async {
    // Beside an agent there are no vaults.
    guard client != nil || !AgentClient.isSet else { return }
    if let home = try? Home.current(), let list = await stored(in: home) {
      await withTaskGroup(of: Void.self) { group in
        for account in list.accounts { group.addTask { _ = await self.deliverEnds(of: account.id, in: home) } }
        for id in list.leaving {
          group.addTask { if await self.deliverEnds(of: id, in: home) { await self.forget(id, in: home) } }
        }
      }
    }
    await client?.controller.flushAuditLog()
  }

  /// Returns the list as this command first read it; `nil` if it cannot be read. Damaged settings, with which ``KnownAccounts`` cannot
  /// be read, keep no revocation from being delivered.
  private func stored(in home: Home) async -> AccountsList? {
    if let read { return read.stored }
    return try? await home.accounts.read().get()
  }

  /// Delivers the pending revocations of one account. Returns whether its vault holds none, and no session; `false` for the
  /// session that is open, whose account is listed.
  private func deliverEnds(of id: AccountID, in home: Home) async -> Bool {
    var open = client.flatMap { $0.account.id == id ? $0 : nil }
    // The open session knows what its vault holds. Sign-outs by other processes are theirs to deliver.
    if let open {
      _ = await open.restored()
      if await open.controller.waitForRevocations(timeout: .zero) { return false }
    }
    switch await home.vault(of: id).read() {
    case .absent: return true
    case .value(let entry):
      // A removed account with a session is about to be listed again.
      let isSignedOut = entry.session == nil
      guard open != nil || !entry.unrevoked.isEmpty else { return isSignedOut }
      guard let account = ListedAccount(of: id) else { return false }
      if open == nil { open = try? AccountClient(home: home, account: account) }
      guard let open, await open.deliverEnds() else { return false }
      let server = account.serverAddress.text
      if let code = await open.controller.refusedRevocations.values.first {
        Terminal.say(
          "\(server) refused to revoke a signed-out session (\(code)); it stays valid there until it expires")
      } else {
        Terminal.say("revoked an ended session at \(server)")
      }
      return isSignedOut
    case .accessOnly, .trouble: return false
    }
  }

  /// Forgets a removed account without pending revocations.
  private func forget(_ id: AccountID, in home: Home) async {
    let list = Accounts(of: home)
    // Another command may have forgotten it since, and a sign-in to it may have begun.
    guard (try? await home.accounts.read().get())?.leaving.contains(id) == true, await list.forget(id) else { return }
    // The OAuth record was kept for the revocation. By now the account may be signed in to again.
    await list.load()
    if list[id] == nil { try? home.forgetClients(of: id) }
  }
}

extension VaultEntry {
  /// The ended sessions that are still to be revoked.
  var unrevoked: [Tombstone] { tombstones.filter { $0.revocation != nil } }
}
#endif
