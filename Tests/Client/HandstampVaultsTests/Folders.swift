import Foundation
import Handstamp

/// A new folder, removed with the last reference.
final class NewFolder: Sendable {
  let path: String

  init() throws {
    let base = FileManager.default.temporaryDirectory.path
    path = "\(base)/handstamp-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// A vault in its own subfolder, which the vault creates. It waits longer for the lock than an app's: on a busy machine, the
  /// other holders can be slow.
  func vault(_ account: String = "ada", key: VaultKey = .fileInVaultFolder) -> SealedFileVault {
    SealedFileVault(folder: vaults, account: AccountID(account), key: key, patience: .seconds(120))
  }

  var vaults: String { path + "/state/vault" }

  /// The names in the vaults' folder, sorted.
  func names() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: vaults)) ?? []).sorted()
  }

  /// The names with that suffix.
  func names(ending: String) -> [String] { names().filter { $0.hasSuffix(ending) } }

  func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(vaults)/\(name)")))
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    let path = "\(vaults)/\(name)"
    if !FileManager.default.fileExists(atPath: path) { return try Data(bytes).write(to: URL(fileURLWithPath: path)) }
    // In place: some file systems flush a truncated and rewritten file at once, which takes time.
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.write(contentsOf: Data(bytes))
    try file.truncate(atOffset: UInt64(bytes.count))
    try file.close()
  }

  func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: "\(vaults)/\(name)")
  }

  func mode(_ name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? vaults : "\(vaults)/\(name)")
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }
}
