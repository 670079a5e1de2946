#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Examines an installation without changing it.
struct Examination: Sendable {
  let home: Home
  private(set) var findings: [Finding] = []
  /// Damaged, missing or misplaced items.
  private(set) var damages: [Damage] = []

  init(of home: Home) { self.home = home }

  /// Returns all findings, including those about servers.
  static func findings(of home: Home) async -> [Finding] {
    var examination = Examination(of: home)
    examination.program()
    examination.damages = await HomeCheck.damages(of: home)
    for damage in examination.damages { examination.problem(damage.check, damage.words, hint: damage.hint) }
    guard examination.folders() else { return examination.findings }
    await examination.key()
    examination.leftovers()
    await examination.locks()
    await examination.accounts()
    return examination.findings
  }

  mutating func add(_ finding: Finding) { findings.append(finding) }

  mutating func ok(_ check: String, _ words: String, account: String? = nil) {
    add(.ok(check, words, account: account))
  }

  mutating func note(_ check: String, _ words: String, account: String? = nil, hint: String? = nil) {
    add(.note(check, words, account: account, hint: hint))
  }

  mutating func problem(_ check: String, _ words: String, account: String? = nil, hint: String) {
    add(.problem(check, words, account: account, hint: hint))
  }

  private mutating func program() {
    ok("version", "handstamp \(CommandProgram.version)")
    if let words = BuildPart.words(without: BuildPart.lacking, in: CommandProgram.name) {
      note("build", words, hint: BuildPart.hint(building: CommandProgram.name))
    }
    add(.descriptors(limit: sysconf(Int32(_SC_OPEN_MAX)), inherited: Inheritance.current.fileCount))
    if EnvironmentToken.current != nil {
      note(
        "environment", "\(EnvironmentToken.name) is set, and its token is used instead of any session",
        hint: "run: unset \(EnvironmentToken.name)")
    }
    if AgentClient.isSet {
      note(
        "environment", "\(AgentClient.variable) is set, and its agent's tokens are used instead of any session",
        hint: "run: unset \(AgentClient.variable)")
    }
    if let named = EnvironmentAccount.current {
      note("environment", "\(EnvironmentAccount.name) is set, so \(named) is used instead of the active account")
    }
  }

  /// Checks the folders. Returns whether there is anything else to check.
  private mutating func folders() -> Bool {
    // It must be put right before anything else, and hides the rest.
    guard !damages.contains(where: { $0.check == Damage.owner }) else { return false }
    guard FileFacts(home.path) != nil else {
      add(
        home.canBeMade
          ? .note("home", "\(home.path) does not exist yet", hint: "run: handstamp login")
          : .problem(
            "home", "\(home.path) does not exist, and cannot be made here",
            hint: "set HANDSTAMP_HOME to a folder of your own"))
      return false
    }
    guard look(at: home.path, "home") else { return false }
    guard FileFacts(home.vaultFolder) != nil else {
      note("vault_folder", "none yet; no account has signed in", hint: "run: handstamp login")
      return false
    }
    return look(at: home.vaultFolder, "vault_folder")
  }

  /// Returns whether it is a folder; if it is not, ``HomeCheck`` reports that.
  private mutating func look(at path: String, _ check: String) -> Bool {
    guard let facts = FileFacts((path as NSString).resolvingSymlinksInPath), facts.isFolder else { return false }
    guard !damages.contains(where: { $0.check == check }) else { return true }
    if facts.owner != getuid() {
      problem(check, "\(path) belongs to another user", hint: "run: sudo chown -R $USER \(shellWord(path))")
    } else if facts.mode & 0o055 != 0 {
      note(check, "\(path) is accessible to other users: \(facts.modeText)", hint: "run: chmod 700 \(shellWord(path))")
    } else {
      write(to: path, check, facts)
    }
    return true
  }

