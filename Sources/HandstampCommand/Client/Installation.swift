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

  /// Does what is left to do before the program ends: delivers pending revocations, and waits for the audit log.
  func conclude() async {
    // Beside an agent there are no vaults.
    guard client != nil || !AgentClient.isSet else { return }
    await deliverEnds()
    await client?.controller.flushAuditLog()
  }

  /// Delivers all pending revocations, of sessions that ended while the server was unreachable, concurrently. If there are none,
  /// it costs one read of a small file for each account but the one whose session is open.
  private func deliverEnds(within limit: Duration = .seconds(1)) async {
    // The open session knows what its vault holds. Sign-outs by other processes are theirs to deliver.
    var isDone = true
    if let client {
      _ = await client.restored()
      isDone = await client.controller.waitForRevocations(timeout: .zero)
    }
    let sender = isDone ? nil : client
    if sender == nil, let book = try? await book(), await !hasPendingEnds(book) { return }
    guard let home = try? Home.current() else { return }
    let list = AccountList(of: home)
    let forgotten = await list.deliverRevocations { id in
      await Installation.deliverEnds(of: id, in: home, by: sender?.account.id == id ? sender : nil, within: limit)
    }
    // The OAuth record was kept for the revocation. By now the account may be signed in to again.
    for id in forgotten {
      await list.load()
      if list[id] == nil { try? home.forgetClients(of: id) }
    }
  }

  /// Whether there are removed accounts, or another account's vault has a pending revocation.
  private func hasPendingEnds(_ book: AccountBook) async -> Bool {
    guard book.list.leaving.isEmpty else { return true }
    return await withTaskGroup(of: Bool.self) { group in
      for account in book.accounts where account.id != client?.account.id {
        group.addTask {
          guard case .value(let entry) = await book.home.vault(of: account.id).read() else { return false }
          return entry.hasPendingRevocation
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
    of id: AccountID, in home: Home, by client: AccountClient?, within limit: Duration
  ) async -> Bool {
    switch await home.vault(of: id).read() {
    case .absent: return true
    case .value(let entry):
      // A removed account with a session is about to be listed again.
      let isSignedOut = entry.session == nil
      guard client != nil || entry.hasPendingRevocation else { return isSignedOut }
      guard let account = ListedAccount(of: id) else { return false }
      var client = client
      if client == nil { client = try? await AccountClient(home: home, account: account) }
      guard let client, await client.deliverEnds(within: limit) else { return false }
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
  fileprivate var hasPendingRevocation: Bool { tombstones.contains { $0.revocation != nil } }
}
#endif
