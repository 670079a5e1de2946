public import HandstampCore
import HandstampSupport

extension Registry {
  /// Handles a refresh (RFC 6749 section 6) by applying the table of ``Rotation`` to the current row.
  ///
  /// - Parameters:
  ///   - token: the `refresh_token` parameter, any bytes.
  ///   - key: the `rotation_key` parameter, any bytes.
  ///   - client: the requesting client; `nil` for the server's own app.
  ///   - proof: the thumbprint of the key of the request's DPoP proof.
  ///   - terms: what is known of the client; that it proves itself also if the session is bound to its key.
  ///   - narrow: the grant of the access token within the session's. Called before anything is written.
  public func refresh(
    _ token: RefreshToken, key: Secret?, client: String? = nil, proof: String? = nil,
    terms: RefreshTerms = RefreshTerms(), now: UnixTime, narrow: @escaping GrantNarrowing = { $0 }
  ) async throws(RegistryError) -> RefreshOutcome {
    switch mint.read(token) {
    case .genuine(let claims):
      return try await refresh(claims, key: key, client: client, proof: proof, terms: terms, now: now, narrow: narrow)
    case .forged: return .forged
    case .unknownKey(let id): throw .unknownKey(id)
    }
  }

  /// Handles a refresh whose token was read before, see ``TokenMint/read(_:)-(RefreshToken)``.
  package func refresh(
    _ claims: RefreshClaims, key: Secret?, client: String?, proof: String?, terms: RefreshTerms, now: UnixTime,
    narrow: @escaping GrantNarrowing
  ) async throws(RegistryError) -> RefreshOutcome {
    let mark = key.flatMap { KeyMark(parameter: $0) }
    guard key == nil || mark != nil else { return .invalidRequest }
    // The sessions whose place this one has taken; `nil` before it has.
    var displaced: [SessionRow]?
    for _ in 0..<Registry.attempts {
      let (ended, drawn) = (displaced, KeyMark(rawValue: random()))
      let outcome: RefreshOutcome?
      do throws(RegistryStoreError) {
        outcome = try await store.change(claims.session) { row, stored -> Decision<RefreshOutcome?> in
          guard let row else { return Decision(.ended(.rejected)) }
          guard row.client?.id == client else { return Decision(.otherClient) }
          guard row.dpopThumbprint == nil || row.dpopThumbprint == proof else { return Decision(.otherProof) }
          var terms = terms
          if row.dpopThumbprint != nil { terms.isConstrained = true }
          let grant: SessionClient?
          do throws(GrantRefusal) { grant = try narrow(row.client) } catch { return Decision(.notGranted(error)) }
          let outcome = rotation.decide(
            row: row, token: claims, key: mark, drawn: drawn, terms: terms, now: now, stored: stored)
          guard case .issued(var issue) = outcome else { return writes(of: outcome, on: row, now: now) }
          // Taking the place of others is a write of its own: all of them have to be read for it.
          guard ended != nil || !issue.isFirstUse else { return Decision(nil) }
          issue.grant = grant
          issue.displaced = ended ?? []
          return writes(of: .issued(issue), on: row, now: now)
        }
      } catch {
        if case .unavailable = error { throw RegistryError(error) }
        // The row has changed in the meantime: decide again.
        continue
      }
      switch outcome {
      case nil: displaced = try await recordFirstUse(of: claims.session.id, now: now)
      case .ended(let reason): return .ended(try await named(reason, of: claims.session.id))
      case let outcome?: return outcome
      }
    }
    throw Registry.contention
  }

  /// Returns an outcome with the write that carries it out.
  private func writes(of outcome: RefreshOutcome, on row: SessionRow, now: UnixTime) -> Decision<RefreshOutcome?> {
    switch outcome {
    case .issued(let issue):
      var changes: [RegistryChange] = []
      if issue.row.revision != row.revision { changes.append(.replaceSession(issue.row, expecting: row.revision)) }
      // A thief who refreshes within the overlap gets the same successor: the owner may want to know when.
      if issue.course == .repeated, !row.isKeyed {
        changes.append(audited(.refreshRepeated, account: row.account, session: row.id, at: now))
      }
      return Decision(outcome, changes)
    case .theft(let ended, let sign):
      // The second use is an item, however often either party refreshes in the meantime.
      let end = ending(row, SessionEnd(at: now, reason: .tokenReuseDetected))
      let notice = notice(.tokenTheft, of: row.account, NoticedName(of: row), now: now)
      let audit = audited(
        .theftDetected, account: row.account, session: row.id, details: JSONText([("sign", sign.rawValue)]).text,
        at: now)
      return Decision(
        outcome, end + [audit] + notice + TakeBack.pending.changes(of: row.account), events: [.revoked(ended, at: now)])
    case .superseded, .ended, .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: return Decision(outcome)
    }
  }

  /// Writes changes. Returns `false` if something that they expect has changed or is missing, or what they create exists.
  func write(
    _ changes: [RegistryChange], _ events: [RegistryEvent]
  ) async throws(RegistryError) -> Bool {
    do throws(RegistryStoreError) {
      try await store.write(changes, events: events)
      return true
    } catch {
      switch error {
      case .alreadyExists, .conflict, .notFound: return false
      case .unavailable: throw RegistryError(error)
      }
    }
  }
}

extension RefreshOutcome.Issue {
  /// Whether the session is used for the first time.
  fileprivate var isFirstUse: Bool { row.pending != nil && course != .repeated }
}

/// How long access tokens live that any server of the store has issued: after the end of a session, its tokens can be presented
/// for so long to those who verify them by themselves. The setting may be lowered, and servers may differ, so each notes its own.
extension Registry {
  private static let subject = "access token"
  /// How much later than the end of its session a token may have been issued, by a refresh in flight.
  package static let tokenFlight = Duration.seconds(60)
  /// How far the clocks of a store's servers may differ.
  package static let clockDifference = Duration.seconds(300)

  /// Returns the time before which no session can have ended whose tokens may be valid still.
  ///
  /// - Parameter life: the longest life of an access token.
  package static func revocationHorizon(now: UnixTime, life: Duration) -> UnixTime {
    now.advanced(by: .zero - life - tokenFlight - clockDifference)
  }

  /// Notes that a server of the store issues access tokens with that life from now on. Call it before it does, and then
  /// periodically.
  ///
  /// - Parameter interval: the time until the next call, at most.
  public func noteTokenLife(_ life: Duration, every interval: Duration, now: UnixTime) async throws(RegistryError) {
    let item = StoredItem(
      id: StoredItemID(.tokenLife, String(life.wholeMilliseconds)), kind: .tokenLife, subject: Registry.subject,
      payload: String(life.wholeMilliseconds), createdAt: now,
      // Until the last token of a server is over that dies right before the next call.
      expiresAt: now.advanced(by: interval + life + Registry.clockDifference))
    try await write([.putItem(item)])
  }

  /// Returns the longest life of an access token that may be valid still; zero if none was noted.
  public func longestTokenLife(now: UnixTime) async throws(RegistryError) -> Duration {
    try await liveItems(.tokenLife, of: Registry.subject, now: now)
      .compactMap { Int64($0.payload) }.map { .milliseconds($0) }.max() ?? .zero
  }
}
