#if Command
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp logout`.
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
      throw Refusal(.usage, "--all and --account cannot be combined", hint: "drop one of them")
    }
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    let accounts: [Account]
    do throws(Refusal) { accounts = all ? book.accounts : [try account.chosen(book)] } catch {
      guard error == .nobody else { throw error }
      if let hidden = await Refusal.hidden(in: home) { throw hidden }
      Terminal.say("not signed in")
      return
    }
    var failures: [Refusal] = []
    var hasWaiting = false
    for account in accounts {
      do throws(Refusal) {
        if try await !signOut(Client(home: home, account: account), book) { hasWaiting = true }
      } catch {
        failures.append(error)
      }
    }
    if let first = failures.first {
      for other in failures.dropFirst() { Terminal.say("handstamp: \(other.message)") }
      throw first
    }
    if !hasWaiting { await PendingEnds.deliver() }
  }

  /// Signs out one account. Returns whether the server knows of it.
  private func signOut(_ client: Client, _ book: AccountBook) async throws(Refusal) -> Bool {
    let state = await client.restored()
    let others = everywhere ? await endEverywhere(client, state) : nil
    if case .signedOut = state, let hidden = await Refusal.hidden(in: client.home) { throw hidden }
    let canBeTold = await client.canRevoke()
    let list = await AccountList(of: client.home, with: [client])
    let unlisted = try await end(client, list)
    switch state {
    case .signedIn(let facts): Terminal.say("signed out \(facts.profile?.name ?? client.account.name)")
    case .signedOut:
      Terminal.say(client.account.id == book.active ? "not signed in" : "\(client.account.name) is signed out")
    case .restoring, .unavailable: Terminal.say("signed out")
    }
    let isTold = await WaitLine.shared.during(client.server.text) {
      await client.deliverEnds(within: Logout.patience)
    }
    await client.settle()
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
  private func end(_ client: Client, _ list: AccountList) async throws(Refusal) -> Refusal? {
    var trouble: VaultError?
    if erase {
      do throws(SessionError) { try await list.remove(client.account.id) } catch {
        guard case .storage(let error) = error, await list.snapshot.storageError == nil else {
          return Refusal(error, account: client.account)
        }
        trouble = error
      }
    } else {
      trouble = await client.controller.signOut(.standard).storageError
    }
    guard let trouble else { return nil }
    let refusal = Refusal(trouble)
    throw Refusal(
      .vault, "cannot save the sign-out, so the session will return: \(refusal.message)",
      hint: "fix the vault, then run: handstamp logout", concernsHome: refusal.concernsHome)
  }

  /// Removes what is kept of an erased account beside its vault.
  private func clear(_ client: Client, _ list: AccountList, isTold: Bool) async throws(Refusal) {
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
  private func endEverywhere(_ client: Client, _ state: SessionState) async -> Refusal? {
    struct Ended: Decodable { var ended: Int? }
    let again = "sign in again and run handstamp logout --everywhere, or sign out on those devices"
    guard case .signedIn = state else { return Refusal(.signInNeeded, "not signed in", hint: again) }
    do throws(Refusal) {
      if let foreign = try await client.foreign() {
        var refusal = foreign.lacks("ending other sessions", at: client.server)
        refusal.hint = "end them on your account page there"
        return refusal
      }
      let count =
        try await Caller.session(client).call(
          "POST", "/v1/sessions/end-others", as: Ended.self, for: "ending other sessions"
        ).ended ?? 0
      Terminal.say("ended \(count) other session(s)")
      return nil
    } catch {
      return error.hinting(again)
    }
  }
}
#endif
