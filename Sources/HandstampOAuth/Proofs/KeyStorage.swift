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
    guard files.createFile(atPath: draft, contents: data, attributes: [.posixPermissions: 0o600]) else {
      throw .unavailable("\(path) cannot be created")
    }
    defer { try? files.removeItem(atPath: draft) }
    do {
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: draft))
      try handle.synchronize()
      try handle.close()
    } catch { throw .unavailable("\(path) cannot be written") }
    // A hard link never replaces a file.
    try? files.linkItem(atPath: draft, toPath: path)
    guard let stored = try read(path) else { throw .unavailable("\(path) cannot be created") }
    return stored
  }
}
