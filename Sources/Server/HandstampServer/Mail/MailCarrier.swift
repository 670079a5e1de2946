#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Sends the mails in the ``Outbox``, see ``JobWorker``.
struct MailCarrier: NamedService {
  /// How often the store is looked at without a signal: for mails of other servers, and of those that died.
  private static let pollInterval = Duration.seconds(5)
  static let pause = JobPause(first: .seconds(30), longest: .seconds(3600))
  /// How long after the request for it a mail is still sent.
  static let patience = Duration.seconds(24 * 3600)
  /// How long a notice that was sent counts towards the most that an account gets.
  private static let noticeMemory = Duration.seconds(3600)
  /// Minimum time between two mails of one kind to one address. A request in between gets the same response, but sends no mail.
  private static let interval = Duration.seconds(60)
  /// How long a server has a mail for itself while it sends it, longer than mailers take. If the server dies, another sends it then.
  private static let lease = Duration.seconds(120)

  let server: SessionServer

  func run() async throws {
    // Without one, mail is not set up.
    guard let mailer = server.mailer else {
      try? await gracefulShutdown()
      return
    }
    let tidied = Locked<UnixTime?>(nil)
    await JobWorker<MailJob>(
      server: server, bell: server.lasting.outbox.bell, interval: MailCarrier.pollInterval,
      width: server.configuration.mail.atOnce, lease: MailCarrier.lease,
      tidy: {
        let now = server.clock.now
        let isTime = tidied.withLock { last in
          guard last.map({ now.since($0) >= .seconds(3600) }) ?? true else { return false }
          last = now
          return true
        }
        if isTime { await (server.current.mailer ?? mailer).tidy(at: server.clock.read().wall) }
      }
    ) { mail in
      let current = server.current
      try await MailCarrier(server: current).deliver(mail, with: current.mailer ?? mailer)
    }.run()
  }

  /// Looks up the account, and sends the mail if there is one to send.
  private func deliver(_ claimed: ClaimedMail, with mailer: any Mailer) async throws {
    guard server.clock.now.since(claimed.createdAt) < MailCarrier.patience else {
      return try await giveUp(claimed, nil)
    }
    guard
      let (mail, letter) = try await server.registry.write(
        claimed, leasedUntil: server.clock.now.advanced(by: MailCarrier.lease), now: server.clock.now)
    else { return }
    if let letter { try await send(letter, of: mail, with: mailer) } else { try await finish(mail) }
  }

  private func send(_ letter: Letter, of mail: ClaimedMail, with mailer: any Mailer) async throws {
    do throws(MailError) {
      let writer = MailWriter(configuration: server.configuration, pages: server.pages)
      try await mailer.send(try writer.mail(letter, at: server.clock.read().wall))
      server.metrics.update { $0.mailsSent += 1 }
    } catch {
      server.metrics.update { $0.mailsFailed += 1 }
      let pause = MailCarrier.pause.after(attempts: mail.job.tries.attempts)
      let next = server.clock.now.advanced(by: pause)
      guard !error.isPermanent, next.since(mail.createdAt) < MailCarrier.patience else {
        return try await giveUp(mail, error)
      }
      var metadata = metadata(of: mail)
      metadata["handstamp.cause"] = "\(error)"
      metadata["handstamp.retry_seconds"] = "\(pause.components.seconds)"
      server.configuration.logger.warning("Mail delivery failed; will retry", metadata: metadata)
      return try await server.registry.fail(mail, because: "\(error)", until: next)
    }
    try await finish(mail)
  }

  private func finish(_ mail: ClaimedMail) async throws {
    let interval = mail.job.kind.notice == nil ? MailCarrier.interval : MailCarrier.noticeMemory
    try await server.registry.finish(mail, interval: interval, now: server.clock.now)
  }

  private func giveUp(_ mail: ClaimedMail, _ fault: MailError?) async throws {
    server.metrics.update { $0.mailsAbandoned += 1 }
    var metadata = metadata(of: mail)
    metadata["handstamp.cause"] = "\(fault.map { "\($0)" } ?? "too old")"
    server.configuration.logger.error("Mail delivery failed permanently", metadata: metadata)
    // Who asked for a test reads why.
    guard mail.job.kind != .test else {
      return try await server.registry.fail(mail, because: fault.map { "\($0)" } ?? "too old", until: nil)
    }
    try await finish(mail)
  }

  private func metadata(of mail: ClaimedMail) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "handstamp.mail": "\(mail.job.kind.rawValue)", "handstamp.attempts": "\(mail.job.tries.attempts)",
    ]
    if let email = mail.job.email {
      metadata["handstamp.email_hash"] = "\(server.registry.mint.mac(of: email.normalized, for: .logName))"
    }
    if let account = mail.job.account { metadata["handstamp.account"] = "\(account)" }
    return metadata
  }
}

/// The mails that wait in the store, so that neither a restart nor another server forgets or repeats them.
///
/// A request only adds a mail, which costs the same for every address. ``MailCarrier`` looks up the account later, and sends it.
struct Outbox: Sendable {
  let registry: Registry
  let clock: ServerClock
  /// The greatest delay before a mail is looked at.
  let jitter: Duration
  let hasMailer: Bool
  /// Wakes the ``MailCarrier``.
  let bell = JobBell()

  /// Stores a mail durably. It is sent soon, after a random delay, so that the work for it cannot be told from other work by its time.
  ///
  /// - Throws: ``AccountError/notOffered(_:)`` if the server has no mailer, ``RegistryError``.
  func add(_ job: MailJob, to email: EmailAddress, by caller: AccountService.Caller) async throws {
    var job = job
    job.language = caller.language
    guard hasMailer else { throw AccountError.notOffered(.mail) }
    let delay = jitter > .zero ? jitter * Double.random(in: 0..<1) : .zero
    try await registry.post(job, to: email, delay: delay, now: clock.now)
    bell.signal(.look)
  }
}
#endif
