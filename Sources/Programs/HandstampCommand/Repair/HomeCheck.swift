#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// Looks for damaged, missing or misplaced items in an installation, without changing anything. `status`, the hints and
/// `doctor` all use its results, so that they agree.
struct HomeCheck: Sendable {
  let home: Home
  private(set) var damages: [Damage] = []

  private init(of home: Home) { self.home = home }

  static func damages(of home: Home) async -> [Damage] {
    var check = HomeCheck(of: home)
    guard check.folder(), check.owner() else { return check.damages }
    check.plainFiles()
    guard check.vaultFolder() else { return check.damages }
    check.files()
    await check.vaults()
    return check.damages
  }

  mutating func add(
    _ check: String, _ words: String, _ cure: Damage.Cure, _ steps: [Damage.Step] = [], hidesSession: Bool = false
  ) {
    damages.append(Damage(check: check, words: words, cure: cure, steps: steps, hidesSession: hidesSession))
  }

  // MARK: The home

  /// Checks the folder. Returns whether the rest can be checked.
  private mutating func folder() -> Bool {
    guard let facts = FileFacts(home.path) else { return false }
    guard FileFacts.isFolder(home.path) else {
      let what = facts.isRegular ? "a file, not a folder" : "not a folder"
      add(
        "home", "\(home.path) is \(what)",
        .run("mv \(shellWord(home.path)) \(shellWord(free(home.path + ".aside")))"), hidesSession: true)
      return false
    }
    return checkMode(of: home.path, "home")
  }

  /// Checks owner and mode of a folder. Returns whether its contents can be checked.
  private mutating func checkMode(of path: String, _ check: String) -> Bool {
    guard let facts = FileFacts((path as NSString).resolvingSymlinksInPath), facts.owner == getuid() else {
      if access(path, R_OK | W_OK | X_OK) == 0 { return true }
      add(
        Damage.owner, "\(path) belongs to another user", .run("sudo chown -R \"$(id -u)\" \(shellWord(home.path))"),
        hidesSession: true)
      return false
    }
    if facts.mode & 0o022 != 0 {
      add(
        check, "\(path) is writable by other users: \(facts.modeText)", .fix, [.mode(path, 0o700)],
        hidesSession: check == "vault_folder")
      // No vault is read from such a folder.
      return check != "vault_folder"
    } else if facts.mode & 0o700 != 0o700 {
      add(check, "\(path) denies its owner access: \(facts.modeText)", .fix, [.mode(path, 0o700)], hidesSession: true)
      return access(path, R_OK | X_OK) == 0
    }
    return true
  }

  /// Whether this user owns everything, or can use it anyway: a command run with `sudo` may have left files of its own.
  private mutating func owner() -> Bool {
    let names = ["device", "settings.json", "folders", "mcp", "oauth", "networks", "refusals", "vault"]
    let inside = ((try? FileManager.default.contentsOfDirectory(atPath: home.vaultFolder)) ?? []).map { "vault/\($0)" }
    let foreign = (names + inside.sorted()).first { name in
      guard let facts = FileFacts("\(home.path)/\(name)"), facts.isRegular || facts.isFolder else { return false }
      return facts.owner != getuid() && access("\(home.path)/\(name)", R_OK | W_OK) != 0
    }
    guard let foreign else { return true }
    add(
      Damage.owner, "\(home.path)/\(foreign) belongs to another user",
      .run("sudo chown -R \"$(id -u)\" \(shellWord(home.path))"), hidesSession: true)
    return false
  }

