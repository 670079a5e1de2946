#if Server
import HandstampCore
import HandstampRegistry
import Logging

/// Counts and logs sessions that began or ended, and wakes the event streams of their accounts.
struct SessionEventRecorder: Sendable {
  let hub: EventHub
  let metrics: ServerMetrics
  /// Wakes the ``LogoutNotifier``.
  let logouts: JobBell

  /// How a session began.
  enum Start: Sendable { case signIn, signUp, guest, upgrade }

  func recordSignIn(_ new: SessionRow, as start: Start = .signIn, logger: Logger) {
    hub.announce(new.account)
    metrics.update {
      $0.signIns += 1
      switch start {
      case .signIn: break
      case .signUp: $0.signUps += 1
      case .guest: $0.guests += 1
      case .upgrade: $0.upgrades += 1
      }
    }
    var metadata: Logger.Metadata = ["handstamp.account": "\(new.account)", "handstamp.session": "\(new.id)"]
    if let client = new.client { metadata["handstamp.client"] = "\(client.id)" }
    let text =
      switch start {
      case .signIn: "Signed in"
      case .signUp, .guest: "Account created"
      case .upgrade: "Guest account upgraded"
      }
    logger.info("\(text)", metadata: metadata)
  }

  /// Call it after every end. Returns how many sessions ended.
  @discardableResult
  func recordEnd(_ ended: [SessionRow], logger: Logger) -> Int {
    metrics.update { $0.revocations += ended.count }
    recordDisplacement(ended, logger: logger)
    return ended.count
  }

  /// Call it after every refresh with a genuine token.
  func recordRefresh(_ outcome: RefreshOutcome, of session: SessionID, logger: Logger) {
    switch outcome {
    case .issued(let issue):
      switch issue.course {
      case .rotated: metrics.update { $0.rotations += 1 }
      case .kept: metrics.update { $0.kept += 1 }
      case .repeated: metrics.update { $0.repeats += 1 }
      case .fastForwarded(let lost):
        metrics.update {
          $0.rotations += 1
          $0.fastForwards += 1
        }
        logger.warning(
          "Store had lost rotations of a session",
          metadata: ["handstamp.session": "\(session)", "handstamp.lost": "\(lost)"])
      }
      recordDisplacement(issue.displaced, logger: logger)
    case .superseded:
      metrics.update { $0.superseded += 1 }
      logger.notice("Refresh superseded", metadata: ["handstamp.session": "\(session)"])
    case .theft(let row, let sign):
      hub.announce(row.account)
      logouts.signal(.look)
      metrics.update { $0.thefts += 1 }
      logger.warning(
        "Refresh token used twice; session ended",
        metadata: [
          "handstamp.session": "\(session)", "handstamp.account": "\(row.account)",
          "handstamp.sign": "\(sign.rawValue)",
        ])
    case .ended, .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: break
    }
  }

  /// Call it with the sessions that the first use of another one has ended.
  func recordDisplacement(_ ended: [SessionRow], logger: Logger) {
    guard !ended.isEmpty else { return }
    recordExpiry(ended)
    for row in ended {
      logger.info(
        "Session ended",
        metadata: ["handstamp.session": "\(row.id)", "handstamp.reason": "\(row.end?.reason.rawValue ?? "")"])
    }
  }

  /// Returns a place for a stream of a session's account.
  func place(
    for session: AuthenticatedSession, within limits: EventStreamLimits
  ) throws(ProblemError) -> EventHub.Place {
    guard let (place, replaced) = hub.place(for: session.id, of: session.account, within: limits) else {
      metrics.update { $0.refusedStreams += 1 }
      throw .tooManyStreams
    }
    if replaced > 0 { metrics.update { $0.replacedStreams += replaced } }
    return place
  }

  /// Tells of sessions that have expired.
  func recordExpiry(_ ended: [SessionRow]) {
    for account in Set(ended.map(\.account)) { hub.announce(account) }
    if ended.contains(where: { $0.client != nil }) { logouts.signal(.look) }
  }
}
#endif
