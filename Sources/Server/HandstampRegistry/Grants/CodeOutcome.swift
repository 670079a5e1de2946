import HandstampCore

/// The result of redeeming an authorization code or a device code.
public enum CodeOutcome: Sendable, Hashable {
  /// The code is redeemed, and its session has begun.
  ///
  /// - Parameter nonce: that of the authorization request.
  case signedIn(NewSession, nonce: String?)
  /// `authorization_pending`: the user of the device has not answered yet.
  case pending
  /// `access_denied`: the user of the device has refused.
  case denied
  /// `expired_token`: the device code has expired.
  case expired
  /// The code is unknown or another client's, the claim does not fit it, or an authorization code has expired. Nothing changed, whether
  /// the code was used or not.
  case invalid
  /// The client asks for more than the user granted. Nothing changed.
  case notGranted(GrantRefusal)
  /// The code was used before, by a claim that fits as well: two parties have the code and its verifier. The session that it
  /// created has ended (RFC 6749 section 4.1.2).
  case replayed([SessionRow])
  /// It gets nothing, and ends nothing, for it tells of no second party: the same request as the one that redeemed the code, which came
  /// too late, because the session is in use or the code's time is over; or one of the same client with the code's verifier, as after a
  /// reload, while the code would still count and the session's refresh token was not used.
  case late
}

extension Registry {
  /// The conditions of a code, which depends on the session in which the user has allowed it: if that was ended, rather than expired or
  /// replaced, nothing is to begin by it. It has to be in use, for what ends with it.
  ///
  /// - Returns: `nil` if the code is worth nothing any more.
  func expectations(of grant: some CodePayload, now: UnixTime) async throws(RegistryError) -> [RegistryChange]? {
    let mustLive = grant.dependsOnBrowser
    guard let session = grant.access.session, let row = try await storedSession(session) else {
      return mustLive ? nil : []
    }
    guard let end = row.end else {
      return row.endReason(at: now) == nil || !mustLive ? [.expectSession(session)] : nil
    }
    return mustLive || end.reason.reachesClients ? nil : []
  }

  /// Redeems a code, which begins its session, and notes that.
  ///
  /// - Parameter used: the ID of the note.
  /// - Returns: `nil` if the code was redeemed at the same time, the browser's session has ended, or the account has changed: read again.
  func redeem(
    _ record: OneTimeTokenRecord, _ grant: some CodePayload, as used: OneTimeTokenID, _ origin: SessionOrigin,
    for account: AccountRecord, with expectations: [RegistryChange], now: UnixTime
  ) async throws(RegistryError) -> NewSession? {
    var (origin, grant) = (origin, grant)
    let session = sessionBytes(of: origin)
    (origin.session, origin.start.device) = (session, DeviceInfo(client: grant.access.clientName, session))
    if let allowed = grant.access.session { origin.upstreamUser = try await upstreamUser(of: allowed) }
    grant.access.redeemableUntil = record.expiresAt
    let note = OneTimeTokenRecord(
      id: used, purpose: .usedCode, subject: session.id.rawValue, account: account.id,
      payload: PayloadCoding.text(grant), createdAt: now, expiresAt: now.advanced(by: CodeGrant.memory))
    do throws(RegistryError) {
      return try await createSession(
        for: account, origin,
        with: [.redeemOneTimeToken(record.id), .createOneTimeToken(note)] + expectations, now: now)
    } catch {
      guard error == .oneTimeTokenInvalid || error == .accountChanged else { throw error }
      return nil
    }
  }

  /// Decides about another request with a redeemed code, which would have redeemed it (RFC 6749 section 4.1.2).
  ///
  /// - Parameters:
  ///   - previous: the note of its first use.
  ///   - origin: the session that the request would begin.
  ///   - mayBeReload: whether the request has shown, by the verifier, that it comes from the client that began the authorization.
  func redeemAgain(
    _ previous: OneTimeTokenRecord, _ grant: some CodePayload, _ origin: SessionOrigin, mayBeReload: Bool = false,
    now: UnixTime, narrow: GrantNarrowing
  ) async throws(RegistryError) -> CodeOutcome {
    let (id, owner, expiry) = (SessionID(previous.subject), previous.account, grant.access.redeemableUntil)
    if sessions(of: origin).contains(where: { $0.id == id }), let row = try await storedSession(id),
      row.dpopThumbprint == origin.start.thumbprint
    {
      guard let expiry, now < expiry else { return .late }
      let repeated: NewSession?
      do throws(RegistryError) {
        repeated = try await self.repeated(origin, of: previous.account, now: now)
      } catch {
        guard error == .keyUsed else { throw error }
        return .late
      }
      guard var repeated else { return .late }
      do { repeated.grant = try narrow(repeated.row.client) } catch { return .notGranted(error) }
      return .signedIn(repeated, nonce: grant.nonce)
    }
    if mayBeReload, let expiry, now < expiry, let row = try await storedSession(id), row.counter == 0,
      row.dpopThumbprint == origin.start.thumbprint
    {
      try await write([audited(.codeRepeated, account: owner, session: id, at: now)])
      return .late
    }
    let audit = audited(.theftDetected, account: owner, session: id, details: #"{"sign":"code"}"#, at: now)
    let name = NoticedName(text: grant.access.clientName, client: origin.client?.id)
    let notices = owner.map { notice(.tokenTheft, of: $0, name, now: now) } ?? []
    return .replayed(
      try await end(
        .tokenReuseDetected, now: now, finally: [audit] + notices,
        rows: [try await store.session(id)].compactMap(\.self)))
  }
}

extension DeviceInfo {
  /// No device.
  package static let none = DeviceInfo(id: DeviceID(""), name: "", platform: "")

  /// Another client's session in the list of devices. Each session counts as a device of its own.
  init(client name: String, _ session: SessionBytes) {
    self.init(id: DeviceID("client:\(session.id)"), name: name, platform: "client")
  }
}
