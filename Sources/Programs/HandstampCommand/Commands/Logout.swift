#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

struct Logout: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logout", abstract: "sign out",
    discussion: """
      works offline: the next command that reaches the server revokes the session
      there; signing out twice is not an error
      """)

  @Flag(help: "sign out of every account") var all = false
  @Flag(help: "also remove the account from this device") var erase = false
  @Flag(help: "end the account's sessions on all devices") var everywhere = false
  @OptionGroup var account: AccountOptions

  /// How long to try to revoke the session at the server.
  static let patience = Duration.seconds(3)

  func run() async throws {
    try EnvironmentToken.refuse(to: "logout")
    if all, account.account != nil {
      throw CommandError(.usage, "--all and --account cannot be combined", hint: "drop one of them")
    }
    let installation = Installation()
    let known = try await installation.knownAccounts()
    let home = known.home
    let accounts: [ListedAccount]
    do throws(CommandError) { accounts = all ? known.accounts : [try known.account(account.named)] } catch {
      guard error == .notSignedIn else { throw error }
      if let hidden = await CommandError.hidden(in: home) { throw hidden }
      IdentityTokenFile.removeLeft(in: home)
      Terminal.say("not signed in")
      return
    }
    var failures: [CommandError] = []
    var hasWaiting = false
    for account in accounts {
      do throws(CommandError) {
        let client = try await AccountClient(home: home, account: account, named: self.account.account)
        if try await !signOut(client, known) { hasWaiting = true }
      } catch {
        failures.append(error)
      }
    }
    if let first = failures.first {
      for other in failures.dropFirst() { Terminal.say("handstamp: \(other.message)") }
      throw first
    }
    if !hasWaiting { await installation.conclude() }
  }

  /// Signs out one account. Returns whether the server knows of it.
  private func signOut(_ client: AccountClient, _ known: KnownAccounts) async throws(CommandError) -> Bool {
    let state = await client.restored()
    let others = everywhere ? await endEverywhere(client, state) : nil
    if case .signedOut = state, let hidden = await CommandError.hidden(in: client.home) { throw hidden }
    let canBeTold = await client.vault.session.map { $0.revocation != nil } ?? true
    let list = await Accounts(of: client.home, with: [client])
    let unlisted = try await end(client, list)
    IdentityTokenFile.remove(of: client.account.id, in: client.home)
    switch state {
    case .signedIn(let facts): Terminal.say("signed out \(facts.profile?.name ?? client.account.name)")
    case .signedOut:
      Terminal.say(client.account.id == known.list.active ? "not signed in" : "\(client.account.name) is signed out")
    case .restoring, .unavailable: Terminal.say("signed out")
    }
    let isTold = await WaitLine.shared.during(client.server.text) {
      await client.deliverEnds(within: Logout.patience)
    }
    await client.controller.flushAuditLog()
    for code in await Set(client.controller.refusedRevocations.values).sorted() {
      Terminal.say(
        "\(client.server.text) refused to revoke the session (\(code)); it stays valid there until it expires")
    }
    if !canBeTold {
      Terminal.say(
        "\(client.server.text) cannot revoke this session; it stays valid there until it expires"
      )
    }
    if !isTold {
      Terminal.say(
        "cannot revoke the session at \(client.server.text) yet; the next command that reaches it tries again")
    }
    if erase {
      if let unlisted { throw unlisted }
      try await clear(client, list, isTold: isTold)
    }
    if let others {
      throw others.saying("signed out here, but not on other devices: \(others.message)")
    }
    return isTold
  }

  /// Ends the session here, and takes the account off the list if it is to be erased. Returns why only the second failed.
  private func end(_ client: AccountClient, _ list: Accounts) async throws(CommandError) -> CommandError? {
    var trouble: VaultError?
    if erase {
      do throws(SessionError) { try await list.remove(client.account.id) } catch {
        guard case .storage(let error) = error, await list.snapshot.storageError == nil else {
          return CommandError(error, server: client.server).about(client.name)
        }
        trouble = error
      }
    } else {
      trouble = await client.controller.signOut(.standard).storageError
    }
    guard let trouble else { return nil }
    let refusal = CommandError(trouble)
    throw CommandError(
      .vault, "cannot save the sign-out, so the session will return: \(refusal.message)",
      hint: "fix the vault, then run: handstamp logout", concernsHome: refusal.concernsHome)
  }

  /// Removes what is kept of an erased account beside its vault.
  private func clear(_ client: AccountClient, _ list: Accounts, isTold: Bool) async throws(CommandError) {
    let id = client.account.id
    // The pending revocation still needs the record.
    if isTold, await list.forget(id) { try client.home.forgetClients(of: id) } else { await list.load() }
    guard await list[id] == nil else {
      Terminal.say("\(client.account.words) was signed in to again meanwhile, and was not removed")
      return
    }
    let rules = FolderRules(of: client.home)
    for rule in rules.all where rule.account == id { _ = try rules.remove(of: rule.folder) }
    Terminal.say("removed \(client.account.words)")
  }

  /// Ends the account's sessions on other devices. Returns why that failed, with a hint for after the sign-out here, or `nil`.
  private func endEverywhere(_ client: AccountClient, _ state: SessionState) async -> CommandError? {
    let again = "sign in again and run handstamp logout --everywhere, or sign out on those devices"
    guard case .signedIn = state else { return CommandError(.signInNeeded, "not signed in", hint: again) }
    do throws(CommandError) {
      if let foreign = try await client.foreign() {
        return foreign.lacks("ending other sessions", at: client.server).hinting("end them on your account page there")
      }
      let count = try await AuthorizedCaller.session(client).endSessions("POST", "/v1/sessions/end-others")
      Terminal.say("ended \(count) other session(s)")
      return nil
    } catch {
      return error.code == "insufficient_scope" ? error : error.hinting(again)
    }
  }
}
#endif
