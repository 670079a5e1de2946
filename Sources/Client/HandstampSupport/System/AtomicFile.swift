/// Whole files that only their owner can read by default, written atomically and durably: a crash or a power failure at any instant
/// leaves the old content or the new one.
package enum AtomicFile {
  /// Creates or replaces the file at `path`, which then has the permission bits `mode`, whatever the umask.
  package static func replace(_ path: String, with bytes: [UInt8], mode: UInt32 = 0o600) throws(SystemError) {
    let draft = try self.draft(of: bytes, mode: mode, beside: path)
    do throws(SystemError) { try SystemCall.retried("replacing \(path)") { rename(draft, path) } } catch {
      unlink(draft)
      throw error
    }
    try syncFolder(of: path)
  }

  /// Creates the file at `path`. Returns `false` and changes nothing if something is there already.
  package static func create(_ path: String, with bytes: [UInt8]) throws(SystemError) -> Bool {
    let draft = try self.draft(of: bytes, beside: path)
    defer { unlink(draft) }
    do throws(SystemError) { try SystemCall.retried("creating \(path)") { link(draft, path) } } catch {
      if error.code == EEXIST { return false }
      throw error
    }
    try syncFolder(of: path)
    return true
  }

  /// Makes the names in the folder of `path` durable.
  package static func syncFolder(of path: String) throws(SystemError) {
    let folder = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    let name = folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
    let descriptor = try SystemCall.retried("opening \(name)") { open(name, O_RDONLY | O_CLOEXEC) }
    defer { close(descriptor) }
    try SystemCall.sync(descriptor, attempt: "syncing \(name)")
  }

  private static func draft(of bytes: [UInt8], mode: UInt32 = 0o600, beside path: String) throws(SystemError) -> String
  {
    let draft = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).new"
    let descriptor = try SystemCall.retried("creating \(path)") {
      open(draft, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    }
    defer { close(descriptor) }
    do throws(SystemError) {
      // Not every file system has modes to set.
      if mode != 0o600 { _ = try SystemCall.retried("writing \(path)") { fchmod(descriptor, mode_t(mode)) } }
      try SystemCall.write(bytes, to: descriptor, attempt: "writing \(path)")
      try SystemCall.sync(descriptor, attempt: "writing \(path)")
    } catch {
      unlink(draft)
      throw error
    }
    return draft
  }
}
