package import HandstampCore

extension Webhook {
  /// How long an event is tried before it is given up.
  package static let patience = Duration.seconds(86_400)
  /// The pause after the first failure of an event, doubled after each further one.
  private static let firstPause = Duration.seconds(5)
  /// The longest pause: a receiver that is back is not kept waiting for longer.
  private static let longestPause = Duration.seconds(900)

  /// Notes what became of a wave. Returns the events that are given up.
  ///
  /// - Parameter spread: a factor from 0.5 to 1 for each pause, so that many are not over at once.
  package mutating func note(
    _ outcomes: [WebhookWave.Outcome], of wave: WebhookWave, at now: UnixTime, spread: Double
  ) -> [DeadLetter] {
    var letters: [DeadLetter] = []
    let wasHeld = lanes.count == Webhook.mostLanes
    for outcome in outcomes {
      if outcome.delivered > 0 {
        delivered += Int64(outcome.delivered)
        lastSuccessAt = now
      }
      letters += note(outcome, at: now, spread: spread)
    }
    cursor = wave.cursor
    // The receiver is back.
    if wasHeld, outcomes.contains(where: { $0.delivered > 0 }) {
      for index in lanes.indices { lanes[index].dueAt = min(lanes[index].dueAt, now) }
    }
    return letters
  }

  private mutating func note(_ outcome: WebhookWave.Outcome, at now: UnixTime, spread: Double) -> [DeadLetter] {
    let course = outcome.course
    let former = lanes.first { $0.account == course.account }
    lanes.removeAll { $0.account == course.account }
    let done = outcome.delivered < course.events.count ? outcome.delivered : nil
    guard let done else {
      if course.hasMore { lanes.append(Lane(account: course.account, position: course.end, dueAt: now)) }
      return []
    }
    let position = done > 0 ? course.events[..<done].last?.id ?? course.start : course.start
    var lane = Lane(account: course.account, position: position, dueAt: now)
    // Unless it is another event that fails now.
    if done == 0, let former { (lane.failures, lane.since) = (former.failures, former.since) }
    defer { lanes.append(lane) }
    guard let failure = outcome.failure, let event = course.events.dropFirst(done).first else { return [] }
    (lastFailureAt, self.failure) = (now, failure.words)
    if failure.isGone { isGone = true }
    lane.failures += 1
    let since = lane.since ?? now
    lane.since = since
    if now.since(since) >= Webhook.patience {
      (lane.position, lane.failures, lane.since) = (event.id, 0, nil)
      return [
        DeadLetter(
          event: event.id, type: WebhookEvent(event.event), account: course.account, session: event.event.session,
          failure: failure.words, givenUpAt: now)
      ]
    }
    let pause = min(Webhook.firstPause * (1 << min(lane.failures - 1, 20)), Webhook.longestPause) * spread
    lane.dueAt = now.advanced(by: max(pause, failure.pause ?? .zero))
    if failure.pause != nil { pausedUntil = max(pausedUntil ?? now, lane.dueAt) }
    return []
  }

  /// Notes what became of a test message.
  mutating func noteTest(_ failure: WebhookFailure?, at now: UnixTime) {
    guard let failure else {
      lastSuccessAt = now
      delivered += 1
      return
    }
    (lastFailureAt, self.failure) = (now, failure.words)
  }

  /// Begins again after an event, also if the receiver was gone. A server that delivers at the moment stops.
  package mutating func restart(after position: EventID?, at now: UnixTime) {
    (isGone, pausedUntil, lease, leasedUntil) = (false, nil, "", nil)
    if let position {
      (cursor, lanes) = (position, [])
    } else {
      for index in lanes.indices { lanes[index].dueAt = now }
    }
  }
}
