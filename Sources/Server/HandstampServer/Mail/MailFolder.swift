#if Server
import Foundation
public import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Writes each mail to a file in a folder instead of sending it: for trials, for tests, or for another program to pick up. A file is
/// removed after ``memory``, when the code in it has expired.
public struct MailFolder: Mailer {
  /// How long a mail stays in the folder.
  public static let memory = OneTimeTokenLimits.confirmation

  public let path: String

  /// - Parameter path: created if it is missing, accessible only by its owner.
  public init(path: String) { self.path = path }

  /// Writes the mail atomically to a file that only its owner can read. The names sort by time and end in `.eml`.
  @concurrent public func send(_ mail: Mail) async throws(MailError) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .unavailable("cannot create the mail folder: \(String(cString: strerror(errno)))")
    }
    let name = "\(mail.sentAt.milliseconds)-\(mail.id)"
    guard !name.contains("/") else { throw .unavailable("the mail has no usable ID") }
    try mail.message(.crlf).write(to: "\(path)/\(name).eml")
    await tidy(at: mail.sentAt)
  }

  /// Removes the mails that are older than ``memory``, and drafts that a crash left. Other files stay.
  @concurrent public func tidy(at now: UnixTime) async {
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      guard name.hasSuffix(".eml") || name.hasSuffix(".new") || name.hasPrefix("."),
        let time = Int64(name.drop { $0 == "." }.prefix { $0 != "-" }), name.contains("-"),
        now.since(UnixTime(milliseconds: time)) >= MailFolder.memory
      else { continue }
      unlink("\(path)/\(name)")
    }
  }
}

extension Secret {
  /// Writes a new file that only its owner can read.
  func write(to path: String) throws(MailError) {
    let bytes = withExposedBytes { Array($0) }
    do throws(SystemError) {
      if try AtomicFile.create(path, with: bytes) { return }
    } catch { throw .unavailable("cannot write the mail: \(error.reason)") }
    throw .unavailable("cannot write the mail: \(path) exists")
  }
}
#endif
