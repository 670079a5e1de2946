#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging

/// Takes over the sessions of the former system: each refresh token begins one session here, once.
///
/// A repeat gets the same session until that is used, whatever key it has: a client whose response was lost, or that was killed before it
/// stored it, comes back. After that the token is refused, and a further use is logged.
struct FormerSessions: Sendable {
  /// How long a server has to ask for a successor. Another one may ask after that.
  private static let lease = FormerServer.timeout * 2

  let registry: Registry
  let system: FormerSystem
  /// `nil` if only imported tokens are taken over.
  let server: FormerServer?
  let limits: RequestLimits
  let recorder: SessionEventRecorder
  /// Wakes the ``FormerEnder``.
  let ends: JobBell
  let clock: ServerClock

  /// Begins the session of a token.
  ///
  /// - Throws: ``OAuthError``: `invalid_grant` with the code `former_session_ended` if the token is worth nothing any more;
  ///   `temporarily_unavailable` if that is not known now, so that the client keeps its token.
  func takeOver(
    _ token: Secret, _ origin: FormerOrigin, by caller: AccountService.Caller
  ) async throws -> NewSession {
    let registry = registry.acting(as: caller.owner)
    guard let id = FormerToken.id(of: token) else { throw refusal("malformed") }
    try limits.take(.takeOvers, from: caller.client, about: Base64URL.encode(id.bytes))
    for _ in 0..<Registry.attempts {
      let known = try await registry.formerToken(id)
      var unused: SessionRow?
      if known.record.session != nil {
        switch try await registry.repeatTakeOver(known, token, origin, now: clock.now) {
        case .session(let new): return new
        case .begins(let row): unused = row
        case .used: throw await used(known, caller)
        }
      }
      guard let found = try await find(token, known, caller.logger) else { continue }
      let account = try await account(of: found, caller.logger)
      let new: NewSession
      do throws(RegistryError) {
        new = try await registry.takeOver(
          found.token, token, for: account, authenticatedAt: found.authenticatedAt, origin, insteadOf: unused,
          ending: try end(of: found), now: clock.now)
      } catch {
        switch error {
        // Another request was faster, or the account has changed.
        case .oneTimeTokenInvalid, .accountChanged: continue
        case .keyUsed: throw await used(known, caller)
        default: throw error
        }
      }
      ends.signal(.look)
      recorder.recordSignIn(new.row, logger: caller.logger)
      recorder.metrics.update { $0.formerSessions += 1 }
      return new
    }
    throw Registry.contention
  }

  /// A token that may begin a session.
  private struct Found {
    var token: FormerToken
    var account: AccountID?
    var user: FormerUser?
    var authenticatedAt: UnixTime?
    /// Its tokens at the former system; `nil` if there is nothing to end.
    var live: (refresh: Secret, access: Secret?)?
  }

  /// Finds out whose token it is. Returns `nil` if what is known of it has changed in the meantime.
  private func find(
    _ token: Secret, _ known: FormerToken, _ logger: Logger
  ) async throws -> Found? {
    let record = known.record
    if let account = record.account {
      guard record.session != nil || !known.hasExpired(at: clock.now) else { throw refusal("expired") }
      // The former system may still be there, and must not go on with it. A session that was begun has its work stored already.
      let live: (Secret, Secret?)? = record.session == nil && system.ends ? (token, nil) : nil
      return Found(token: known, account: account, authenticatedAt: record.authenticatedAt, live: live)
    }
    guard let server else { throw refusal("unknown") }
    guard system.isRefreshed else {
      let user: FormerUser
      do throws(FormerError) { user = try await server.introspect(token) } catch { throw failure(error, logger) }
      return Found(
        token: known, user: user, authenticatedAt: user.authenticatedAt, live: system.ends ? (token, nil) : nil)
    }
    return try await refresh(token, known, server, logger)
  }

