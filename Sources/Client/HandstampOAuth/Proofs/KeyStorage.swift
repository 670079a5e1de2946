import Foundation
import HandstampCore
import HandstampSupport

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
    let bytes = key.withExposedBytes { Array($0) }
    do throws(SystemError) { _ = try AtomicFile.create(path, with: bytes) } catch {
      switch error.code {
      case ENOSPC, EDQUOT: throw .full("disk full (writing \(path))")
      case EACCES, EPERM, EROFS: throw .permissions("no permission to write \(path)")
      default: throw .unavailable("\(path) cannot be written (error \(error.code))")
      }
    }
    guard let stored = try read(path) else { throw .unavailable("\(path) cannot be created") }
    return stored
  }
}
