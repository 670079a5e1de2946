#if Programs
import Foundation
import HandstampCore
import HandstampVaults

/// Puts an installation right. Nothing is deleted: what is in the way gets another name.
struct Repair: Sendable {
  let home: Home
  /// Whether what cannot be read is given up as well.
  let setsAside: Bool
  /// What was done, a line each.
  private(set) var done: [String] = []

  /// Goes on until nothing is left that it may do: behind one damage there may be another.
  static func run(on home: Home, settingAside: Bool) async throws(Refusal) -> [String] {
    var repair = Repair(home: home, setsAside: settingAside)
    for _ in 0..<8 {
      // The key's place may be another one by now.
      let home = (try? Home.current()) ?? home
      let damages = await HomeCheck.damages(of: home)
        .filter { !$0.steps.isEmpty && ($0.cure == .fix || settingAside && $0.cure == .setAside) }
      guard !damages.isEmpty else { break }
      var steps: [Damage.Step] = []
      for step in damages.flatMap(\.steps) where !steps.contains(step) { steps.append(step) }
      // What is closed is opened first, and looked at anew: nothing is set aside because of what it hides.
      if steps.contains(where: \.isMode) { steps.removeAll { !$0.isMode } }
      // What is made anew is made of what is in its place by then.
      for step in steps where !step.isRebuild { try await repair.take(step, in: home) }
      for step in steps where step.isRebuild { try await repair.take(step, in: home) }
    }
    return repair.done
  }

  private init(home: Home, setsAside: Bool) {
    self.home = home
    self.setsAside = setsAside
  }

  private mutating func take(_ step: Damage.Step, in home: Home) async throws(Refusal) {
    switch step {
    case .mode(let path, let mode):
      guard chmod(path, mode_t(mode)) == 0 else { throw home.unwritable() }
      done.append("set the mode of \(path) to 0\(String(mode, radix: 8))")
    case .rename(let path):
      guard FileFacts(path) != nil else { return }
      var number = 1
      while FileFacts("\(path).corrupt-\(number)") != nil { number += 1 }
      guard rename(path, "\(path).corrupt-\(number)") == 0 else { throw home.unwritable() }
      done.append("set aside \(path) as \(((path as NSString).lastPathComponent)).corrupt-\(number)")
    case .renameVaultFile(let name):
      let folder = home.vaultFolder
      let aside: String?
      do throws(VaultTrouble) {
        aside = try await VaultInspection.alone(in: folder) { () throws(VaultTrouble) in
          try VaultInspection.setAside(name, in: folder)
        }
      } catch {
        throw Refusal(error)
      }
      if let aside { done.append("set aside \(folder)/\(name) as \(aside)") }
    case .rebuildList:
      guard let inspection = try? VaultInspection(of: home.vaultFolder, isKeyBeside: home.key == .fileBeside) else {
        return
      }
      try await AccountsRecovery(of: home, inspection).rebuild()
      guard case .success(let list) = await home.index.read() else { return }
      done.append("made the list of accounts anew: \(list.accounts.count) account(s)")
    case .rebuildSettings:
      guard case .success(let list) = await home.index.read() else { return }
      let active = (list.active.flatMap { list[$0] } ?? list.accounts.first).flatMap { Account($0) }
      guard let active else { return }
      var settings = Settings(server: active.server, formerServers: nil, hasList: true)
      // The list may be lost one day, and be made anew by them.
      for server in list.accounts.compactMap({ Account($0)?.server }) where settings.servers?.contains(server) != true {
        settings.servers = (settings.servers ?? []) + [server]
      }
      try home.save(settings)
      done.append("wrote \(home.path)/settings.json anew")
    }
  }
}

extension Damage.Step {
  fileprivate var isMode: Bool { if case .mode = self { true } else { false } }

  fileprivate var isRebuild: Bool {
    switch self {
    case .rebuildList, .rebuildSettings: true
    case .rename, .renameVaultFile, .mode: false
    }
  }
}
#endif
