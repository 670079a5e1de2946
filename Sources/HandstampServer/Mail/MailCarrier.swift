#if Server
import HandstampCore
import HandstampRegistry
import Logging
import ServiceLifecycle

/// Sends the mails in the ``Outbox``, several at a time. A mail that it has claimed is another server's only after a while; so one is
/// sent twice only if a server dies, or cannot write, between sending it and noting that.
struct MailCarrier: Service, CustomStringConvertible {
  /// How often the store is looked at without a signal: for mails of other servers, and of those that died.
  private static let pollInterval = Duration.seconds(5)
  /// The pause after the first failure, doubled after each further one.
  static let firstPause = Duration.seconds(30)
  static let longestPause = Duration.seconds(3600)
  /// How long after the request for it a mail is still sent.
  static let patience = Duration.seconds(24 * 3600)
  /// How long a notice that was sent counts towards the most that an account gets.
  private static let noticeMemory = Duration.seconds(3600)

  let outbox: Outbox
  let registry: Registry
  /// `nil` if mail is not set up.
  let mailer: (any Mailer)?
  let writer: MailWriter
  let clock: ServerClock
  let metrics: ServerMetrics
  let errors: ErrorMapper
  /// How many mails are sent at once.
  let width: Int
  /// How long a mail is claimed.
  let lease: Duration
  let interval: Duration
  let logger: Logger
  /// The carrier with the settings in use, if they were replaced.
  let successor: @Sendable () -> MailCarrier?

  /// The name of the service in logs.
  var description: String { "MailCarrier" }

  func run() async throws {
    guard let mailer else {
      try? await gracefulShutdown()
      return
    }
    await outbox.withSignals { signals in
      await withDiscardingTaskGroup { group in
        await carry(with: mailer, at: signals, in: &group)
      }
    }
  }

  private func carry(
    with mailer: any Mailer, at signals: AsyncStream<Outbox.Signal>, in group: inout DiscardingTaskGroup
  ) async {
    var running = 0
    var tidiedAt: UnixTime?
    var timer: Task<Void, Never>?
    defer { timer?.cancel() }
    for await signal in signals {
      switch signal {
      case .look: break
      case .finished: running -= 1
      }
      guard !outbox.isStopping else { continue }
      let waiters = outbox.takeWaiters()
      if tidiedAt.map({ clock.now.since($0) >= .seconds(3600) }) ?? true {
        tidiedAt = clock.now
        await (successor()?.mailer ?? mailer).tidy(at: clock.read().wall)
      }
      var pause = MailCarrier.pollInterval
      do throws(RegistryError) {
        while running < width {
          let now = clock.now
          let soon = try await registry.dueMails(
            at: now.advanced(by: MailCarrier.pollInterval), limit: width - running)
          let due = soon.compactMap { fact in fact.dueAt.map { (fact, at: $0) } }
          if let next = due.first?.at, next > now { pause = next.since(now) }
          let ready = due.filter { $0.at <= now }
          guard !ready.isEmpty else { break }
          for (fact, _) in ready {
            // Another server may have been faster.
            guard let mail = try await registry.claim(fact, until: now.advanced(by: lease), now: now) else { continue }
            running += 1
            group.addTask {
              let carrier = successor() ?? self
              await carrier.deliver(mail, with: carrier.mailer ?? mailer)
              outbox.signal(.finished)
            }
          }
        }
      } catch {
        errors.report(error, logger: logger)
      }
      timer?.cancel()
      timer = Task { [outbox, pause] in
        guard (try? await Task.sleep(for: pause)) != nil else { return }
        outbox.signal(.look)
      }
      if running == 0 { for waiter in waiters { waiter.resume() } } else { outbox.keep(waiters) }
    }
  }

  /// Looks up the account, and sends the mail if there is one to send.
  private func deliver(_ claimed: ClaimedMail, with mailer: any Mailer) async {
    do {
      guard clock.now.since(claimed.createdAt) < MailCarrier.patience else { return try await giveUp(claimed, nil) }
      guard
        let (mail, letter) = try await registry.write(
          claimed, leasedUntil: clock.now.advanced(by: lease), now: clock.now)
      else { return }
      if let letter { try await send(letter, of: mail, with: mailer) } else { try await finish(mail) }
    } catch {
      _ = errors.problem(for: error, logger: logger)
    }
  }

  private func send(_ letter: Letter, of mail: ClaimedMail, with mailer: any Mailer) async throws {
    do throws(MailFault) {
      try await mailer.send(try writer.mail(letter, at: clock.read().wall))
      metrics.update { $0.mailsSent += 1 }
    } catch {
      metrics.update { $0.mailsFailed += 1 }
      let pause = MailCarrier.pause(after: mail.job.attempts)
      let next = clock.now.advanced(by: pause)
      guard !error.isPermanent, next.since(mail.createdAt) < MailCarrier.patience else {
        return try await giveUp(mail, error)
      }
      var metadata = metadata(of: mail)
      metadata["handstamp.cause"] = "\(error)"
      metadata["handstamp.retry_seconds"] = "\(pause.components.seconds)"
      logger.warning("Mail could not be handed over, it is tried again", metadata: metadata)
      return try await registry.postpone(mail, until: next)
    }
    try await finish(mail)
  }

  private func finish(_ mail: ClaimedMail) async throws {
    let interval = mail.job.kind.notice == nil ? interval : MailCarrier.noticeMemory
    try await registry.finish(mail, interval: interval, now: clock.now)
  }

  private func giveUp(_ mail: ClaimedMail, _ fault: MailFault?) async throws {
    metrics.update { $0.mailsAbandoned += 1 }
    var metadata = metadata(of: mail)
    metadata["handstamp.cause"] = "\(fault.map { "\($0)" } ?? "too old")"
    logger.error("Mail could not be handed over, it is given up", metadata: metadata)
    try await finish(mail)
  }

  /// Exponential, and at random between half of that and the whole, so that many mails are not tried at once.
  static func pause(after attempts: Int) -> Duration {
    let pause = min(firstPause * (1 << min(max(attempts - 1, 0), 10)), longestPause)
    return pause * Double.random(in: 0.5...1)
  }

  private func metadata(of mail: ClaimedMail) -> Logger.Metadata {
    var metadata: Logger.Metadata = [
      "handstamp.mail": "\(mail.job.kind.rawValue)", "handstamp.attempts": "\(mail.job.attempts)",
    ]
    if let email = mail.job.email {
      metadata["handstamp.email_hash"] = "\(registry.mint.pseudonym(of: email.normalized))"
    }
    if let account = mail.job.account { metadata["handstamp.account"] = "\(account)" }
    return metadata
  }
}
#endif