  /// Refreshes a token at the former system. The successor is stored before anything else happens: a crash then loses nothing.
  private func refresh(
    _ token: Secret, _ known: FormerToken, _ server: FormerServer, _ logger: Logger
  ) async throws -> Found? {
    let now = clock.now
    // By the word of another server, or of another request to this one.
    if let until = known.record.claimedUntil, until > now { throw OAuthError.unavailable }
    var record = known.record
    record.claimedUntil = now.advanced(by: FormerSessions.lease)
    record.unanswered += 1
    guard var claimed = try await registry.store(record, of: known, now: now) else { return nil }
    var current = token
    if let successor = record.successor {
      guard let opened = try registry.mint.secret(successor, for: .formerToken, boundTo: known.context) else {
        throw failure(.unavailable("the stored successor cannot be decrypted", retryAfter: nil), logger)
      }
      current = opened
    }
    let grant: FormerGrant
    do throws(FormerError) { grant = try await server.refresh(current) } catch {
      guard error == .ended else {
        // The next request may ask at once.
        record.claimedUntil = nil
        _ = try await registry.store(record, of: claimed, now: clock.now)
        throw failure(error, logger)
      }
      try await registry.forget(claimed)
      if record.unanswered > 1 {
        // An earlier answer was lost between the two servers, and with it the successor.
        recorder.metrics.update { $0.formerLosses += 1 }
        logger.error("Former session lost: an earlier answer of the former system did not arrive")
      }
      throw failure(error, logger)
    }
    (record.claimedUntil, record.unanswered) = (nil, 0)
    record.successor = try registry.mint.seal(grant.refresh, for: .formerToken, boundTo: known.context)
    claimed = try await keep(record, of: claimed)
    let user: FormerUser
    do throws(FormerError) { user = try await server.user(of: grant) } catch { throw failure(error, logger) }
    let live: (Secret, Secret?)? = system.ends ? (grant.refresh, grant.access) : nil
    return Found(token: claimed, user: user, authenticatedAt: user.authenticatedAt, live: live)
  }

  /// Stores a successor, again if the store cannot be written for a moment.
  private func keep(_ record: FormerToken.Record, of claimed: FormerToken) async throws -> FormerToken {
    var failure = Registry.contention
    for _ in 0..<3 {
      do throws(RegistryError) {
        if let kept = try await registry.store(record, of: claimed, now: clock.now) { return kept }
        // A write of unknown outcome took place.
        let stored = try await registry.formerToken(claimed.id)
        if stored.record == record { return stored }
      } catch { failure = error }
    }
    throw failure
  }

  private func account(of found: Found, _ logger: Logger) async throws -> AccountRecord {
    var account: AccountRecord?
    if let id = found.account {
      account = try await registry.account(id)
    } else if let user = found.user {
      if let issuer = system.issuer {
        account = try await registry.account(
          identity: ExternalIdentity(issuer: issuer, subject: user.subject))
      } else {
        account = try await registry.account(AccountID(user.subject))
      }
    }
    guard let account else {
      // The operator has not imported it yet: the client keeps its token.
      logger.error("Former session of an account that was not imported")
      throw OAuthError(
        "temporarily_unavailable", status: .serviceUnavailable, code: "former_account_unknown", retryAfter: 300)
    }
    guard account.closedAt == nil else { throw refusal("account_closed", reason: .accountClosed) }
    // A new password ends what was there before it.
    if let changed = account.credentialsChangedAt, found.authenticatedAt.map({ $0 < changed }) ?? true {
      throw refusal("credentials_changed", reason: .revoked)
    }
    return account
  }

  private func end(of found: Found) throws(RegistryError) -> FormerEnd? {
    guard let live = found.live else { return nil }
    func sealed(_ token: Secret) throws(RegistryError) -> String {
      try registry.mint.seal(token, for: .formerToken, boundTo: FormerEnd.context(of: found.token))
    }
    return FormerEnd(
      refresh: try sealed(live.refresh),
      access: try live.access.map { token throws(RegistryError) in try sealed(token) })
  }

  // MARK: Refusals

  private func used(_ known: FormerToken, _ caller: AccountService.Caller) async -> OAuthError {
    let session = known.record.session.map(\.rawValue) ?? ""
    caller.logger.warning(
      "Former token used again after its session was used", metadata: ["handstamp.session": "\(session)"])
    do throws(RegistryError) {
      try await registry.acting(as: .server(from: caller.client.text)).audit(
        .signInRefused, account: known.record.account,
        details: JSONText([("way", SignInWay.formerSession.rawValue), ("reason", "used"), ("count", "1")]).text,
        now: clock.now)
    } catch {
      caller.logger.warning("Refused sign-in not recorded in the audit log", metadata: ["handstamp.cause": "\(error)"])
    }
    return refusal("used")
  }

  private func refusal(_ cause: String, reason: EndReason? = nil) -> OAuthError {
    recorder.metrics.update { $0.formerRefusals += 1 }
    return OAuthError(
      "invalid_grant", code: "former_session_ended", reason: reason, description: "the former session: \(cause)")
  }

  private func failure(_ error: FormerError, _ logger: Logger) -> OAuthError {
    switch error {
    case .ended: return refusal("ended")
    case .unavailable(let cause, let retryAfter):
      logger.error("Former system unavailable", metadata: ["handstamp.cause": "\(cause)"])
      return OAuthError(
        "temporarily_unavailable", status: .serviceUnavailable, code: "former_unavailable",
        retryAfter: min(max(retryAfter ?? 5, 1), 3600))
    }
  }
}
#endif
