#if Server
import Foundation
import HandstampCore

/// Puts every mail into a folder, a file each, instead of sending it: to try things out, for tests, or for a program that
/// takes them from there.
public struct MailFolder: Mailer {
  public let path: String

  /// - Parameter path: made when it is missing, for its owner alone.
  public init(path: String) { self.path = path }

  /// The file appears whole or not at all, for its owner alone, under a name that sorts by time and ends in `.eml`.
  @concurrent public func send(_ mail: Mail) async throws(MailFault) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw fault("made") }
    let name = "\(mail.sentAt.milliseconds)-\(mail.id)"
    guard !name.contains("/") else { throw .unavailable("a mail has no usable id") }
    let draft = "\(path)/.\(name)"
    defer { unlink(draft) }
    try mail.message(.crlf).write(to: draft)
    guard link(draft, "\(path)/\(name).eml") == 0 else { throw fault("written to") }
  }

  private func fault(_ what: String) -> MailFault {
    .unavailable("the folder for mails cannot be \(what): \(String(cString: strerror(errno)))")
  }
}

extension Secret {
  /// Writes a new file for its owner alone.
  func write(to path: String) throws(MailFault) {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unavailable("a mail cannot be written: \(String(cString: strerror(errno)))") }
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
    guard isWritten else { throw .unavailable("a mail cannot be written: \(String(cString: strerror(errno)))") }
  }
}
#endif
