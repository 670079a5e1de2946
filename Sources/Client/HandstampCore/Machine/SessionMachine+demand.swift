/// Callers that ask for a token, and whether a refresh is needed for them.
extension SessionMachine {
  /// The shortest time between two refreshes that no caller asked for.
  static let leastPause: Duration = .seconds(5)

  mutating func demand(_ waiter: Waiter, _ need: Need, at now: Moment) -> [Effect] {
    switch phase {
    case .dormant:
      waiters[waiter] = need
      return []
    case .restoring:
      waiters[waiter] = need
      return reload()
    case .unavailable(.storageOutdated): return [.resume([waiter], .failure(.storageOutdated))]
    case .unavailable:
      // The vault may be readable by now.
      waiters[waiter] = need
      return reload()
    case .signedOut:
      guard case .signedOut(let reason) = published else { return [.resume([waiter], .failure(.signedOut(nil)))] }
      return [.resume([waiter], .failure(.signedOut(reason)))]
    case .ending(let ending): return [.resume([waiter], .failure(.signedOut(shownReason(of: ending))))]
    case .live(let live):
      if let access = token(for: need, of: live, at: now) {
        return [.resume([waiter], .success(access))] + refreshAheadIfDue(at: now)
      }
      if let access = live.access, need.target == nil, need.refused == access.credential, isJustIssued(live, at: now) {
        return [.resume([waiter], .failure(.tokenRejected))]
      }
      waiters[waiter] = need
      // Served when the refresh in progress ends; thousands of callers may join it.
      return live.refresh == nil ? serveWaiters(at: now) : []
    }
  }

  /// Serves the callers that can be served, and starts a refresh for the rest, unless there is one or none is possible now.
  mutating func serveWaiters(at now: Moment) -> [Effect] {
    guard let live, !waiters.isEmpty else { return [] }
    let effects = resume(waiters.compactMapValues { token(for: $0, of: live, at: now) })
    if waiters.isEmpty || live.refresh != nil { return effects }
    if live.hasOnlyAccess { return effects + resumeAll(.failure(.storage(.locked))) + reload() }
    // First the tokens we have; a rotation that is not durable must not be followed by another.
    if let unsaved = live.unsaved { return effects + save(unsaved) }
    guard live.stored.refresh != nil else { return effects + failWaiters(.noRefreshToken, at: now) }
    if let quiet = live.quietUntil, left(until: quiet, at: now) != nil {
      let wait = live.retryAfter.flatMap { left(until: $0, at: now) }
      return effects + failWaiters(live.failure(retryAfter: wait), at: now)
    }
    return effects + acquireLock()
  }

  /// Answers callers with their tokens.
  private mutating func resume(_ tokens: [Waiter: StoredAccess]) -> [Effect] {
    for waiter in tokens.keys { waiters[waiter] = nil }
    return Dictionary(grouping: tokens.keys.sorted()) { tokens[$0] }.compactMap { access, waiters in
      access.map { (waiters, $0) }
    }
    .sorted { $0.0[0] < $1.0[0] }.map { .resume($0.0, .success($0.1)) }
  }

  /// Refreshes while the old token is still valid, if it is in its margin and no refresh has failed just now.
  mutating func refreshAheadIfDue(at now: Moment) -> [Effect] {
    guard let live, live.refresh == nil, live.unsaved == nil, !live.hasOnlyAccess, live.stored.refresh != nil,
      isDueAhead(live, at: now)
    else { return [] }
    if let quiet = live.quietUntil, left(until: quiet, at: now) != nil { return [] }
    return acquireLock()
  }

  /// Sets the timer of the refresh ahead of expiry, at least `least` from now.
  mutating func scheduleRefresh(at now: Moment, atLeast least: Duration = .zero) -> [Effect] {
    guard policy.refresh.usesTimer, let live, live.refresh == nil, live.unsaved == nil, live.stored.refresh != nil,
      let lifetime = live.access?.lifetime
    else { return [] }
    var wait = max(least, lifetime.remaining(at: now) - policy.refresh.margin(forLifetime: lifetime.duration))
    if let quiet = live.quietUntil, let left = left(until: quiet, at: now) { wait = max(wait, left) }
    return [startTimer(.refresh, after: wait)]
  }

  /// Whether the token is in the margin in which it is replaced before a caller asks.
  func isDueAhead(_ live: Live, at now: Moment) -> Bool {
    guard policy.refresh.usesTimer, let lifetime = live.access?.lifetime else { return false }
    return lifetime.remaining(at: now) <= policy.refresh.margin(forLifetime: lifetime.duration)
  }

  /// Whether a caller waits for a refresh, or the token is in its margin.
  func isRefreshWanted(at now: Moment) -> Bool {
    guard waiters.isEmpty, let live else { return !waiters.isEmpty }
    return isDueAhead(live, at: now)
  }

  /// The refresh failed: a token that is still valid remains in use.
  mutating func failWaiters(_ error: SessionError, at now: Moment) -> [Effect] {
    serveWaitersWithCurrentToken(at: now) + resumeAll(.failure(error))
  }

  /// Serves callers that asked for more validity than there is, and can do with less.
  mutating func serveWaitersWithCurrentToken(at now: Moment) -> [Effect] {
    guard let live else { return [] }
    let tokens = waiters.compactMapValues { need in
      var need = need
      need.validity = .zero
      return token(for: need, of: live, at: now)
    }
    return resume(tokens)
  }

  private func isJustIssued(_ live: Live, at now: Moment) -> Bool {
    guard let minted = live.mintedAt, let age = now.elapsed(since: minted) else { return false }
    return age < policy.refresh.minimumAge
  }

  func left(until moment: Moment, at now: Moment) -> Duration? {
    guard moment.boot == now.boot, moment.uptime > now.uptime else { return nil }
    return moment.uptime - now.uptime
  }
}
