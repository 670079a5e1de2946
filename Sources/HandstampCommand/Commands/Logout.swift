#if Programs
import ArgumentParser
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp logout`.
struct Logout: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs out",
    discussion: """
      always succeeds on this device, also without a network: the server is then told by the next command that can
      reach it; signing out twice is no error
      """)

  @Flag(help: "sign out of every account") var all = false
  @Flag(help: "take the account off the list as well") var erase = false
  @Flag(help: "end the account's sessions on all devices") var everywhere = false
  @OptionGroup var account: AccountOptions

  /// How long to try to tell the server.
  static let patience = Duration.seconds(3)

  func run() async throws {
    try EnvironmentToken.refuse(to: "logout")
    if all, account.account != nil {
      throw Refusal(.usage, "--all and --account do not go together", hint: "leave out one of them")
    }
    let home = try Home.current()
    let book = try await AccountBook(of: home)
    let accounts: [Account]
    do throws(Refusal) { accounts = all ? book.accounts : [try account.chosen(book)] } catch {
      guard error == .nobody else { throw error }
      if let hidden = await Refusal.hidden(in: home) { throw hidden }
      Terminal.say("nobody is signed in")
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

  /// Whether the server knows.
  private func signOut(_ client: Client, _ book: AccountBook) async throws(Refusal) -> Bool {
    let state = await client.restored()
    let others = everywhere ? await endEverywhere(client, state) : nil
    let canBeTold = await client.canRevoke()
    let report = erase ? await client.controller.signOutAndErase() : await client.controller.signOut()
    if let trouble = report.notDurable {
      let refusal = Refusal(trouble)
      throw Refusal(
        .vault, "the sign-out could not be written down, and the session comes back: \(refusal.message)",
        hint: "see to the vault, and run: handstamp logout", concernsHome: refusal.concernsHome)
    }
    switch state {
    case .signedIn(let facts): Terminal.say("signed out \(facts.profile.name)")
    case .signedOut:
      if let hidden = await Refusal.hidden(in: client.home) { throw hidden }
      Terminal.say(client.account.id == book.active ? "nobody is signed in" : "\(client.account.name) is signed out")
    case .restoring, .unavailable: Terminal.say("signed out")
    }
    let isTold = await WaitLine.shared.during(client.server.text) {
      await client.deliverEnds(within: Logout.patience)
    }
    await client.settle()
    for code in await Set(client.controller.refusedRevocations.values).sorted() {
      Terminal.say(
        "\(client.server.text) refused to end the session (\(code)); it lives on there until it expires")
    }
    if !canBeTold {
      Terminal.say(
        "\(client.server.text) cannot be told: it offers no way to revoke this session, which lives on there until it expires"
      )
    }
    if !isTold {
      Terminal.say("\(client.server.text) could not be told; the next command that reaches it will do so")
    }
    if erase {
      if !isTold {
        let departure = Departures.Departure(account: client.account.id, server: client.server)
        do { try Departures(of: client.home).add(departure) } catch { throw client.home.unwritable() }
      }
      try await remove(client, book, isTold: isTold)
    }
    if let others {
      throw Refusal(
        others.code, "signed out here, but not on other devices: \(others.message)", hint: others.hint)
    }
    return isTold
  }

  private func remove(_ client: Client, _ book: AccountBook, isTold: Bool) async throws(Refusal) {
    try await book.edit(.remove(client.account.id))
    if case .value(let entry) = await client.home.vault(of: client.account.id).read(), entry.session != nil {
      try await book.edit(.add(client.account.listed))
      Terminal.say("\(client.account.words) was signed in to meanwhile, and stays on the list")
      return
    }
    let rules = FolderRules(of: client.home)
    for rule in rules.all where rule.account == client.account.id { _ = try rules.remove(of: rule.folder) }
    // The server is told by what stands there.
    if isTold { try client.home.save(nil, of: client.account.id) }
    Terminal.say("took \(client.account.words) off the list")
  }

  /// Why the account's other sessions could not be ended, and what helps now that this one is over.
  private func endEverywhere(_ client: Client, _ state: SessionState) async -> Refusal? {
    struct Ended: Decodable { var ended: Int? }
    let again = "sign in again and run handstamp logout --everywhere, or sign out there"
    guard case .signedIn = state else { return Refusal(.signInNeeded, "nobody is signed in", hint: again) }
    do throws(Refusal) {
      if let foreign = try await client.foreign() {
        var refusal = foreign.lacks("way to end sessions of other devices", at: client.server)
        refusal.hint = "end them on the account's page there"
        return refusal
      }
      let count =
        try await Caller.session(client).call(
          "POST", "/v1/sessions/end-others", as: Ended.self, for: "way to end sessions of other devices"
        ).ended ?? 0
      Terminal.say("ended \(count) other session(s)")
      return nil
    } catch {
      return Refusal(error.code, error.message, hint: again)
    }
  }
}
#endif
