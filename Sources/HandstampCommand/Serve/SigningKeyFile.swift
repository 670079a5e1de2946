#if Programs
import Foundation
import HandstampCore
import HandstampServer
import HandstampSupport

/// The keys that sign access tokens, in a file readable by its owner only. Created once; an unreadable file is never replaced.
/// Losing it signs out no client: a new key costs each client one refresh.
struct SigningKeyFile {
  var path: String

  func keys() throws(Refusal) -> SigningKeys {
    if let known = try load() { return known }
    let new = SigningKeys()
    var bytes = new.pem.withExposedBytes { Array($0) }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    // Another server may have been faster.
    do throws(SystemError) { _ = try AtomicFile.create(path, with: bytes) } catch {
      throw unusable("cannot be created: \(error.reason)")
    }
    guard let made = try load() else { throw unusable("cannot be created") }
    return made
  }

  private func load() throws(Refusal) -> SigningKeys? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw unusable("cannot be read")
    }
    defer { close(descriptor) }
    let mode = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    guard let mode, mode & 0o077 == 0 else {
      throw Refusal(.failure, "\(path) is readable by other users", hint: "run: chmod 600 \(path)")
    }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
    defer { for index in bytes.indices { bytes[index] = 0 } }
    guard count > 0 else { throw unusable("is empty") }
    do throws(SigningKeysFault) { return try SigningKeys(pem: Secret(bytes: bytes[..<count])) } catch {
      throw unusable("contains no usable P-256 key")
    }
  }

  private func unusable(_ what: String) -> Refusal {
    Refusal(.failure, "\(path) \(what)", hint: "restore the file, or remove it so that a new key is created")
  }
}
#endif
