import Foundation
public import HandstampCore
import HandstampSupport

/// The code that a user types on another device to sign in on this one (RFC 8628 section 3.2).
public struct DeviceCode: Sendable, Hashable {
  /// The code to show: short, and in the form that the server expects.
  public let userCode: String
  /// The URL of the page where the code is entered.
  public let address: String
  /// The same URL with the code in it, for a QR code; `nil` if the server has none.
  public let completeAddress: String?
  /// How long the code is valid.
  public let expiresIn: Duration
  let secret: Secret
  let interval: Duration
}

extension OAuthBackend {
  /// Signs in with a code that the user enters on another device.
  ///
  /// - Parameter show: shows the code. It is called once, and may return before the sign-in is done.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `access_denied` if the user refused, and with
  ///   `expired_token` if the code expired; ``SessionError/cancelled`` if its task is cancelled;
  ///   ``SessionError/unsupported(_:)`` if the server does not offer this sign-in; ``SessionError/storage(_:)``, before the code
  ///   is shown, if the vault cannot be locked for a sign-in.
  @concurrent public func signInOnAnotherDevice(
    showing show: @Sendable (DeviceCode) async -> Void
  ) async throws(SessionError) -> TokenResponse {
    SignInTurn.name(SignInClaim(.deviceCode))
    guard let endpoint = try await metadata().deviceAuthorizationEndpoint else {
      throw try await metadata().missing("device_authorization_endpoint", for: "sign-in with a code on another device")
    }
    try await SignInTurn.check()
    var fields: [(String, Secret)] = []
    if !client.scopes.isEmpty { fields.append(("scope", Secret(client.scopes.joined(separator: " ")))) }
    fields += client.extras().map { ($0, Secret($1)) }
    // Redundant beside an `Authorization` header, but some servers read it nowhere else.
    if client.secret != nil, try await metadata().takesBasicAuthentication {
      fields.append(("client_id", Secret(client.id)))
    }
    let response = try await post(fields, to: endpoint)
    guard (200..<300).contains(response.status), response.decoded(TokenRefusal.self) == nil else {
      throw SessionError(asking: response, at: time.now())
    }
    let code = try DeviceCode(response)
    await show(code)
    return try await poll(code)
  }

  /// Polls until there is a decision, never more often than the server allows (RFC 8628 section 3.5).
  private func poll(_ code: DeviceCode) async throws(SessionError) -> TokenResponse {
    var interval = code.interval
    var waited = Duration.zero
    var trouble: SessionError?
    while waited < code.expiresIn {
      // However long the interval has become, the last poll is when the code expires.
      let pause = min(interval, code.expiresIn - waited)
      do { try await time.sleep(pause) } catch { throw .cancelled }
      waited += pause
      let refused = Locked<TokenRefusal?>(nil)
      do throws(SessionError) {
        return try await exchange(
          [
            ("grant_type", Secret("urn:ietf:params:oauth:grant-type:device_code")), ("device_code", code.secret),
          ], by: .deviceCode, nonce: nil, repeats: false, refused: refused)
      } catch {
        switch error {
        case .refused("authorization_pending", _): trouble = nil
        case .refused("slow_down", _):
          // Some servers say how long; what the RFC asks is the least.
          let named = refused.withLock { $0?.interval }.map { Duration.seconds(min(max($0, 0), 600)) } ?? .zero
          (interval, trouble) = (max(interval + .seconds(5), named), nil)
        // Microsoft's name for it.
        case .refused("authorization_declined", let detail): throw .refused(code: "access_denied", detail: detail)
        // Another sign-in has its turn.
        case .storage: trouble = error
        // Section 3.5: after a time-out the interval grows, but only so far, because the user is waiting.
        case .requestFailed(.network, let delay), .requestFailed(.server, let delay):
          interval = max(interval, min(max(interval * 2, delay ?? .zero), DeviceCode.mostPatience))
        default: throw error
        }
      }
    }
    throw trouble ?? .refused(code: "expired_token", detail: "the code expired before the sign-in was confirmed")
  }
}

extension DeviceCode {
  /// The longest interval that network failures lead to; the server may ask for a longer one.
  static let mostPatience = Duration.seconds(60)

  /// How long a code counts if the server does not say.
  private static let usualLife = 900.0

