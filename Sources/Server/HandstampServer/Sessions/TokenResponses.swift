#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport

/// Writes the tokens of a session into responses.
struct TokenResponses: Sendable {
  let accessTokens: AccessTokens
  let idTokens: IDTokens
  let clients: ClientDirectory
  let mint: TokenMint
  let clock: ServerClock

  /// Returns the response to a sign-in.
  ///
  /// - Parameters:
  ///   - claims: what its ID token says of the account, see ``claims(of:for:from:)``.
  ///   - nonce: that of the authorization request.
  func signedIn(
    _ new: NewSession, about claims: AccountClaims? = nil, nonce: String? = nil
  ) throws(RegistryError) -> JSONText {
    var json = try tokens(
      of: new.row, for: new.grant, refresh: mint.refreshToken(new.token), about: claims, nonce: nonce)
    json.add("revocation_handle", mint.revocationHandle(for: new.row.session).secret.withExposed { $0 })
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

  /// Returns what the ID token of a client's session says of the account; `nil` if nothing.
  func claims(
    of account: AccountID, for client: SessionClient?, from registry: Registry
  ) async throws(RegistryError) -> AccountClaims? {
    guard let client, clients[client.id]?.hasClaimsInIDTokens == true, client.scopes.contains("openid") else {
      return nil
    }
    return try await AccountClaims.read(account, allowedBy: client.scopes, from: registry)
  }

  /// Returns a new access token of a session; with a refresh token, as after a sign-in or a refresh, also the members that these
  /// have (RFC 6749 section 5.1).
  ///
  /// - Parameters:
  ///   - client: the grant of this token.
  ///   - proof: when and how the user proved to be the account's owner; `nil` if the row tells.
  ///   - claims: what its ID token says of the account, see ``claims(of:for:from:)``.
  /// - Throws: ``RegistryError/unavailable(_:)`` if the token cannot be signed. The session or the rotation is stored; a
  ///   retried refresh with the same token and key gets the same successor.
  func tokens(
    of row: SessionRow, for client: SessionClient?, proof: (at: UnixTime, methods: AuthenticationMethods)? = nil,
    refresh: RefreshToken? = nil, about claims: AccountClaims? = nil, nonce: String? = nil
  ) throws(RegistryError) -> JSONText {
    let (time, session) = (clock.read(), row.id)
    let party = client.flatMap { clients[$0.id] }
    let access = try accessTokens.mint(
      account: row.account, session: session, client: client, thumbprint: row.dpopThumbprint,
      authenticatedAt: proof?.at ?? row.authenticatedAt, methods: proof?.methods ?? row.methods,
      at: time, until: row.absoluteExpiry, signedWith: party?.accessTokenSigning ?? .es256)
    var identity: String?
    if refresh != nil, let client, let party, client.scopes.contains("openid") {
      identity = try idTokens.identity(row, of: party, nonce: nonce, accessToken: access.text, about: claims, at: time)
    }
    var json = JSONText(reserving: 1024)
    json.add("access_token", access.text)
    json.add("token_type", row.dpopThumbprint == nil ? "Bearer" : "DPoP")
    json.add("expires_in", access.life)
    json.add("id_token", ifPresent: identity)
    guard let refresh else { return json }
    json.add("refresh_token", refresh.secret.withExposed { $0 })
    json.add("scope", ifPresent: client.map(\.scope).flatMap { $0.isEmpty ? nil : $0 })
    json.add("session_id", session.rawValue)
    // Tells an OAuth client that its key counts: it may repeat this request, and the next ones, with the same key.
    if row.client != nil, row.isKeyed { json.add("handstamp_rotation_key", true) }
    return json
  }
}

extension AccountRecord {
  /// The account's `profile` as sent to apps.
  var profile: JSONText {
    var json = JSONText()
    AccountMembers.profile.add(self, to: &json)
    return json
  }
}
#endif
