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
    for (name, check) in [
      ("folders", "folders"), ("oauth", "oauth"), ("networks", "networks"), ("mcp", "mcp"),
      ("refusals", "refresh"),
    ] {
      let path = "\(home.path)/\(name)"
      guard FileFacts(path) != nil else { continue }
      guard FileFacts.isFolder(path) else {
        let isDecision = name != "refusals"
        add(check, "\(path) is not a folder", isDecision ? .setAside : .fix, [.rename(path)])
        continue
      }
      if let facts = FileFacts(path), facts.mode & 0o700 != 0o700, facts.owner == getuid() {
        add(check, "\(path) denies its owner access: \(facts.modeText)", .fix, [.mode(path, 0o700)])
        continue
      }
      for file in ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() {
        let path = "\(path)/\(file)"
        guard file.hasSuffix(".json"), let why = damage(of: path, name) else { continue }
        let words = "cannot read \(path): \(why)"
        switch name {
        // Only the user knows how an account signs in, and which one a folder uses.
        case "folders", "oauth", "networks": plain(path, check, words, cure: .setAside)
        default: plain(path, check, words)
        }
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
      let words =
        isLink
        ? "\(path) is a symbolic link to a missing folder; is its disk mounted?"
        : "\(path) is not a folder"
      add("vault_folder", words, .setAside, [.rename(path)], hidesSession: true)
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
      let hidesSession = isSecret || name == FileAccountsIndex.fileName
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
#endif
