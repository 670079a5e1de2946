/// A file that is being written. Only its owner can read it.
package final class NewFile: Sendable {
  private let descriptor: Int32

  /// Creates the file, in place of one of an earlier attempt.
  ///
  /// - Throws: ``SystemError`` with `EEXIST` if there is anything else of that name: a device, a pipe, a link.
  package init(_ path: String) throws(SystemError) {
    var facts = stat()
    if fstatat(AT_FDCWD, path, &facts, AT_SYMLINK_NOFOLLOW) == 0, facts.st_mode & S_IFMT == S_IFREG { unlink(path) }
    descriptor = try SystemCall.retried("creating a file") {
      open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
    }
  }

  deinit { close(descriptor) }

  package func append(_ bytes: [UInt8]) throws(SystemError) {
    try SystemCall.write(bytes, to: descriptor, attempt: "writing a file")
  }
}