  /// Tries a write: neither modes nor the free space show a quota, a read-only disk or a policy of the system.
  private mutating func write(to path: String, _ check: String, _ facts: FileFacts) {
    do throws(VaultError) { try VaultInspection.tryWriting(in: path) } catch {
      let isFull = error.recovery == .freeStorage
      let hint = isFull ? "free some space on its disk" : "check its mode and its disk, or set HANDSTAMP_HOME"
      return problem(check, "cannot write to \(path): \(plain("\(error)"))", hint: hint)
    }
    let room = try? FileManager.default.attributesOfFileSystem(forPath: path)[.systemFreeSize] as? NSNumber
    add(.home(check, "\(path), \(facts.modeText)", room: room?.int64Value))
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: home.vaultFolder)) ?? []).sorted()
  }

  private mutating func key() async {
    do throws(CommandError) {
      let store = try home.keyStore()
      if let keeper = store.keeper { await kept(by: keeper, store) } else { keyFile() }
      copies(beside: store)
    } catch {
      if damages.isEmpty { problem("key_store", error.message, hint: error.hint) }
    }
  }

  private mutating func kept(by keeper: any VaultKeyStore, _ store: KeyStore) async {
    do throws(VaultError) {
      if try await keeper.load() != nil {
        ok("key_store", store.name)
      } else {
        problem(
          "key_store", "the key is missing from the secret store, so the vaults cannot be opened",
          hint: "restore it, or run: handstamp doctor --set-aside")
      }
    } catch {
      let refusal = CommandError(error)
      problem("key_store", refusal.message, hint: "see: handstamp key show; nothing was erased")
    }
  }

  /// Copies that an interrupted move has left.
  private mutating func copies(beside store: KeyStore) {
    let noted = ((try? home.keyPlace.note())?.copies ?? []).map { KeyStore(note: $0, folder: home.vaultFolder) }
    var places = noted.filter { $0 != .file && $0 != store }.map(\.place)
    if store != .file, FileFacts(home.keyFile) != nil { places.insert("in \(home.keyFile)", at: 0) }
    guard !places.isEmpty else { return }
    problem(
      "key_file", "a copy of the key may still be \(places.joined(separator: ", and "))",
      hint: "run: handstamp key migrate --to \(store.name)")
  }

  private mutating func keyFile() {
    guard let facts = FileFacts(home.keyFile), !damages.contains(where: { $0.check == "key_file" }) else { return }
    ok("key_file", facts.modeText)
  }

  /// Files left by killed processes, and files that were set aside.
  private mutating func leftovers() {
    let stale = names.filter { name in
      guard name.hasSuffix(".partial"), let facts = FileFacts("\(home.vaultFolder)/\(name)") else { return false }
      // A younger file may still be being written.
      return facts.changedAt.timeIntervalSinceNow < -60
    }
    if stale.isEmpty {
      ok("partial_files", "none")
    } else {
      note(
        "partial_files", "\(stale.count) left by interrupted processes",
        hint: "delete them with: rm \(home.vaultFolder)/*.partial")
    }
    let tokens = IdentityTokenFile.left(in: home).count
    if tokens > 0 {
      note(
        "id_token_files", "\(tokens) with an ID token, left by killed processes",
        hint: "delete them with: handstamp doctor --fix")
    }
    let aside = names.filter { $0.contains(".corrupt-") }
    if aside.isEmpty {
      ok("set_aside", "none")
    } else {
      note(
        "set_aside", "\(aside.count) damaged file(s) set aside: \(aside.joined(separator: ", "))",
        hint: "find out what damaged them; delete them once all accounts are signed in again")
    }
  }

  private mutating func locks() async {
    var held: [String: [LockHolder]] = [:]
    for name in names where name.hasSuffix(".lock") || name.hasSuffix(".sign-in") {
      guard let holders = LockHolder.all(of: "\(home.vaultFolder)/\(name)") else {
        note("locks", "this system does not report lock holders")
        return
      }
      if !holders.isEmpty { held[name] = holders }
    }
    if held.isEmpty { ok("locks", "none held") }
    for (name, holders) in held.sorted(by: { $0.key < $1.key }) {
      let what =
        switch name {
        case "store.lock", "turn.lock": "the write lock"
        case _ where name.hasSuffix(".sign-in"): "the sign-in lock"
        default: "an account's refresh lock"
        }
      let words = "\(what) is held by \(holders.map(\.words).joined(separator: ", "))"
      if let stopped = holders.first(where: \.isStopped) {
        problem("locks", words, hint: "resume that process with: kill -CONT \(stopped.process)")
      } else {
        note("locks", words)
      }
    }
  }
}

/// Checks of the accounts and their servers.
extension Examination {
  mutating func accounts() async {
    let known: KnownAccounts
    do throws(CommandError) { known = try await KnownAccounts(of: home) } catch {
      if damages.isEmpty { problem("accounts", error.message, hint: error.hint) }
      return
    }
    let unusable = known.stored.accounts.count - known.accounts.count
    if unusable > 0 {
      problem("accounts", "\(unusable) listed account(s) without a usable server", hint: "correct accounts.json")
    }
    switch (known.accounts.count, known.active) {
    case (0, _): note("accounts", "none", hint: "run: handstamp login")
    case (let count, nil): note("accounts", "\(count), none of them active", hint: "run: handstamp switch NAME")
    case (let count, let active?): ok("accounts", "\(count), the active one is \(active.words)")
    }
    for rule in FolderRules(of: home).all where known.list[rule.account] == nil {
      problem("folders", rule.gone.message, hint: rule.gone.hint)
    }
    for account in known.accounts {
      await examine(account, handle: account.handle(among: known.accounts))
    }
    if !known.stored.leaving.isEmpty {
      note("sign_outs", "\(known.stored.leaving.count) removed account(s) may still have a revocation pending")
    }
    var servers: [ServerExamination] = []
    for account in known.accounts {
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
