import HandstampCore
import HandstampSupport

#if canImport(Darwin)
import Foundation
#endif

/// Helpers for both reading and writing.
extension SealedFileVault {
  /// Returns the sealed file's bytes, or `nil` if its absence is confirmed. An empty file is corrupt.
  func load(in folder: PosixFile) throws(VaultError) -> [UInt8]? {
    guard let file = try folder.open(files.vault, flags: O_RDONLY) else {
      try place.confirmAbsence(in: folder, trace: files.flightLock, count: 8)
      return nil
    }
    try place.confirm(folder)
    guard try file.status().isRegular else { throw .unavailable("the vault file is not a regular file") }
    return try file.readAll(limit: SealedFormat.sizeLimit)
  }

  func open(_ file: [UInt8], key: SealingKey?) throws(VaultError) -> VaultEntry {
    guard file.count <= SealedFormat.sizeLimit else { throw .corrupt }
    return try SealedFormat.open(file, of: .vault(account), key: key) { VaultEntry(revision: $0, fields: $1) }
  }
}

extension VaultFolder {
  /// Excludes the folder from backups where the system supports it: to the server, a restored vault looks like a
  /// copied one. Failures are ignored.
  func excludeFromBackups(_ folder: PosixFile, names: [String]) {
    #if canImport(Darwin)
    var url = URL(fileURLWithPath: path, isDirectory: true)
    var values = URLResourceValues()
    values.isExcludedFromBackup = true
    try? url.setResourceValues(values)
    #else
    if names.contains(VaultFiles.backupTag) { return }
    // https://bford.info/cachedir/: backup programs look for the first 43 bytes.
    let text = "Signature: 8a477f597d28d172789f06886806bc55\n# Keys and tokens of this device. Do not back up.\n"
    try? folder.create(VaultFiles.backupTag).write(Array(text.utf8), attempt: "writing \(VaultFiles.backupTag)")
    #endif
  }
}