  private mutating func plainFiles() {
    // A new one is created.
    do throws(CommandError) { _ = try home.knownDevice() } catch { plain(home.devicePath, "device", error.message) }
    do throws(CommandError) { _ = try home.settings() } catch {
      plain(home.settingsPath, "settings", error.message, [.rebuildSettings])
    }
    for name in ["folders", "oauth", "networks", "mcp", "refusals"] {
      let check = name == "refusals" ? "refresh" : name
      let path = "\(home.path)/\(name)"
      guard FileFacts(path) != nil else { continue }
      guard FileFacts.isFolder(path) else {
        add(check, "\(path) is not a folder", name == "refusals" ? .fix : .setAside, [.rename(path)])
        continue
      }
      if let facts = FileFacts(path), facts.mode & 0o700 != 0o700, facts.owner == getuid() {
        add(check, "\(path) denies its owner access: \(facts.modeText)", .fix, [.mode(path, 0o700)])
        continue
      }
      for file in ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() {
        let path = "\(path)/\(file)"
        guard file.hasSuffix(".json"), let why = damage(of: path, name) else { continue }
        // Only the user knows how an account signs in, and which one a folder uses.
        let isDecision = ["folders", "oauth", "networks"].contains(name)
        plain(path, check, "cannot read \(path): \(why)", cure: isDecision ? .setAside : .fix)
      }
    }
  }

  private func damage(of path: String, _ kind: String) -> String? {
    do throws(DescribedError) {
      switch kind {
      case "folders": _ = try PlainFile.json(at: path, as: FolderRules.Rule.self)
      case "networks": _ = try PlainFile.json(at: path, as: NetworkRecord.self)
      case "oauth": _ = try PlainFile.json(at: path, as: OAuthRecord.self)
      case "mcp": _ = try PlainFile.json(at: path, as: MCPConnection.self)
      default: _ = try PlainFile.json(at: path, as: RefusedRefresh.self)
      }
      return nil
    } catch { return error.description }
  }

  private mutating func plain(
    _ path: String, _ check: String, _ words: String, _ more: [Damage.Step] = [], cure: Damage.Cure = .fix
  ) {
    if let facts = FileFacts(path), facts.isRegular, facts.mode & 0o600 != 0o600, facts.owner == getuid() {
      return add(check, "\(path) denies its owner access: \(facts.modeText)", .fix, [.mode(path, 0o600)])
    }
    add(check, words, cure, [.rename(path)] + more)
  }

  // MARK: The folder of the vaults

  private mutating func vaultFolder() -> Bool {
    let path = home.vaultFolder
    guard let facts = FileFacts(path) else { return false }
    guard FileFacts.isFolder(path) else {
      let isLink = !facts.isRegular && (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) != nil
      let words = isLink ? "a symbolic link to a missing folder; is its disk mounted?" : "not a folder"
      add("vault_folder", "\(path) is \(words)", .setAside, [.rename(path)], hidesSession: true)
      return false
    }
    return checkMode(of: path, "vault_folder")
  }

  /// Checks type, owner and mode of files; other checks look at the content, if it matters.
  private mutating func files() {
    let folder = home.vaultFolder
    for name in ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() {
      let path = "\(folder)/\(name)"
      guard let facts = FileFacts(path) else { continue }
      guard facts.isRegular else {
        let isPlaceholder = HomeCheck.endings.contains { name.hasSuffix($0) }
        if isPlaceholder { add("vault_folder", "\(name) is not a file", .fix, [.renameVaultFile(name)]) }
        continue
      }
      let isSecret = name.hasSuffix(".vault") || name == "vault.key"
      let hidesSession = isSecret || name == FileAccountsStore.fileName
      guard facts.owner == getuid() else { continue }
      let check = name == "vault.key" ? "key_file" : name.hasSuffix(".vault") ? "vault_file" : "vault_folder"
      if facts.mode & 0o600 != 0o600 {
        add(
          check, "\(name) denies its owner access: \(facts.modeText)", .fix, [.mode(path, 0o600)],
          hidesSession: hidesSession
        )
      } else if isSecret, facts.mode & 0o077 != 0 {
        add(
          check, "\(name) is readable by other users: \(facts.modeText)", .fix, [.mode(path, 0o600)],
          hidesSession: name == "vault.key")
      }
    }
  }

  private static let endings = [
    ".lock", ".sign-in", ".attempt", ".room", ".audit", ".audit-older", ".audit-torn", ".audit-lock", ".changed",
  ]

  /// Returns the first of `path`, `path-2` … that does not exist.
  private func free(_ path: String) -> String {
    var (candidate, number) = (path, 1)
    while FileFacts(candidate) != nil {
      number += 1
      candidate = "\(path)-\(number)"
    }
    return candidate
  }
}

