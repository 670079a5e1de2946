import HandstampCore

#if canImport(Darwin)
import Darwin
import Foundation
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// What reading and writing share.
extension SealedFileVault {
  /// The sealed file's bytes; `nil` when its absence is confirmed. An empty file is a broken one.
  func load(in folder: PosixFile) throws(VaultTrouble) -> [UInt8]? {
    guard let file = try folder.open(files.vault, flags: O_RDONLY) else {
      try place.confirmAbsence(in: folder, trace: files.flightLock, count: 8)
      return nil
    }
    try place.confirm(folder)
    guard try file.status().isRegular else { throw .unavailable("there is something else in place of the vault file") }
    return try file.readAll(limit: SealedFormat.sizeLimit)
  }

  func open(_ file: [UInt8], key: SealingKey?) throws(VaultTrouble) -> VaultEntry {
    guard file.count <= SealedFormat.sizeLimit else { throw .corrupt }
    // Broken bytes are broken whatever the key.
    _ = try SealedFormat.Header(file)
    guard let key else { throw VaultKey.missing }
    return try SealedFormat.open(file, account: account, key: key)
  }

  /// Returns when the names in the folder have reached the disk.
  func sync(_ folder: PosixFile) throws(VaultTrouble) {
    try folder.sync(attempt: "syncing the vault's folder")
  }

  /// Keeps the folder out of back-ups, where the system can: a restored vault looks like a copied one to the server. Not
  /// worth failing for.
  func excludeFromBackups(_ folder: PosixFile, names: [String]) {
    #if canImport(Darwin)
    var url = URL(fileURLWithPath: self.folder, isDirectory: true)
    var values = URLResourceValues()
    values.isExcludedFromBackup = true
    try? url.setResourceValues(values)
    #else
    if names.contains(VaultFiles.backupTag) { return }
    // https://bford.info/cachedir/: the first 43 bytes are what back-up programs look for.
    let text = "Signature: 8a477f597d28d172789f06886806bc55\n# Keys and tokens of this device: not for back-ups.\n"
    try? folder.create(VaultFiles.backupTag).write(Array(text.utf8), attempt: "writing \(VaultFiles.backupTag)")
    #endif
  }
}
