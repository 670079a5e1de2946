#if Command
import Foundation
import Handstamp
import HandstampCommandLine

/// Repairs an installation. Deletes nothing: damaged items are renamed.
struct Repair: Sendable {
  /// Completed repairs, one line each.
  private(set) var done: [String] = []
  /// The vaults' folder when it was checked: another process may sign in, or move the key, before a repair has the lock.
  private var seen: VaultInspection.Sight

  /// Repeats until no permitted repair is left: fixing one fault may reveal another.
  ///
  /// - Parameter settingAside: Whether unreadable items are given up, too.
  static func run(on home: Home, settingAside: Bool) async throws(CommandError) -> [String] {
    var repair = Repair(seen: VaultInspection.Sight(of: home.vaultFolder))
    for _ in 0..<8 {
      // A repair may have changed where the key is kept.
      let home = home.withNotedKey
      repair.seen = VaultInspection.Sight(of: home.vaultFolder)
      let damages = await HomeCheck.damages(of: home)
        .filter { !$0.steps.isEmpty && ($0.cure == .fix || settingAside && $0.cure == .setAside) }
      guard !damages.isEmpty else { break }
      var steps: [Damage.Step] = []
      for step in damages.flatMap(\.steps) where !steps.contains(step) { steps.append(step) }
      // Fix modes first, then check again: a file must not be set aside because of something a wrong mode hides.
      if steps.contains(where: \.isMode) { steps.removeAll { !$0.isMode } }
      // Rebuild last, from the files that are in place by then.
      for step in steps where !step.isRebuild { try await repair.take(step, in: home) }
      for step in steps where step.isRebuild { try await repair.take(step, in: home) }
    }
    return repair.done
  }

  private mutating func take(_ step: Damage.Step, in home: Home) async throws(CommandError) {
    switch step {
    case .mode(let path, let mode):
      guard chmod(path, mode_t(mode)) == 0 else { throw home.unwritable() }
      done.append("set the mode of \(path) to 0\(String(mode, radix: 8))")
    case .rename(let path):
      guard FileFacts(path) != nil else { return }
      let aside = try home.setAside(path)
      done.append("set aside \(path) as \((aside as NSString).lastPathComponent)")
    case .renameVaultFile(let name):
      let folder = home.vaultFolder
      let aside: String?
      do throws(VaultError) {
        aside = try await VaultInspection.alone(in: folder) { [seen] () throws(VaultError) in
          try VaultInspection.setAside(name, in: folder, seen: seen)
        }
      } catch {
        throw CommandError(error)
      }
      guard let aside else { return }
      seen.renamed(name)
      done.append("set aside \(folder)/\(name) as \(aside)")
    case .rebuildList:
      guard let inspection = try? VaultInspection(of: home.vaultFolder, isKeyBeside: home.key == .fileInVaultFolder)
      else { return }
      try await AccountsRecovery(of: home, inspection).rebuild()
      guard case .success(let list) = await home.accounts.read() else { return }
      done.append("rebuilt the list of accounts: \(list.accounts.count) account(s)")
    case .rebuildSettings:
      guard case .success(let list) = await home.accounts.read() else { return }
      guard let active = list.active.flatMap({ list[$0] }) ?? list.accounts.first, active.isUsable else { return }
      var settings = Settings(server: active.serverAddress)
      // If the list is ever lost, it is rebuilt from these servers.
      for server in list.accounts.filter(\.isUsable).map(\.serverAddress)
      where settings.servers?.contains(server) != true {
        settings.servers = (settings.servers ?? []) + [server]
      }
      try home.save(settings)
      done.append("rebuilt \(home.path)/settings.json")
    }
  }
}

extension Damage.Step {
  fileprivate var isRebuild: Bool {
    switch self {
    case .rebuildList, .rebuildSettings: true
    case .rename, .renameVaultFile, .mode: false
    }
  }
}
#endif
