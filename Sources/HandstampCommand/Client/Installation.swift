#if Command
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// A command that uses a session. Whatever its outcome, pending revocations are delivered after it, and its audit log is written.
protocol SessionCommand: AsyncParsableCommand {
  func perform(in installation: Installation) async throws
}

extension SessionCommand {
  func run() async throws {
    let installation = Installation()
    do { try await perform(in: installation) } catch {
      await installation.conclude()
      throw error
    }
    await installation.conclude()
  }
}

/// The accounts of this device, for one command: their list is read once, when it is first needed, and the session of the
/// chosen account is opened once.
@MainActor final class Installation {
  private var known: AccountBook?
  private var client: AccountClient?

  /// Returns the list of accounts, as this command first read it.
  func book() async throws(CommandError) -> AccountBook {
    if let known { return known }
    let book = try await AccountBook(of: Home.current())
    known = book
    return book
  }

  /// Opens the session of the named account, else of the active one.
  func client(
    _ options: AccountOptions, isShortLived: Bool = true, minimumAge: Duration = .seconds(5)
  ) async throws(CommandError) -> AccountClient {
    let book = try await book()
    let client = try AccountClient(
      home: book.home, account: book.account(options.named), named: options.account, isShortLived: isShortLived,
      minimumAge: minimumAge)
    self.client = client
    return client
  }

  /// Does what is left to do before the program ends: delivers all pending revocations, of sessions that ended while the server
  /// was unreachable, concurrently, and waits for the audit log. If no revocation is pending, it costs one read of a small file
  /// for each account but the one whose session is open.
  func conclude() async {
    // Beside an agent there are no vaults.
    guard client != nil || !AgentClient.isSet else { return }
    // The open session knows what its vault holds. Sign-outs by other processes are theirs to deliver.
    var sender: AccountClient?
    if let client {
      _ = await client.restored()
      if await !client.controller.waitForRevocations(timeout: .zero) { sender = client }
    }
    let isPending = if sender == nil { await othersHavePendingEnds() } else { true }
    if isPending, let home = try? Home.current() {
      let list = AccountList(of: home)
      let forgotten = await list.deliverRevocations { [sender] id in
        await Installation.deliverEnds(of: id, in: home, by: sender?.account.id == id ? sender : nil)
      }
      // The OAuth record was kept for the revocation. By now the account may be signed in to again.
      for id in forgotten {
        await list.load()
        if list[id] == nil { try? home.forgetClients(of: id) }
      }
    }
    await client?.controller.flushAuditLog()
  }

  /// Whether there are removed accounts, or another account's vault has a pending revocation; true if the list cannot be read.
  private func othersHavePendingEnds() async -> Bool {
    guard let book = try? await book(), book.list.leaving.isEmpty else { return true }
    return await withTaskGroup(of: Bool.self) { group in
      for account in book.accounts where account.id != client?.account.id {
        group.addTask {
          guard case .value(let entry) = await book.home.vault(of: account.id).read() else { return false }
          return !entry.unrevoked.isEmpty
        }
      }
      for await isPending in group where isPending { return true }
      return false
    }
  }

  /// Delivers the pending revocations of one account. Returns whether none are left, and no session.
  ///
  /// - Parameter client: The open session, if it has any.
  private nonisolated static func deliverEnds(
    of id: AccountID, in home: Home, by client: AccountClient?
  ) async -> Bool {
    switch await home.vault(of: id).read() {
    case .absent: return true
    case .value(let entry):
      // A removed account with a session is about to be listed again.
      let isSignedOut = entry.session == nil
      guard client != nil || !entry.unrevoked.isEmpty else { return isSignedOut }
      guard let account = ListedAccount(of: id) else { return false }
      var client = client
      if client == nil { client = try? await AccountClient(home: home, account: account) }
      guard let client, await client.deliverEnds() else { return false }
      let server = account.serverAddress.text
      if let code = await client.controller.refusedRevocations.values.first {
        Terminal.say(
          "\(server) refused to revoke a signed-out session (\(code)); it stays valid there until it expires")
      } else {
        Terminal.say("revoked an earlier session at \(server)")
      }
      return isSignedOut
    case .accessOnly, .trouble: return false
    }
  }
}

extension VaultEntry {
  /// The ended sessions that are still to be revoked.
  var unrevoked: [Tombstone] { tombstones.filter { $0.revocation != nil } }
}
#endif
