public import HandstampCore

/// The evidence that a refresh token was used twice.
public enum TheftSign: String, Sendable, Hashable, CaseIterable {
  /// One token was presented with two keys.
  case twoKeys = "two_keys"
  /// A token that was rotated with the client's key was presented without one.
  case keyLeftOut = "key_left_out"
  /// The token comes from a rotation that never took place in this branch.
  case forkedBranch = "forked_branch"
  /// The token is older than the key ring reaches.
  case ancient
  /// A token that was rotated without a key was presented again after the overlap.
  case replayed
}

/// The client of a refresh, as the request shows it, and the operator's settings for that client.
public struct RefreshTerms: Sendable, Hashable {
  /// The overlap unless an operator sets another: 2 min.
  public static let overlap: Duration = .seconds(120)

  /// Whether the request proves its client: with a secret (RFC 6749 section 2.3.1), or with the key that the session is bound to
  /// (RFC 9449 section 5). The refresh token of such a client needs no rotation (RFC 9700 section 4.14.2, FAPI 2.0 Security Profile
  /// section 5.3.2.1).
  public var isConstrained: Bool
  /// How long a token that was rotated without a key gets the same successor again.
  public var overlap: Duration

  public init(isConstrained: Bool = false, overlap: Duration = RefreshTerms.overlap) {
    self.isConstrained = isConstrained
    self.overlap = max(.zero, overlap)
  }
}

/// The server side of idempotent rotation: a function of row, token, key, terms and time.
///
/// Whether a rotation is *keyed* or *drawn* is a property of that rotation: keyed if the client sent the key, drawn if the server
/// drew one. All rotations of the server's own protocol are keyed. An OAuth session is keyed from the first key on that its client
/// sends, with the sign-in or a refresh: from then on, a key for a drawn rotation is a second use, or a thief who leaves the key out
/// and is always first could follow a client that sends keys.
///
/// | presented to a live session | outcome |
/// |---|---|
/// | no key, in a session of the server's own protocol | ``RefreshOutcome/invalidRequest`` |
/// | a mark that disagrees with the rotation that should have made it | theft |
/// | the current token, with a key | a keyed rotation |
/// | the current token, without a key, from a client that proves itself | the same token |
/// | the current token, without a key, from any other client | a drawn rotation |
/// | the predecessor, with the key of the last rotation | the same successor again, however late |
/// | an older token, with the key it was rotated with | superseded |
/// | a token of a keyed rotation, with another key or without one | theft |
/// | the predecessor of a drawn rotation, from a client that proves itself | the same successor again |
/// | the predecessor of a drawn rotation, with a key, in a keyed session | theft |
/// | the predecessor of a drawn rotation, within the overlap | the same successor again |
/// | an older token of a drawn rotation, from a client that proves itself | superseded |
/// | any other token of a drawn rotation | theft |
/// | a token older than the ring | theft |
/// | a token ahead of the row | fast-forward: the row lost commits, the client did not |
/// | a token whose rotation the row lost | superseded |
public struct Rotation: Sendable, Hashable {
  let rules: RotationRules

  public init() { rules = RotationRules() }
  #if Exploration
  package init(rules: RotationRules) { self.rules = rules }
  #endif

  /// Decides about a token that has a valid MAC and names this row.
  ///
  /// - Parameters:
  ///   - key: The mark of the client's key; `nil` if it sent none.
  ///   - drawn: A fresh random mark, for a rotation whose key the server draws.
  ///   - now: The server's clock.
  ///   - stored: The store's clock, which alone tells the age of a rotation: two servers' clocks are not compared. `nil` for a store
  ///     that has no other clock than the server.
  public func decide(
    row: SessionRow, token: RefreshClaims, key: KeyMark?, drawn: KeyMark, terms: RefreshTerms = RefreshTerms(),
    now: UnixTime, stored: UnixTime? = nil
  ) -> RefreshOutcome {
    switch row.kind {
    case .keyed where key == nil && row.client == nil && !rules.servesKeyless: return .invalidRequest
    // It has no token that could be refreshed.
    case .browser: return .invalidRequest
    case .keyed, .plain: break
    }
    if let reason = row.endReason(at: now) { return .ended(reason) }
    if rules.comparesMark, token.counter > 0, let made = row.accepted(at: token.counter - 1)?.mark, made != token.mark {
      return theft(row, .forkedBranch, now)
    }
    if token.counter >= row.counter {
      guard key == nil, terms.isConstrained, token.counter == row.counter else {
        return rotate(row, token, key.map { .keyed($0) } ?? .drawn(drawn), now, stored ?? now)
      }
      return issued(row.seen(at: now), token, .kept)
    }
    switch row.accepted(at: token.counter) {
    case .keyed(let mark): return second(row, token, rotatedWith: mark, key, now)
    case .drawn(let mark): return second(row, token, drawn: mark, key, terms, now, stored ?? now)
    case .unknown: return .superseded
    case nil: return theft(row, .ancient, now)
    }
  }

