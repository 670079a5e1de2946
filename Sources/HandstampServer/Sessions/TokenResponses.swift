#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Writes the tokens of a session into responses.
struct TokenResponses: Sendable {
  let tokens: AccessTokens
  let idTokens: IDTokens
  let clients: ClientDirectory
  let clock: ServerClock

  /// Returns the response to a sign-in.
  ///
  /// - Parameter nonce: that of the authorization request.
  func signedIn(_ new: NewSession, nonce: String? = nil) throws(RegistryError) -> JSONText {
    var json = try refreshed(new.row, new.refreshToken, of: new.account, for: new.grant, nonce: nonce)
    json.add("revocation_handle", new.revocationHandle.secret.withExposed { $0 })
    if let profile = profile(of: new) { json.add("profile", profile) }
    return json
  }

  /// Returns who has signed in, for clients that know this member: those of Handstamp, which send a key. Others have members of their own
  /// by this name, and get claims. The name is given to those that may see it.
  private func profile(of new: NewSession) -> JSONText? {
    guard let client = new.row.client, !clients.isFirstParty(client.id) else { return new.account.profile }
    guard new.row.isKeyed else { return nil }
    var account = new.account
    if !client.scopes.contains("profile") { account.username = "" }
    return account.profile
  }

  /// Returns the members that the responses to sign-in and refresh have in common (RFC 6749 section 5.1).
  ///
  /// - Parameters:
  ///   - account: the session's, if its ID token says anything of it, see ``needsAccount(_:)``.
  ///   - client: the grant of this token.
  /// - Throws: ``RegistryError/unavailable(_:)`` if the token cannot be signed. The session or the rotation is stored; a
  ///   retried refresh with the same token and key gets the same successor.
  func refreshed(
    _ row: SessionRow, _ refreshToken: RefreshToken, of account: AccountRecord?, for client: SessionClient?,
    nonce: String? = nil
  ) throws(RegistryError) -> JSONText {
    var json = try accessToken(
      of: row, for: client, authenticatedAt: row.authenticatedAt, hasIDToken: true, about: account, nonce: nonce)
    json.add("refresh_token", refreshToken.secret.withExposed { $0 })
    json.add("scope", ifPresent: client.map(\.scope).flatMap { $0.isEmpty ? nil : $0 })
    json.add("session_id", row.id.rawValue)
    // Tells an OAuth client that its key counts: it may repeat this request, and the next ones, with the same key.
    if row.client != nil, row.isKeyed { json.add("handstamp_rotation_key", true) }
    return json
  }

  /// Whether the ID token of a client's session says anything of the account.
  func needsAccount(_ client: SessionClient?) -> Bool {
    guard let client, clients[client.id]?.hasClaimsInIDTokens == true, client.scopes.contains("openid") else {
      return false
    }
    return AccountClaims.are(allowedBy: client.scopes)
  }

  /// Returns the response to a reauthentication: another access token of the session, which alone has the new `auth_time`.
  /// Copies of the session's other tokens gain nothing, nor do those that are refreshed from them (RFC 9068 section 2.2.1).
  func reauthenticated(_ row: SessionRow, at now: UnixTime) throws(RegistryError) -> JSONText {
    try accessToken(of: row, for: row.client, authenticatedAt: now)
  }

  /// Returns an access token of a browser's session, as old as the proof that its cookie shows.
  func accessToken(of user: BrowserSession) throws(RegistryError) -> JSONText {
    try accessToken(of: user.row, for: user.row.client, authenticatedAt: user.authenticatedAt)
  }

  private func accessToken(
    of row: SessionRow, for client: SessionClient?, authenticatedAt: UnixTime, hasIDToken: Bool = false,
    about account: AccountRecord? = nil, nonce: String? = nil
  ) throws(RegistryError) -> JSONText {
    let access: AccessTokens.Minted
    var identity: String?
    let now = clock.read().issueTime
    do {
      access = try tokens.mint(
        account: row.account, session: row.id, client: client, thumbprint: row.dpopThumbprint,
        authenticatedAt: authenticatedAt, at: now, until: row.absoluteExpiry,
        signedWith: clients.signing(for: client?.id))
      if hasIDToken, let client, client.scopes.contains("openid"), let party = clients[client.id] {
        let claims = needsAccount(client) ? account.map { AccountClaims($0, allowedBy: client.scopes) } : nil
        identity = try idTokens.identity(
          row, of: party, nonce: nonce, accessToken: access.text, about: claims, at: now)
      }
    } catch {
      throw .unavailable("signing failed: \(type(of: error))")
    }
    var json = JSONText(reserving: 1024)
    json.add("access_token", access.text)
    json.add("token_type", row.dpopThumbprint == nil ? "Bearer" : "DPoP")
    json.add("expires_in", access.life)
    json.add("id_token", ifPresent: identity)
    return json
  }
}

extension AccountRecord {
  /// The account's `profile` as sent to apps.
  var profile: JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    json.add("name", username)
    json.add("is_anonymous", isGuest)
    return json
  }
}
#endif
