import Foundation
import HandstampCore

/// The file of a key: 32 bytes, accessible to its owner only.
enum KeyStorage {
  /// The key at `path`; `nil` if there is no such file.
  static func read(_ path: String) throws(VaultError) -> Secret? {
    let files = FileManager.default
    guard files.fileExists(atPath: path) else { return nil }
    let mode = (try? files.attributesOfItem(atPath: path))?[.posixPermissions] as? NSNumber
    guard let mode, mode.intValue & 0o077 == 0 else {
      throw .permissions("other users can use \(path): its mode should be 0600")
    }
    guard let data = files.contents(atPath: path) else { throw .permissions("\(path) cannot be read") }
    return Secret(bytes: data)
  }

  /// Stores `key` at `path`, durably and atomically. Another process may be faster: returns the key that is stored then.
  static func create(_ path: String, _ key: Secret) throws(VaultError) -> Secret {
    let files = FileManager.default
    let draft = "\(path).\(UUID().uuidString)"
    let data = key.withExposedBytes { Data($0) }
    defer { try? files.removeItem(atPath: draft) }
    do {
      // Only its owner can open the file before the key is in it.
      try Data().write(to: URL(fileURLWithPath: draft), options: .withoutOverwriting)
      try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: draft)
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: draft))
      try handle.write(contentsOf: data)
      try handle.synchronize()
      try handle.close()
      // A hard link never replaces a file.
      do { try files.linkItem(atPath: draft, toPath: path) } catch CocoaError.fileWriteFileExists {}
    } catch { throw VaultError(writing: path, error) }
    guard let stored = try read(path) else { throw .unavailable("\(path) cannot be created") }
    return stored
  }
}

extension VaultError {
  /// Classifies Foundation's error for a file that could not be written.
  fileprivate init(writing path: String, _ error: any Error) {
    self =
      switch (error as? CocoaError)?.code {
      case .fileWriteOutOfSpace?: .full("disk full (writing \(path))")
      case .fileWriteNoPermission?, .fileWriteVolumeReadOnly?: .permissions("\(path) cannot be written: no permission")
      default: .unavailable("\(path) cannot be written (error \((error as NSError).code))")
      }
  }
}
