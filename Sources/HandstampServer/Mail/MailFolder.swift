#if Server
import Foundation
public import HandstampCore
import HandstampRegistry

/// Writes each mail to a file in a folder instead of sending it: for trials, for tests, or for another program to pick up. A file is
/// removed after ``memory``, when the code in it has expired.
public struct MailFolder: Mailer {
  /// How long a mail stays in the folder.
  public static let memory = OneTimeTokenLimits.confirmation

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
    await tidy(at: mail.sentAt)
  }

  /// Removes the mails that are older than ``memory``, and drafts that a crash left. Other files stay.
  @concurrent public func tidy(at now: UnixTime) async {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      guard name.hasSuffix(".eml") || name.hasPrefix("."),
        let time = Int64(name.drop { $0 == "." }.prefix { $0 != "-" }), name.contains("-"),
        now.since(UnixTime(milliseconds: time)) >= MailFolder.memory
      else { continue }
      unlink("\(path)/\(name)")
    }
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