/// Checks the key, the vaults, and the list of accounts.
extension HomeCheck {
  mutating func vaults() async {
    let (isKeyBeside, isKeyLost) = await note()
    guard let inspection = try? VaultInspection(of: home.vaultFolder, isKeyBeside: isKeyBeside) else { return }
    key(inspection, isKeyBeside: isKeyBeside)
    let logs = inspection.strayLogs
    if !logs.isEmpty, isKeyLost || isKeyBeside && inspection.keyFile == .absent {
      let steps = logs.map { Damage.Step.renameVaultFile($0) }
      add(
        isKeyLost ? "key_store" : "key_file", "the key of \(logs.count) file(s) of audit logs is missing", .fix, steps)
    }
    var handles: [String: String] = [:]
    if case .success(let list) = await home.accounts.read() {
      let accounts = list.accounts.filter(\.isUsable)
      for account in accounts { handles[VaultInspection.digest(of: account.id)] = account.handle(among: accounts) }
    }
    for vault in inspection.vaults {
      look(at: vault, inspection, isKeyLost: isKeyLost, handle: handles[vault.digest])
    }
    await list(inspection)
  }

  /// Returns whether the key is in the file beside the vaults, and whether it is known to be missing from another store.
  private mutating func note() async -> (isKeyBeside: Bool, isKeyLost: Bool) {
    let name = VaultKeyPlace.noteName
    // A file its owner cannot read is reported separately; everything else may be fine.
    if let facts = FileFacts("\(home.vaultFolder)/\(name)"), facts.isRegular, facts.mode & 0o600 != 0o600 {
      return (false, false)
    }
    do throws(CommandError) {
      let store = try home.keyStore()
      switch store {
      case .file: return (true, false)
      case .secretService, .keychain:
        do throws(VaultError) { return (false, try await store.keeper?.load() == nil) } catch {
          return (false, false)
        }
      case .passphrase:
        let isThere = FileFacts(home.vaultFolder + "/passphrase.key")?.isRegular == true
        return (false, !isThere)
      case .unknown(let note):
        add(
          "key_store",
          "the key is kept in a place unknown to this version (\(note)), so no vault can be read",
          .setAside, [.renameVaultFile(name)], hidesSession: true)
        // The file beside the vaults is checked once the note is gone.
        return (false, false)
      }
    } catch {
      // If the key file exists, the note is useless.
      let hasFile = FileFacts(home.keyFile)?.isRegular == true
      add(
        "key_store", "cannot read \(name), which says where the key is", hasFile ? .fix : .setAside,
        [.renameVaultFile(name)], hidesSession: !hasFile)
      return (hasFile, false)
    }
  }

  private mutating func key(_ inspection: VaultInspection, isKeyBeside: Bool) {
    guard isKeyBeside else { return }
    let needsIt = inspection.vaults.contains { $0.condition == .keyMissing }
    let steps = [Damage.Step.renameVaultFile("vault.key")]
    switch inspection.keyFile {
    // Modes and owners are reported separately; anything else may be transient.
    case .good, .unreadable: break
    case .absent:
      if needsIt {
        add(
          "key_file", "vault.key is missing, and the vaults open only with it or a copy of it",
          .setAside, hidesSession: true)
      }
    case .damaged, .notFile:
      let words = inspection.keyFile == .damaged ? "vault.key is damaged" : "vault.key is not a file"
      add("key_file", words, needsIt ? .setAside : .fix, steps, hidesSession: needsIt)
    }
  }

