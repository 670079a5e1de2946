#if Programs
import HandstampCore
import HandstampServer
import HandstampSupport
import HandstampTesting

/// Captures a server's mails, and waits for the next one. It can delay them, or fail for some or all.
final class Post: Mailer {
  struct Letter: Sendable {
    var to: String
    var subject: String
    var text: String
    /// The secret in the mail; `nil` if there is none.
    var code: String? { text.split(separator: "\n").first { $0.hasPrefix("hsl1.") }.map { String($0) } }
  }

  private let letters = Locked<[Letter]>([])
  private let faults: Locked<[MailError]>
  private let gate: Gate?
  private let (arrivals, continuation) = AsyncStream.makeStream(of: Letter.self)

  /// - Parameter faults: of the first mails.
  init(failing faults: [MailError] = [], behind gate: Gate? = nil) {
    self.faults = Locked(faults)
    self.gate = gate
  }

  @concurrent func send(_ mail: Mail) async throws(MailError) {
    await gate?.wait()
    if let fault = faults.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw fault }
    let letter = Letter(to: mail.to.address, subject: "\(mail.subject)", text: mail.text.withExposed { $0 })
    letters.withLock { $0.append(letter) }
    continuation.yield(letter)
  }

  var all: [Letter] { letters.withLock { $0 } }

  struct Closed: Error {}
  func next() async throws -> Letter {
    for await letter in arrivals { return letter }
    throw Closed()
  }
}
#endif
