#if Server
import Foundation
import HandstampCore

/// Writes each mail to a file in a folder instead of sending it: for trials, for tests, or for another program to pick up.
public struct MailFolder: Mailer {
  public let path: String

  /// - Parameter path: created if it is missing, accessible only by its owner.
  public init(path: String) { self.path = path }

  /// Writes the mail atomically to a file that only its owner can read. The names sort by time and end in `.eml`.
  @concurrent public func send(_ mail: Mail) async throws(MailFault) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw fault("create") }
    let name = "\(mail.sentAt.milliseconds)-\(mail.id)"
    guard !name.contains("/") else { throw .unavailable("the mail has no usable ID") }
    let draft = "\(path)/.\(name)"
    defer { unlink(draft) }
    try mail.message(.crlf).write(to: draft)
    guard link(draft, "\(path)/\(name).eml") == 0 else { throw fault("write to") }
  }

  private func fault(_ what: String) -> MailFault {
    .unavailable("cannot \(what) the mail folder: \(String(cString: strerror(errno)))")
  }
}

extension Secret {
  /// Writes a new file that only its owner can read.
  func write(to path: String) throws(MailFault) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unavailable("cannot write the mail: \(String(cString: strerror(errno)))") }
    defer { close(file) }
    let isWritten = withExposedBytes { bytes in
      var written = 0
      while written < bytes.count {
        let count = Foundation.write(file, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        guard count > 0 || errno == EINTR else { return false }
        written += max(count, 0)
      }
      return true
    }
    guard isWritten else { throw .unavailable("cannot write the mail: \(String(cString: strerror(errno)))") }
  }
}
#endif