  /// - Parameter handle: The name of its account on a command line, or `nil` if its account is unknown.
  private mutating func look(
    at vault: VaultInspection.Stored, _ inspection: VaultInspection, isKeyLost: Bool, handle: String?
  ) {
    var names = VaultInspection.filesOfKey(vault.digest)
    // With the sealed key file gone, the note must go, too.
    if isKeyLost, FileFacts(home.vaultFolder + "/passphrase.key")?.isRegular != true { names.append(noteOfPassphrase) }
    let whole = names.filter { inspection.names.contains($0) }.map { Damage.Step.renameVaultFile($0) }
    let alone = [Damage.Step.renameVaultFile(vault.name)]
    let name = "\(vault.digest.prefix(8))….vault"
    switch vault.condition {
    case .sealed:
      guard isKeyLost else { return }
      add("key_store", "the key of \(name) is missing", .setAside, whole, hidesSession: true)
    case .keyMissing:
      // A key file that is only unreadable becomes readable when its mode is fixed.
      if case .unreadable = inspection.keyFile { return }
      add("vault_file", "the key of \(name) is missing", .setAside, whole, hidesSession: true)
    case .otherKey:
      add("vault_file", "\(name) is sealed with a different key", .setAside, whole, hidesSession: true)
    case .otherFormat:
      let words = "\(name) was written by another version, which can read it"
      add("vault_file", words, .setAside, alone, hidesSession: true)
    case .notFile: add("vault_file", "\(name) is not a file", .setAside, alone, hidesSession: true)
    case .damaged:
      // Signing in sets it aside.
      if let handle {
        add(
          "vault_file", "\(name) is damaged", .run("handstamp login --account \(shellWord(handle))"), hidesSession: true
        )
      } else {
        add("vault_file", "\(name) is damaged", .setAside, alone, hidesSession: true)
      }
    case .unreadable: break
    }
  }

  /// The name of the note, if it says that a passphrase seals the key; else empty.
  private var noteOfPassphrase: String {
    if case .passphrase? = try? home.keyStore() { VaultKeyPlace.noteName } else { "" }
  }

  private mutating func list(_ inspection: VaultInspection) async {
    let recovery = AccountsRecovery(of: home, inspection)
    let rename = Damage.Step.renameVaultFile(FileAccountsStore.fileName)
    let path = "\(home.vaultFolder)/\(FileAccountsStore.fileName)"
    if let facts = FileFacts(path), facts.isRegular, facts.mode & 0o600 != 0o600, facts.owner == getuid() { return }
    switch await home.accounts.read() {
    case .failure(.corrupt):
      add("accounts", "the list of accounts is damaged", .fix, [rename, .rebuildList], hidesSession: true)
    case .failure:
      guard let facts = FileFacts(path) else { return }
      guard facts.isRegular else {
        let words = "the list of accounts is not a file"
        return add("accounts", words, .fix, [rename, .rebuildList], hidesSession: true)
      }
      // Anything else, such as too many open files, is transient.
      guard FileAccountsStore.isOtherFormat(in: home.vaultFolder) else { return }
      add(
        "accounts", "the list of accounts was written by another version, which can read it", .setAside,
        [rename, .rebuildList], hidesSession: true)
    case .success(let list):
      await strays(list, recovery, inspection)
    }
  }

  /// Reports sessions, and pending revocations, that belong to no listed account.
  private mutating func strays(
    _ list: AccountsList, _ recovery: AccountsRecovery, _ inspection: VaultInspection
  ) async {
    let strays = recovery.strays(beside: list)
    let known = strays.filter { recovery.account(of: $0.digest) != nil }
    if !known.isEmpty {
      add(
        "accounts", "\(known.count) stored session(s) are missing from the list of accounts", .fix,
        [.rebuildList],
        hidesSession: true)
    }
    let unrevoked = await recovery.countOfUnrevoked(beside: list)
    if unrevoked > 0 {
      add(
        "accounts", "\(unrevoked) removed account(s) with a pending revocation are missing from the list", .fix,
        [.rebuildList])
    }
    for stray in strays where recovery.account(of: stray.digest) == nil && stray.condition == .sealed {
      add(
        "accounts", "the session in \(stray.digest.prefix(8))….vault belongs to no known account", .setAside,
        [.renameVaultFile(stray.name)], hidesSession: true)
    }
    if list.accounts.contains(where: { !$0.isUsable && ServerAddress(of: $0.id) != nil }) {
      add("accounts", "an account on the list has no usable server", .fix, [.rebuildList])
    }
  }
}
#endif
