#if Server
import Foundation
import HandstampCore

/// Hands mails to the system's mail program through its standard interface: `sendmail -t -i`, with the mail on standard
/// input. No shell is involved, and no part of a mail is passed on the command line.
public struct Sendmail: Mailer {
  public let program: String
  public let limit: Duration

  /// - Parameters:
  ///   - program: an absolute path.
  ///   - limit: how long the program may take for one mail.
  public init(program: String = "/usr/sbin/sendmail", limit: Duration = .seconds(30)) {
    self.program = program
    self.limit = limit
  }

  @concurrent public func send(_ mail: Mail) async throws(MailError) {
    // An unlinked file instead of a pipe, so that a program that exits without reading does no harm.
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("mail-\(UUID().uuidString)").path
    defer { unlink(path) }
    try mail.message(.lf).write(to: path)
    guard let input = FileHandle(forReadingAtPath: path) else { throw .unavailable("cannot reopen the mail") }
    unlink(path)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["-t", "-i"]
    process.environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    process.standardInput = input
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    let status: Int32?
    do { status = try await process.run(within: limit) } catch { throw .unavailable("cannot run \(program)") }
    guard let status else { throw .timedOut }
    guard status == 0 else { throw .refused(status: status) }
  }
}
#endif
