#if Operator
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampServer
import HandstampSupport

/// The keys that sign access tokens, in a file readable by its owner only. Created once; an unreadable file is never replaced.
/// Losing it signs out no client: a new key costs each client one refresh.
struct SigningKeyFile {
  var path: String

  /// Returns the keys. A new file gets a key of P-256.
  ///
  /// - Parameter needsRSA: whether a file without an RSA key gets one, unless the server may only read it. That takes up to a second.
  func keys(needsRSA: Bool) throws(CommandError) -> SigningKeys {
    let known = if let keys = try load() { keys } else { try create() }
    guard needsRSA, !known.algorithms.contains(.rs256) else { return known }
    return try withRSAKey() ?? known
  }

  private func create() throws(CommandError) -> SigningKeys {
    let new = SigningKeys()
    // Another server may have been faster.
    do throws(SystemError) {
      try writing(new) { bytes throws(SystemError) in _ = try AtomicFile.create(path, with: bytes) }
    } catch { throw unusable("cannot be created: \(error.reason)") }
    guard let made = try load() else { throw unusable("cannot be created") }
    return made
  }

  /// Adds an RSA key to the file. Servers on one folder take turns, so that none replaces the key of another. Returns `nil` if
  /// the file may not be changed.
  private func withRSAKey() throws(CommandError) -> SigningKeys? {
    let lock = open(path + ".lock", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard lock >= 0 else { return try unchanged(SystemError(attempt: "locking", code: errno)) }
    // Gives up the lock as well.
    defer { close(lock) }
    do throws(SystemError) { try SystemCall.retried("locking") { flock(lock, LOCK_EX) } } catch {
      return try unchanged(error)
    }
    guard let known = try load() else { throw unusable("was removed") }
    // Another server may have been faster.
    guard !known.algorithms.contains(.rs256) else { return known }
    let new: SigningKeys
    do throws(ServerConfigurationError) { new = try known.withRSAKey() } catch {
      throw unusable("cannot be changed: \(error)")
    }
    do throws(SystemError) {
      try writing(new) { bytes throws(SystemError) in try AtomicFile.replace(path, with: bytes) }
    } catch { return try unchanged(error) }
    return new
  }

  /// Where the server may not write, its keys are as the operator provides them.
  private func unchanged(_ error: SystemError) throws(CommandError) -> SigningKeys? {
    guard [EACCES, EPERM, EROFS].contains(error.code) else { throw unusable("cannot be changed: \(error.reason)") }
    return nil
  }

  private func writing(_ keys: SigningKeys, by write: ([UInt8]) throws(SystemError) -> Void) throws(SystemError) {
    var bytes = keys.pem.withExposedBytes { Array($0) }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    try write(bytes)
  }

  private func load() throws(CommandError) -> SigningKeys? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw unusable("cannot be read")
    }
    defer { close(descriptor) }
    guard let facts = FileFacts(descriptor: descriptor), facts.mode & 0o077 == 0 else {
      throw CommandError(.failure, "\(path) is readable by other users", hint: "run: chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    guard count > 0 else { throw unusable("is empty") }
    do throws(ServerConfigurationError) { return try SigningKeys(pem: Secret(bytes: bytes[..<count])) } catch {
      throw unusable("cannot be used: \(error)")
    }
  }

  private func unusable(_ what: String) -> CommandError {
    CommandError(
      .failure, "\(path) \(what)", hint: "restore the file, or move it away: new keys cost each client one refresh")
  }
}
#endif