  private func rotate(
    _ row: SessionRow, _ token: RefreshClaims, _ entry: KeyRing.Entry, _ now: UnixTime, _ stored: UnixTime
  ) -> RefreshOutcome {
    var row = row.seen(at: now)
    let lost = token.counter - row.counter
    if lost > 0 {
      // Entries beyond the ring's size would be dropped anyway.
      for _ in 0..<min(lost - 1, UInt64(rules.ringSize)) { row.ring.append(.unknown, keeping: rules.ringSize) }
      row.ring.append(entry.with(token.mark), keeping: rules.ringSize)
    }
    row.ring.append(entry, keeping: rules.ringSize)
    if case .keyed = entry { row.kind = .keyed }
    row.counter = token.counter + 1
    row.rotatedAt = stored
    let successor = RefreshClaims(session: row.session, counter: row.counter, mark: entry.mark ?? .zero)
    return issued(row, successor, lost > 0 ? .fastForwarded(lost: lost) : .rotated)
  }

  /// A token that was rotated with the client's key.
  private func second(
    _ row: SessionRow, _ token: RefreshClaims, rotatedWith mark: KeyMark, _ key: KeyMark?, _ now: UnixTime
  ) -> RefreshOutcome {
    guard let key else { return theft(row, .keyLeftOut, now) }
    guard key == mark else { return theft(row, .twoKeys, now) }
    return isLast(token, in: row) ? again(row, mark) : .superseded
  }

  /// A token that was rotated without a key.
  private func second(
    _ row: SessionRow, _ token: RefreshClaims, drawn mark: KeyMark, _ key: KeyMark?, _ terms: RefreshTerms,
    _ now: UnixTime, _ stored: UnixTime
  ) -> RefreshOutcome {
    if terms.isConstrained { return isLast(token, in: row) ? again(row, mark) : .superseded }
    // A store's clock may be set back: a rotation that seems to lie in the future counts as well.
    let age = stored.since(row.rotatedAt)
    let isRetry = isLast(token, in: row) && age <= terms.overlap && age >= .zero - terms.overlap
    guard isRetry else { return theft(row, .replayed, now) }
    guard key != nil else { return again(row, mark) }
    guard row.kind == .plain || rules.repeatsDrawnWithKey else { return theft(row, .twoKeys, now) }
    // A client that was updated while its response was lost. The next time it would be a thief's.
    var keyed = row
    keyed.kind = .keyed
    keyed.revision += 1
    return again(keyed, mark)
  }

  private func isLast(_ token: RefreshClaims, in row: SessionRow) -> Bool { token.counter + 1 == row.counter }

  /// A retry of the last rotation.
  private func again(_ row: SessionRow, _ mark: KeyMark) -> RefreshOutcome {
    issued(row, RefreshClaims(session: row.session, counter: row.counter, mark: mark), .repeated)
  }

  private func issued(
    _ row: SessionRow, _ token: RefreshClaims, _ course: RefreshOutcome.Course
  ) -> RefreshOutcome {
    .issued(RefreshOutcome.Issue(row, token, course))
  }

  private func theft(_ row: SessionRow, _ sign: TheftSign, _ now: UnixTime) -> RefreshOutcome {
    .theft(row.ended(.tokenReuseDetected, at: now), sign)
  }
}