  init(_ response: TransportResponse) throws(SessionError) {
    // `verification_url` is the name that some servers used before the RFC.
    guard let members = response.decoded([String: Member].self), let secret = members["device_code"]?.word,
      let userCode = members["user_code"]?.word,
      let address = members["verification_uri"]?.word ?? members["verification_url"]?.word
    else { throw .invalidResponse("malformed device authorization response") }
    let complete = members["verification_uri_complete"]?.word
    let life = members["expires_in"]?.number ?? DeviceCode.usualLife
    // The text to show comes from elsewhere: it must not contain terminal control characters.
    let shown = [userCode, address, complete].compactMap { $0 }
    guard shown.allSatisfy({ $0.utf8.allSatisfy { (32...126).contains($0) } }),
      [address, complete].compactMap({ $0 }).allSatisfy(Address.isTrusted)
    else { throw .invalidResponse("unsafe verification URL or code") }
    guard userCode.utf8.count <= 64, shown.allSatisfy({ $0.utf8.count <= 2048 }) else {
      throw .invalidResponse("the verification URL or code is too long")
    }
    guard life > 0 else { throw .invalidResponse("the code has already expired") }
    self.init(
      userCode: userCode, address: address, completeAddress: complete,
      expiresIn: .seconds(min(life, 86_400)), secret: Secret(secret),
      interval: .seconds(min(max(members["interval"]?.number ?? 5, 1), 600)))
  }
}

extension OAuthBackend: BrowserBackend {
  /// Signs in with the system's browser: authorization code with PKCE, S256 (RFC 6749 section 4.1, RFC 7636, RFC 8252).
  ///
  /// - Parameters:
  ///   - receiver: opens the page and captures the redirect.
  ///   - redirectURI: the redirect URI as registered at the server. On loopback the port is arbitrary (RFC 8252 section 7.3).
  ///   - loginHint: whose sign-in it is, such as an email address, which the page may fill in; `nil` (the default) for any
  ///     account's (OpenID Connect Core 1.0 section 3.1.2.1).
  ///   - selectsAccount: whether the page asks which account to use, even if the browser is signed in to one
  ///     (`prompt=select_account`). Default `false`.
  /// - Throws: ``SessionError/cancelled`` if the user closed the page;
  ///   ``SessionError/refused(code:detail:)`` with the server's code, such as `access_denied`;
  ///   ``SessionError/redirect(_:)`` if the page could not be shown;
  ///   ``SessionError/unsupported(_:)`` if the server has no sign-in page;
  ///   ``SessionError/storage(_:)``, before the page is shown, if the vault cannot be locked for a sign-in.
  @concurrent public func signIn(
    through receiver: some RedirectReceiver, redirectURI: String, loginHint: String? = nil,
    selectsAccount: Bool = false
  ) async throws(SessionError) -> TokenResponse {
    SignInTurn.name(SignInClaim(.browser, as: loginHint))
    let flow = try await begin(redirectURI: redirectURI, loginHint: loginHint, selectsAccount: selectsAccount)
    try await SignInTurn.check()
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(from: flow.url, callbackScheme: flow.callbackScheme)
    } catch { throw error.sessionError }
    return try await finish(flow, with: callback)
  }

  @concurrent public func signIn(on page: BrowserPage) async throws(SessionError) -> TokenResponse {
    try await signIn(through: page.receiver, redirectURI: page.redirectURI)
  }

  /// Begins a sign-in with a browser that the app opens itself; ``finish(_:with:)`` completes it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server does not offer sign-in by browser.
  @concurrent public func begin(
    redirectURI: String, loginHint: String? = nil, selectsAccount: Bool = false
  ) async throws(SessionError) -> AuthorizationFlow {
    var hints: [String: String] = [:]
    if let loginHint { hints["login_hint"] = loginHint }
    if selectsAccount { hints["prompt"] = "select_account" }
    return try await begin(redirectURI: redirectURI, hints: hints)
  }

  /// Begins a sign-in with parameters of its own, or continues one that a caller has kept the memory of.
  @concurrent package func begin(
    redirectURI: String, hints: [String: String], memory: AuthorizationFlow.Memory? = nil
  ) async throws(SessionError) -> AuthorizationFlow {
    try AuthorizationFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, hints: hints, memory: memory)
  }

  /// Completes a sign-in with the complete URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if the URL does not belong to `flow`;
  ///   ``SessionError/refused(code:detail:)`` with the server's code.
  @concurrent public func finish(
    _ flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> TokenResponse {
    try await exchange(try fields(of: flow, with: callback), by: .browser, nonce: flow.nonce)
  }

  /// Completes a sign-in with the token endpoint's own response. For servers, which verify the ID token's signature and claims
  /// themselves; nothing in it is checked here but that the access token can be used.
  @concurrent package func tokens(
    of flow: AuthorizationFlow, with callback: Secret
  ) async throws(SessionError) -> TokenResponseBody {
    let metadata = try await metadata()
    let response = try await post(try fields(of: flow, with: callback), to: metadata.tokenEndpoint)
    guard case .tokens(let found) = EndpointWord(response) else {
      throw SessionError(asking: response, at: time.now())
    }
    return try checked(found, of: metadata)
  }

  private func fields(
    of flow: AuthorizationFlow, with callback: Secret
  ) throws(SessionError) -> [(String, Secret)] {
    [
      ("grant_type", Secret("authorization_code")), ("code", try flow.code(in: callback)),
      ("redirect_uri", Secret(flow.redirectURI)), ("code_verifier", flow.proof.verifier),
    ]
  }
}

