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
#endif
