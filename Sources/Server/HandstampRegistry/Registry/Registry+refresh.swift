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
        outcome = try await store.change(claims.session) { row, stored -> Decision in
          guard let row else { return (.ended(.rejected), [], []) }
          guard row.client?.id == client else { return (.otherClient, [], []) }
          guard row.dpopThumbprint == nil || row.dpopThumbprint == proof else { return (.otherProof, [], []) }
          var terms = terms
          if row.dpopThumbprint != nil { terms.isConstrained = true }
          let grant: SessionClient?
          do { grant = try narrow(row.client) } catch { return (.notGranted, [], []) }
          let outcome = rotation.decide(
            row: row, token: claims, key: mark, drawn: drawn, terms: terms, now: now, stored: stored)
          guard case .issued(var issue) = outcome else { return writes(of: outcome, on: row, now: now) }
          // Taking the place of others is a write of its own: all of them have to be read for it.
          guard ended != nil || !issue.isFirstUse else { return (nil, [], []) }
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

  /// An outcome with the writes that carry it out; `nil` if the session has to take the place of others first.
  private typealias Decision = (value: RefreshOutcome?, changes: [RegistryChange], events: [RegistryEvent])

  private func writes(of outcome: RefreshOutcome, on row: SessionRow, now: UnixTime) -> Decision {
    switch outcome {
    case .issued(let issue):
      var changes: [RegistryChange] = []
      if issue.row.revision != row.revision { changes.append(.replaceSession(issue.row, expecting: row.revision)) }
      // A thief who refreshes within the overlap gets the same successor: the owner may want to know when.
      if issue.course == .repeated, !row.isKeyed {
        changes.append(audited(.refreshRepeated, account: row.account, session: row.id, at: now))
      }
      return (outcome, changes, [])
    case .theft(let ended, let sign):
      // The second use is an item, however often either party refreshes in the meantime.
      let end = ending(row, SessionEnd(at: now, reason: .tokenReuseDetected))
      let notice = notice(.tokenTheft, of: row.account, NoticedName(of: row), now: now)
      let audit = audited(
        .theftDetected, account: row.account, session: row.id, details: JSONText([("sign", sign.rawValue)]).text,
        at: now)
      return (outcome, end + [audit] + notice + TakeBack.pending.changes(of: row.account), [.revoked(ended, at: now)])
    case .superseded, .ended, .invalidRequest, .forged, .otherClient, .notGranted, .otherProof: return (outcome, [], [])
    }
  }

  /// Replaces `row` by `next`. Returns `false` if the stored row is no longer `row`.
  func replace(
    _ row: SessionRow, by next: SessionRow, with more: [RegistryChange] = []
  ) async throws(RegistryError) -> Bool {
    try await write(more + [.replaceSession(next, expecting: row.revision)], [])
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