/// One sign-out in the browser (OpenID Connect RP-Initiated Logout 1.0): the URL to open, and the check of the response. Valid for
/// one response.
public struct LogoutFlow: Sendable {
  /// The URL to open in the browser in which the user signed in. It contains the ID token, if there is one.
  public let url: String
  /// The URI that the browser is sent to in the end.
  public let redirectURI: String
  private let state: String

  init(
    client: OAuthClient, metadata: ServerMetadata, redirectURI: String, idToken: Secret?, loginHint: String?
  ) throws(SessionError) {
    guard let endpoint = metadata.endSessionEndpoint else {
      throw metadata.missing("end_session_endpoint", for: "sign-out in the browser")
    }
    self.redirectURI = redirectURI
    state = Base64URL.encode(randomBytes(16))
    // The client's ID as well: an ID token may be encrypted (section 2).
    var fields = [("client_id", client.id), ("post_logout_redirect_uri", redirectURI), ("state", state)]
    if let idToken {
      fields.append(("id_token_hint", idToken.withExposed { $0 }))
    } else if let loginHint {
      fields.append(("logout_hint", loginHint))
    }
    url = Address.adding(fields, to: endpoint)
  }

  /// Checks the URL that the browser was redirected to.
  ///
  /// - Throws: ``SessionError/invalidResponse(_:)`` if it does not belong to this sign-out: it may be that the user is still signed
  ///   in.
  public func check(_ callback: Secret) throws(SessionError) {
    try callback.withExposed { text throws(SessionError) in
      let fields = try RedirectFields.fields(of: text, to: redirectURI, naming: ["state"])
      guard let state = fields["state"] else { throw .invalidResponse("the response has no state") }
      guard Secret(state) == Secret(self.state) else {
        throw .invalidResponse("the response belongs to another request")
      }
    }
  }
}

extension OAuthBackend {
  /// Ends the user's session in the browser, so that the next sign-in there asks for the account again. The session of the app is
  /// another one: `session.signOut()` ends it, and works without a network.
  ///
  /// ```swift
  /// await session.signOut()
  /// try await identity.signOutOfBrowser(through: browser, redirectURI: "org.example.forum:/signed-out")
  /// ```
  /// - Parameters:
  ///   - receiver: opens the page in the browser in which the user signed in, and captures the redirect. A private browser session
  ///     has nothing to end.
  ///   - redirectURI: the URI that the client registered for this (`post_logout_redirect_uri`).
  ///   - idToken: an ID token of the session: with it most servers do not ask the user. `nil` (the default) if there is none at
  ///     hand.
  ///   - loginHint: without an ID token, whose session it is, such as an email address.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no such page; ``SessionError/cancelled`` if the user closed the
  ///   page, as one who chose to stay signed in does; ``SessionError/redirect(_:)`` if it could not be shown;
  ///   ``SessionError/invalidResponse(_:)`` if the response belongs to another request.
  @concurrent public func signOutOfBrowser(
    through receiver: some RedirectReceiver, redirectURI: String, idToken: Secret? = nil, loginHint: String? = nil
  ) async throws(SessionError) {
    let flow = try await beginLogout(redirectURI: redirectURI, idToken: idToken, loginHint: loginHint)
    let callback: Secret
    do throws(RedirectError) {
      callback = try await receiver.receive(
        from: flow.url, callbackScheme: RedirectFields.scheme(of: redirectURI))
    } catch { throw error.sessionError }
    try flow.check(callback)
  }

  /// Begins a sign-out with a browser that the app opens itself; ``LogoutFlow/check(_:)`` completes it.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` if the server has no page for it.
  @concurrent public func beginLogout(
    redirectURI: String, idToken: Secret? = nil, loginHint: String? = nil
  ) async throws(SessionError) -> LogoutFlow {
    try LogoutFlow(
      client: client, metadata: try await metadata(), redirectURI: redirectURI, idToken: idToken, loginHint: loginHint)
  }
}

extension OAuthBackend {
  /// Asks for a token of the client itself.
  ///
  /// - Parameter fields: the grant, without scope and resources.
  /// - Throws: ``SessionError/refused(code:detail:)``, ``SessionError/requestFailed(_:retryAfter:)``, or
  ///   ``SessionError/invalidResponse(_:)``.
  func ownTokens(_ fields: [(String, Secret)]) async throws(SessionError) -> TokenSet {
    let metadata = try await metadata()
    var fields = fields
    if !client.scopes.isEmpty { fields.append(("scope", Secret(client.scopes.joined(separator: " ")))) }
    for resource in client.resources { fields.append(("resource", Secret(resource))) }
    for (name, value) in client.parameters.sorted(by: { $0.key < $1.key })
    where !fields.contains(where: { $0.0 == name }) {
      fields.append((name, Secret(value)))
    }
    let response = try await post(fields, to: metadata.tokenEndpoint)
    guard case .tokens(let found) = EndpointWord(response) else {
      throw SessionError(asking: response, at: time.now())
    }
    return try checked(found, of: metadata).tokens
  }
}

