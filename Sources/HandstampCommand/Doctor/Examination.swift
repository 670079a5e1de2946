#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// Looks at one installation and changes nothing in it.
struct Examination: Sendable {
  let home: Home
  private(set) var findings: [Finding] = []
  /// What is damaged, missing or in the wrong place.
  private(set) var damages: [Damage] = []

  init(of home: Home) { self.home = home }

  /// Everything, servers included.
  static func findings(of home: Home) async -> [Finding] {
    var examination = Examination(of: home)
    examination.program()
    examination.damages = await HomeCheck.damages(of: home)
    for damage in examination.damages { examination.add(.problem(damage.check, damage.words, hint: damage.hint)) }
    guard examination.folders() else { return examination.findings }
    await examination.key()
    examination.leftovers()
    await examination.locks()
    await examination.accounts()
    return examination.findings
  }

  mutating func add(_ finding: Finding) { findings.append(finding) }

  private mutating func program() {
    add(.ok("version", "handstamp \(HandstampTool.version)"))
    if EnvironmentToken.current != nil {
      add(
        .note(
          "environment", "\(EnvironmentToken.name) is set and used instead of every session",
          hint: "run: unset \(EnvironmentToken.name)"))
    }
    if let named = EnvironmentAccount.current {
      add(
        .note(
          "environment", "\(EnvironmentAccount.name) is set: \(named) is used, whichever account is the active one"))
    }
  }

  /// Whether there is anything to look at.
  private mutating func folders() -> Bool {
    guard FileFacts(home.path) != nil else {
      add(.note("home", "\(home.path): nothing is there yet", hint: "run: handstamp login"))
      return false
    }
    guard look(at: home.path, "home") else { return false }
    guard FileFacts(home.vaultFolder) != nil else {
      add(.note("vault_folder", "there is none: nobody has signed in", hint: "run: handstamp login"))
      return false
    }
    return look(at: home.vaultFolder, "vault_folder")
  }

  /// Whether it is a folder. Where it is not, that is a damage.
  private mutating func look(at path: String, _ check: String) -> Bool {
    guard let facts = FileFacts((path as NSString).resolvingSymlinksInPath), facts.isFolder else { return false }
    guard !damages.contains(where: { $0.check == check }) else { return true }
    if facts.owner != getuid() {
      add(.problem(check, "\(path) belongs to another user", hint: "run: sudo chown -R $USER \(shellWord(path))"))
    } else if facts.mode & 0o055 != 0 {
      add(.note(check, "others may look into \(path): \(facts.modeText)", hint: "run: chmod 700 \(shellWord(path))"))
    } else if access(path, W_OK | X_OK) != 0 {
      add(.problem(check, "\(path) cannot be written", hint: "see to its mode and its disk"))
    } else {
      add(.ok(check, "\(path), \(facts.modeText)"))
    }
    return true
  }

  var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: home.vaultFolder)) ?? []).sorted()
  }

  private mutating func key() async {
    do throws(Refusal) {
      let store = try home.keyStore()
      if let keeper = store.keeper { await kept(by: keeper, store) } else { keyFile() }
    } catch {
      if damages.isEmpty { add(.problem("key_store", error.message, hint: error.hint)) }
    }
  }

  private mutating func kept(by keeper: any VaultKeyStore, _ store: KeyStore) async {
    do throws(VaultTrouble) {
      if try await keeper.load() != nil {
        add(.ok("key_store", store.name))
      } else {
        add(
          .problem(
            "key_store", "the key is missing in the secret store; without it the vaults stay closed",
            hint: "put it back, or run: handstamp doctor --set-aside"))
      }
    } catch {
      let refusal = Refusal(error)
      add(.problem("key_store", refusal.message, hint: "nothing was erased; see: handstamp store show"))
    }
    if FileFacts(home.keyFile) != nil {
      add(
        .problem(
          "key_file", "a copy of the key is still in \(home.keyFile)",
          hint: "run: handstamp store migrate --to secret-service"))
    }
  }

  private mutating func keyFile() {
    guard let facts = FileFacts(home.keyFile), !damages.contains(where: { $0.check == "key_file" }) else { return }
    add(.ok("key_file", facts.modeText))
  }

  /// What processes that were killed left behind, and what was set aside.
  private mutating func leftovers() {
    let stale = names.filter { name in
      guard name.hasSuffix(".partial"), let facts = FileFacts("\(home.vaultFolder)/\(name)") else { return false }
      // Younger ones may be somebody's who writes just now.
      return facts.changedAt.timeIntervalSinceNow < -60
    }
    if stale.isEmpty {
      add(.ok("partial_files", "none"))
    } else {
      add(
        .note(
          "partial_files", "\(stale.count) of processes that did not finish",
          hint: "harmless; run: rm \(home.vaultFolder)/*.partial"))
    }
    let aside = names.filter { $0.contains(".corrupt-") }
    if aside.isEmpty {
      add(.ok("set_aside", "none"))
    } else {
      add(
        .note(
          "set_aside", "\(aside.count) damaged file(s) were set aside: \(aside.joined(separator: ", "))",
          hint: "find out what damaged them; they are of no use any more once everybody is signed in again"))
    }
  }

  private mutating func locks() async {
    var held: [String: [LockHolder]] = [:]
    for name in names where name.hasSuffix(".lock") || name.hasSuffix(".sign-in") {
      guard let holders = LockHolder.all(of: "\(home.vaultFolder)/\(name)") else {
        add(.note("locks", "this system does not say who holds them"))
        return
      }
      if !holders.isEmpty { held[name] = holders }
    }
    if held.isEmpty { add(.ok("locks", "nobody holds one")) }
    for (name, holders) in held.sorted(by: { $0.key < $1.key }) {
      let what =
        switch name {
        case "store.lock", "turn.lock": "the lock of all writers"
        case _ where name.hasSuffix(".sign-in"): "the lock of sign-ins"
        default: "the lock of one account's refresh"
        }
      let words = "\(what) is held by \(holders.map(\.words).joined(separator: ", "))"
      if let stopped = holders.first(where: \.isStopped) {
        add(
          .problem(
            "locks", words, hint: "it lets go when it goes on or ends; run: kill -CONT \(stopped.process)"))
      } else {
        add(.note("locks", words))
      }
    }
  }
}
#endif
