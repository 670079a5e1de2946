#if Programs
import HandstampCore
import HandstampServer
import HandstampSupport

/// Captures a server's mails, and waits for the next one. It can delay them, or fail.
final class Post: Mailer {
  struct Letter: Sendable {
    var to: String
    var subject: String
    var text: String
    /// The secret in the mail; `nil` if there is none.
    var code: String? { text.split(separator: "\n").first { $0.hasPrefix("hsl1.") }.map { String($0) } }
  }

  private let letters = Locked<[Letter]>([])
  private let fault: MailFault?
  private let gate: Gate?
  private let (arrivals, continuation) = AsyncStream.makeStream(of: Letter.self)

  init(failing fault: MailFault? = nil, behind gate: Gate? = nil) {
    self.fault = fault
    self.gate = gate
  }

  @concurrent func send(_ mail: Mail) async throws(MailFault) {
    await gate?.pass()
    if let fault { throw fault }
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

/// Blocks every mail until it is opened.
actor Gate {
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func pass() async {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  func open() {
    isOpen = true
    for waiter in waiting { waiter.resume() }
    waiting = []
  }
}
#endif
