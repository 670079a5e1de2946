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
    // Only its owner can ever open the file.
    let descriptor = open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw VaultError(writing: path, code: errno)
    }
    defer { try? files.removeItem(atPath: draft) }
    do {
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
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
    let system = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError) ?? error as NSError
    self.init(writing: path, code: Int32(clamping: system.domain == NSPOSIXErrorDomain ? system.code : 0))
  }

  fileprivate init(writing path: String, code: Int32) {
    self =
      switch code {
      case ENOSPC, EDQUOT: .full("disk full (writing \(path))")
      case EACCES, EPERM, EROFS: .permissions("no permission to write \(path)")
      default: .unavailable("\(path) cannot be written (error \(code))")
      }
  }
}