/// A client that has registered itself (RFC 7591 section 3.2.1).
package struct ClientInformation: Sendable, Hashable {
  package let id: String
  /// `nil` for a public client, which every program asks to be; a server may decide otherwise.
  package let secret: Secret?
  /// When the secret expires; `nil` if it does not.
  package let secretExpiresAt: UnixTime?
  /// Where the secret goes; `nil` as the server says.
  package let secretPlace: OAuthProvider.SecretPlace?
  /// The scopes that it may request; `nil` if the server did not say.
  package let scopes: [String]?

  /// `nil` for any other response.
  init?(_ response: TransportResponse) {
    // Characters of RFC 6749 appendix A.1 and A.2.
    func isVisible(_ text: String) -> Bool {
      text.utf8.count <= 4096 && text.utf8.allSatisfy { (32...126).contains($0) }
    }
    guard (200..<300).contains(response.status), let members = response.decoded([String: Member].self),
      let id = members["client_id"]?.word, isVisible(id)
    else { return nil }
    self.id = id
    let method = members["token_endpoint_auth_method"]?.word
    secret = method == "none" ? nil : members["client_secret"]?.word.flatMap { isVisible($0) ? Secret($0) : nil }
    let end = members["client_secret_expires_at"]?.number.flatMap {
      $0 > 0 ? UnixTime(seconds: Int64(min($0, 1e11))) : nil
    }
    secretExpiresAt = secret == nil ? nil : end
    let places: [String: OAuthProvider.SecretPlace] = ["client_secret_post": .form, "client_secret_basic": .header]
    secretPlace = method.flatMap { places[$0] }
    scopes = members["scope"]?.word.map { $0.split(separator: " ").map(String.init) }
  }
}

extension OAuthBackend {
  /// Registers a program as a public client with the scopes of ``client``, whatever its ID is (RFC 7591 section 3.1).
  ///
  /// - Parameter redirectURI: on this machine, with its port, which many servers compare.
  /// - Throws: ``SessionError/unsupported(_:)`` if the server registers no programs; ``SessionError/refused(code:detail:)`` with its
  ///   code, such as `invalid_client_metadata`.
  @concurrent package func register(
    as name: String, redirectURI: String
  ) async throws(SessionError) -> ClientInformation {
    let metadata = try await metadata()
    guard let endpoint = metadata.registrationEndpoint else {
      throw metadata.missing("registration_endpoint", for: "registration of programs")
    }
    let device = metadata.deviceAuthorizationEndpoint.map { _ in "urn:ietf:params:oauth:grant-type:device_code" }
    var document = JSONText([("client_name", name), ("token_endpoint_auth_method", "none")])
    document.add("redirect_uris", [redirectURI])
    document.add("grant_types", ["authorization_code", "refresh_token", device].compactMap(\.self))
    document.add("response_types", ["code"])
    if !client.scopes.isEmpty { document.add("scope", client.scopes.joined(separator: " ")) }
    let request = TransportRequest(
      method: "POST", url: endpoint,
      headers: [
        HeaderField("Accept", "application/json"), .uncompressed, HeaderField("Content-Type", "application/json"),
      ], body: document.finished, timeout: .seconds(20), maximumResponseSize: 1 << 20)
    let response: TransportResponse
    do throws(TransportError) { response = try await transport.send(request) } catch { throw SessionError(error) }
    if let registered = ClientInformation(response) { return registered }
    guard !(200..<300).contains(response.status) || response.decoded(TokenRefusal.self) != nil else {
      throw .invalidResponse("the response to the registration has no client_id")
    }
    throw SessionError(asking: response, at: time.now())
  }

  /// Whether the server says that it does not know the client (`invalid_client`). Asks for the tokens of a code that is none, because
  /// the page of a sign-in would tell only the user (RFC 6749 section 4.1.2.1).
  @concurrent package func isForgotten() async -> Bool {
    let fields = [
      ("grant_type", Secret("authorization_code")), ("code", Secret(Base64URL.encode(randomBytes(16)))),
      ("redirect_uri", Secret(client.redirectURI ?? "http://127.0.0.1/callback")),
      ("code_verifier", CodeProof().verifier),
    ]
    guard let metadata = try? await metadata(), let response = try? await post(fields, to: metadata.tokenEndpoint)
    else {
      return false
    }
    return StatusMeaning(response.status) != .passing
      && response.decoded(TokenRefusal.self)?.error == "invalid_client"
  }
}
