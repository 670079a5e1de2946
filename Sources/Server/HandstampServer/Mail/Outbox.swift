#if Server
import HandstampCore
import HandstampRegistry

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
