public import HandstampCore

/// The decision about a genuine refresh token presented to a session.
public enum RotationVerdict: Sendable, Hashable {
  /// The token is the current one: store the row, then issue the successor.
  case rotate(SessionRow, RefreshClaims)
  /// Like ``rotate(_:_:)``, for a token ahead of the row: the store lost `lost` rotations. Operators should be alerted.
  case fastForward(SessionRow, RefreshClaims, lost: UInt64)
  /// A retry of the last rotation: issue the same successor again. There is nothing to store.
  case again(RefreshClaims)
  /// A late duplicate of an older or lost rotation: issue no token, and do not treat it as theft.
  case superseded
  /// Two parties hold the same token: store the row, which has ended.
  case theft(SessionRow, TheftSign)
  /// The session had ended before.
  case ended(EndReason)
  /// The session is keyed and the request has no key.
  case invalidRequest
}

/// The evidence for a stolen token.
public enum TheftSign: String, Sendable, Hashable, CaseIterable {
  /// One token was presented with two keys.
  case twoKeys = "two_keys"
  /// The token comes from a rotation that never took place in this branch.
  case forkedBranch = "forked_branch"
  /// The token is older than the key ring reaches.
  case ancient
  /// A plain session's token was presented again after the retry window.
  case replayed
}

/// The server side of idempotent rotation: a function of row, token, key and time.
///
/// | presented to a live session | verdict |
/// |---|---|
/// | no key, and the session is keyed | ``RotationVerdict/invalidRequest`` |
/// | a mark that disagrees with the rotation that should have made it | theft |
/// | the current token | rotate |
/// | its predecessor, with the key of the last rotation | the same successor again, however late |
/// | an older token, with the key it was rotated with | superseded |
/// | a token that was rotated with another key | theft |
/// | a token older than the ring | theft |
/// | a token ahead of the row | fast-forward: the row lost commits, the client did not |
/// | a token whose rotation the row lost | superseded |
///
/// In a plain session the server draws the keys; the predecessor gets the same successor for 30 s, and any other older
/// token is theft.
public struct Rotation: Sendable, Hashable {
  let rules: RotationRules

  public init() { rules = RotationRules() }
  #if Exploration
  package init(rules: RotationRules) { self.rules = rules }
  #endif

  /// Decides about a token that has a valid MAC and names this row.
  ///
  /// - Parameters:
  ///   - key: The mark of the client's key; `nil` if it sent none, or a malformed one.
  ///   - drawn: A fresh random mark, for a rotation whose key the server draws. Used in plain sessions only.
  ///   - now: The server's clock.
  public func decide(
    row: SessionRow, token: RefreshClaims, key: KeyMark?, drawn: KeyMark, now: UnixTime
  ) -> RotationVerdict {
    let presented: Presented
    switch (row.kind, key) {
    case (.keyed, let key?): presented = .key(key)
    case (.keyed, nil) where rules.servesKeyless: presented = .keyless(drawn)
    case (.keyed, nil): return .invalidRequest
    case (.plain, _): presented = .keyless(drawn)
    // It has no token that could be refreshed.
    case (.browser, _): return .invalidRequest
    }
    if let reason = row.over(at: now) { return .ended(reason) }
    if rules.comparesMark, token.counter > 0, case .known(let mark) = row.accepted(at: token.counter - 1),
      mark != token.mark
    {
      return .theft(row.ended(.tokenReuseDetected, at: now), .forkedBranch)
    }
    if token.counter >= row.counter { return rotate(row, token, presented, now) }
    switch row.accepted(at: token.counter) {
    case .known(let mark): return repeated(row, token, rotatedWith: mark, presented, now)
    case .unknown: return .superseded
    case nil: return .theft(row.ended(.tokenReuseDetected, at: now), .ancient)
    }
  }

  /// The key of a rotation, from the client or drawn by the server.
  private enum Presented {
    case key(KeyMark)
    case keyless(KeyMark)
  }

  private func rotate(
    _ row: SessionRow, _ token: RefreshClaims, _ presented: Presented, _ now: UnixTime
  ) -> RotationVerdict {
    var row = row
    let lost = token.counter - row.counter
    if lost > 0 {
      // Entries beyond the ring's size would be dropped anyway.
      for _ in 0..<min(lost - 1, UInt64(rules.ringSize)) { row.ring.append(.unknown, keeping: rules.ringSize) }
      row.ring.append(.known(token.mark), keeping: rules.ringSize)
    }
    let mark =
      switch presented {
      case .key(let mark), .keyless(let mark): mark
      }
    row.ring.append(.known(mark), keeping: rules.ringSize)
    row.counter = token.counter + 1
    row.rotatedAt = now
    row.lastSeenAt = max(row.lastSeenAt, now)
    row.revision += 1
    let successor = RefreshClaims(session: row.session, counter: row.counter, mark: mark)
    return lost > 0 ? .fastForward(row, successor, lost: lost) : .rotate(row, successor)
  }

  private func repeated(
    _ row: SessionRow, _ token: RefreshClaims, rotatedWith mark: KeyMark, _ presented: Presented, _ now: UnixTime
  ) -> RotationVerdict {
    let isLast = token.counter + 1 == row.counter
    let successor = RefreshClaims(session: row.session, counter: row.counter, mark: mark)
    switch presented {
    case .key(let key):
      guard key == mark else { return .theft(row.ended(.tokenReuseDetected, at: now), .twoKeys) }
      return isLast ? .again(successor) : .superseded
    case .keyless:
      // Server clocks differ slightly, so a rotation that seems to lie in the future counts as well.
      let age = now.since(row.rotatedAt)
      let isRetry = isLast && age <= rules.replayWindow && age >= .zero - rules.replayWindow
      return isRetry ? .again(successor) : .theft(row.ended(.tokenReuseDetected, at: now), .replayed)
    }
  }
}
