#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Checks of the accounts and their servers.
extension Examination {
  mutating func accounts() async {
    let book: AccountBook
    do throws(CommandError) { book = try await AccountBook(of: home) } catch {
      if damages.isEmpty { problem("accounts", error.message, hint: error.hint) }
      return
    }
    var list = AccountsList()
    if case .success(let stored) = await home.index.read() { list = stored }
    let unusable = list.accounts.count { !$0.isUsable }
    if unusable > 0 {
      problem("accounts", "\(unusable) listed account(s) without a usable server", hint: "correct accounts.json")
    }
    switch (book.accounts.count, book.active) {
    case (0, _): note("accounts", "none", hint: "run: handstamp login")
    case (let count, nil): note("accounts", "\(count), none of them active", hint: "run: handstamp switch NAME")
    case (let count, let active?): ok("accounts", "\(count), the active one is \(active.words)")
    }
    for rule in FolderRules(of: home).all where book.list[rule.account] == nil {
      problem("folders", rule.gone.message, hint: rule.gone.hint)
    }
    for account in book.accounts {
      await examine(account, handle: account.handle(among: book.accounts))
    }
    if !list.leaving.isEmpty {
      note("sign_outs", "\(list.leaving.count) removed account(s) may still have a revocation pending")
    }
    var servers: [ServerExamination] = []
    for account in book.accounts {
      let (server, record) = (account.serverAddress, try? home.oauth(of: account.id))
      do throws(CommandError) {
        let network = try NetworkReport(to: server, of: account.id, in: home)
        // Each way to a server is tried, so that none is called good because another one is.
        if let index = servers.firstIndex(where: { $0.server == server && $0.network == network }) {
          if record == nil { servers[index].record = nil }
          servers[index].accounts.append(account.name)
        } else {
          let transport = try home.transport(of: account.id)
          servers.append(
            ServerExamination(
              server: server, record: record, transport: transport, network: network, accounts: [account.name]))
        }
      } catch {
        problem("network", error.message, account: account.name, hint: error.hint)
      }
    }
    for finding in await Examination.findings(of: servers) { add(finding) }
  }

  /// - Parameter handle: The account's name on a command line.
  private mutating func examine(_ account: ListedAccount, handle: String) async {
    let name = account.name
    let now = SystemClock().now()
    switch await home.vault(of: account.id).read() {
    case .absent: ok("vault", "signed out", account: name)
    case .trouble(let trouble):
      let refusal = CommandError(trouble)
      let login = "run: handstamp login --account \(shellWord(handle))"
      problem(
        "vault", refusal.message, account: name,
        hint: trouble == .corrupt ? login : refusal.concernsHome ? damages.hint ?? refusal.hint : refusal.hint)
    case .accessOnly: note("vault", "locked", account: name, hint: "unlock it")
    case .value(let entry):
      if let session = entry.session {
        examine(session, of: name, now)
        if let note = home.refusedRefresh(of: account.id, session: session.id) {
          let refusal = note.refusal(at: now.wall, server: account.serverAddress)
          let login = "run: handstamp login --account \(shellWord(handle))"
          let hint =
            switch refusal.exit {
            case .signInNeeded: login
            case .configuration: CommandError.clientHint(note.error, at: account.serverAddress.text)
            default: "if this persists, \(login)"
            }
          problem("refresh", refusal.message, account: name, hint: hint)
        }
      }
      let undelivered = entry.unrevoked.count
      if undelivered > 0 {
        note(
          "sign_outs", "\(undelivered) sign-out(s) not yet sent to the server", account: name,
          hint: "run any command while online to send them")
      }
      for tombstone in entry.tombstones {
        let whose = tombstone.account.map { ", account \($0)" } ?? ""
        let left = tombstone.steps.isEmpty ? "" : ", \(tombstone.steps.count) clean-up(s) pending"
        note(
          "ended",
          "session \(tombstone.session)\(whose) at \(tombstone.endedAt.wall): \(tombstone.reason.words)\(left)",
          account: name)
      }
    }
  }

  private mutating func examine(_ session: StoredSession, of name: String, _ now: Moment) {
    var words = "signed in since \(session.startedAt.wall)"
    if let lifetime = session.access?.lifetime {
      let left = lifetime.remaining(at: now)
      let refresh = left - RefreshPolicy().margin(forLifetime: lifetime.duration)
      words += left > .zero ? ", token valid for \(left.words)" : ", token expired"
      if session.refresh != nil {
        words += ", would be refreshed "
        words += refresh > .zero ? "in \(refresh.words) by a program that keeps running" : "at the next use"
      }
    }
    ok("vault", words, account: name)
    if session.refresh == nil {
      note(
        "vault", "no refresh token", account: name,
        hint: "sign in again when the access token expires: handstamp login")
    }
    if session.revocation == nil {
      note(
        "vault", "the server cannot be told of a sign-out: the session then stays valid there until it expires",
        account: name, hint: "end it on your account page there")
    }
    if session.pendingKey != nil {
      note(
        "pending_key", "a refresh was interrupted; the next one resumes it", account: name,
        hint: "keep using the session")
    }
    if now.wall < session.startedAt.wall {
      note(
        "clock", "this device's clock shows a time before the sign-in", account: name,
        hint: "set the clock of this device")
    }
  }

  /// Checks all servers concurrently, so that one that hangs does not delay the others.
  private static func findings(of servers: [ServerExamination]) async -> [Finding] {
    await withTaskGroup(of: (Int, [Finding]).self) { group in
      for (number, server) in servers.enumerated() { group.addTask { (number, await server.findings()) } }
      return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }
  }

  /// Token lifetimes count from receipt, so a wrong clock expires none; certificates, limits and logs depend on it.
  static func clockFinding(_ skew: Duration, _ server: ServerAddress, precision: Duration) -> Finding {
    let size = skew < .zero ? .zero - skew : skew
    guard size > precision + .seconds(1) else {
      return .ok("clock", "matches \(server.text) within \(precision.words)")
    }
    let words = "this device is \(size.words) \(skew > .zero ? "ahead of" : "behind") \(server.text)"
    let hint =
      "set the clock of this device or of the server; certificates and time limits depend on it, token lifetimes do not"
    return size >= .seconds(60) ? .problem("clock", words, hint: hint) : .note("clock", words, hint: hint)
  }
}
#endif
