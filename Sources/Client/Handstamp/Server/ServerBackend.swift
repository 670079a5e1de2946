public import Foundation
public import HandstampCore
import HandstampSupport

/// The backend of Handstamp's own session server.
public struct ServerBackend: AccountBackend {
  /// The server's URL.
  public let baseURL: URL
  let transport: any Transport
  let device: Device

  /// The description of this installation in the server's list of devices.
  public struct Device: Sendable, Hashable, Codable {
    package var id: DeviceID
    package var name: String
    package var platform: String

    public init(id: DeviceID, name: String, platform: String = Device.thisPlatform) {
      self.id = id
      self.name = name
      self.platform = platform
    }

    /// The platform that the program runs on: `iOS`, `macOS`, `Linux` and so on.
    public static var thisPlatform: String {
      #if os(iOS)
      "iOS"
      #elseif os(tvOS)
      "tvOS"
      #elseif os(watchOS)
      "watchOS"
      #elseif os(macOS)
      "macOS"
      #elseif os(visionOS)
      "visionOS"
      #else
      "Linux"
      #endif
    }
  }

  /// Creates a backend for the server at `baseURL`. Sends nothing.
  public init(baseURL: URL, device: Device, transport: any Transport) {
    self.baseURL = baseURL
    self.device = device
    self.transport = transport
  }

  // MARK: Backend

  public var abilities: BackendAbilities {
    BackendAbilities(
      supportsRotationKeys: true, sessionEndingOrigin: baseURL.absoluteString, issuer: baseURL.absoluteString,
      revokesRefreshTokens: true)
  }

  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let form = [UInt8](form: [
      ("grant_type", Secret("refresh_token")), ("refresh_token", request.token.secret),
      ("rotation_key", request.key.wireText),
    ])
    do throws(TransportError) {
      return RefreshResult(try await send("POST", "/oauth/token", type: ServerBackend.formType, body: form))
    } catch {
      return .noDecision(.network(error))
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    do throws(TransportError) {
      let response = try await send(
        "POST", "/oauth/revoke", type: ServerBackend.formType, body: [UInt8](form: [("token", handle.secret)]))
      let refusal = try? JSONDecoder().decode(TokenRefusal.self, from: Data(response.body))
      return RevocationResult(response, error: refusal?.error)
    } catch {
      return .noDecision(.network(error))
    }
  }

  // MARK: Requests

  func address(_ path: String) -> String {
    let base = baseURL.absoluteString
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
  }

  /// The path of one of the account's sessions. The ID may come from anywhere, and must not become another path.
  func path(of session: SessionID) throws(SessionError) -> String {
    guard let path = PercentEncoding.path("v1", "sessions", session.rawValue) else {
      throw .refused(code: "not_found", detail: nil)
    }
    return path
  }

  static let formType = "application/x-www-form-urlencoded"

  /// Sends a request with a JSON body, or without a body.
  func send(
    _ method: String, _ path: String, json: (any Encodable)? = nil, token: AccessToken? = nil
  ) async throws(SessionError) -> TransportResponse {
    let body: [UInt8]?
    do { body = try json.map { Array(try JSONEncoder().encode($0)) } } catch {
      throw .refused(code: "invalid_request", detail: "the request cannot be encoded as JSON")
    }
    do throws(TransportError) {
      return try await send(method, path, type: body == nil ? nil : "application/json", body: body ?? [], token: token)
    } catch { throw SessionError(error) }
  }

  func send(
    _ method: String, _ path: String, type: String?, body: [UInt8], token: AccessToken? = nil
  ) async throws(TransportError) -> TransportResponse {
    var headers = [HeaderField("Accept", "application/json")]
    if let type { headers.append(HeaderField("Content-Type", type)) }
    var request = TransportRequest(
      method: method, url: address(path), headers: headers, body: body, maximumResponseSize: 1 << 20)
    if let token { request = request.authorized(by: token) }
    return try await transport.send(request)
  }
}

extension ServerBackend: SessionConfirming {
  @concurrent package func confirm(_ token: AccessToken) async {
    _ = try? await send("POST", "/v1/session/confirm", token: token)
  }
}

/// The account functions of Handstamp's own server. A refusal throws ``SessionError/refused(code:detail:)`` with the server's
/// code: `wrong_credentials`, `email_taken`, `weak_password`, `sign_up_closed`, `link_invalid`, `not_anonymous` and so on.
extension ServerBackend {
  /// Creates an account and signs in, unless the server requires the address to be confirmed first: continue with
  /// ``confirmSignUp(_:password:)``. The password is then not used yet.
  ///
  /// - Parameter username: the display name, ``Profile/name``. The user signs in with the email address.
  @concurrent public func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse {
    let claim = SignInClaim(.signUp, as: email)
    return try await SignInTurn.exchange(by: claim, for: "sign-up \(email)") { key throws(SessionError) in
      try await outcome(
        of: send(
          "POST", "/v1/sign-up",
          json: Body(device: device, email: email, password: password.exposed, username: username).keyed(key)))
    }
  }

  @concurrent public func signIn(
    email: String, password: Secret, code: Secret? = nil
  ) async throws(SessionError) -> TokenResponse {
    let claim = SignInClaim(.password, as: email)
    return try await SignInTurn.exchange(by: claim, for: "sign-in \(email)") { key throws(SessionError) in
      var body = Body(device: device, email: email, password: password.exposed).keyed(key)
      body.code = code?.exposed
      return try await grant(of: send("POST", "/v1/sign-in", json: body))
    }
  }

  @concurrent public func signInAnonymously() async throws(SessionError) -> TokenResponse {
    try await SignInTurn.exchange(by: SignInClaim(.guest), for: "anonymous") { key throws(SessionError) in
      try await grant(of: send("POST", "/v1/sign-in/anonymous", json: Body(device: device).keyed(key)))
    }
  }

  /// - Throws: ``SessionError/refused(code:detail:)`` with `not_anonymous`, with ``GuestUpgrade/taken``, or as the way in it does;
  ///   ``SessionError/unsupported(_:)`` for a passkey where addresses are confirmed by mail.
  @concurrent public func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse
  {
    let (body, purpose): (Body, String)
    switch way {
    case .password(let email, let password, let username):
      body = Body(device: device, email: email, password: password.exposed, username: username)
      purpose = email
    case .apple(let credential): (body, purpose) = (Body(credential, on: device), "apple")
    case .passkey(let email, let username, let ask):
      let answer = try await answer(
        to: "/v1/upgrade/passkey/options", json: Body(email: email, username: username), by: ask, token: token)
      body = Body(device: device, email: email, username: username, passkey: answer)
      purpose = "passkey \(email)"
    }
    return try await SignInTurn.exchange(by: way.claim, for: "upgrade \(purpose)") { key throws(SessionError) in
      try await outcome(of: send("POST", "/v1/upgrade", json: body.keyed(key), token: token))
    }
  }

  /// Completes a sign-up or an upgrade that was confirmed by mail, sets the account's password, and signs in.
  ///
  /// - Parameters:
  ///   - code: the code in the mail, or in its link.
  ///   - password: the password of the account.
  /// - Throws: ``SessionError/refused(code:detail:)`` with `link_invalid` if the code is unknown, used or expired, or with
  ///   `weak_password`; then the code stays valid.
  @concurrent public func confirmSignUp(
    _ code: Secret, password: Secret
  ) async throws(SessionError) -> TokenResponse {
    let claim = SignInClaim(.signUp)
    return try await SignInTurn.exchange(by: claim, for: "confirm \(code.exposed)") { key throws(SessionError) in
      try await grant(
        of: send(
          "POST", "/v1/sign-up/confirm",
          json: Body(device: device, password: password.exposed, token: .some(code.exposed)).keyed(key)))
    }
  }

  @concurrent public func requestPasswordReset(email: String) async throws(SessionError) {
    try await check(send("POST", "/v1/password-reset", json: Body(email: email)))
  }

  /// Sets a new password with the code of a mail. Ends every session of the account; sign in afterwards.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `link_invalid` or `weak_password`.
  @concurrent public func confirmPasswordReset(
    _ code: Secret, newPassword: Secret
  ) async throws(SessionError) {
    try await check(
      send(
        "POST", "/v1/password-reset/confirm",
        json: Body(token: .some(code.exposed), new_password: newPassword.exposed)))
  }

  @concurrent public func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind> {
    struct Accepted: Decodable { var proofs: [String] }
    let accepted = try await send("GET", "/v1/reauthenticate", token: token)
      .content(Accepted.self, else: "malformed list of proofs")
    return Set(accepted.proofs.compactMap(Proof.Kind.init))
  }

  /// - Returns: another access token of the same session, which for a while may end the account's other sessions. The session
  ///   keeps its own tokens, which may not.
  @concurrent public func reauthenticate(
    _ proof: Proof, token: AccessToken
  ) async throws(SessionError) -> AccessToken {
    let body: Body
    switch proof {
    case .password(let password, let code): body = Body(password: password.exposed, code: code?.exposed)
    case .passkey(let ask): body = Body(passkey: try await passkeyAnswer(by: ask))
    case .apple(let credential): body = Body(credential, on: nil)
    case .mailedCode(let code): body = Body(mailed_code: code.exposed)
    }
    struct Answer: Decodable { var access_token: String }
    let answer = try await send("POST", "/v1/reauthenticate", json: body, token: token)
      .content(Answer.self, else: "no access token")
    return AccessToken(answer.access_token)
  }

  @concurrent public func mailProof(token: AccessToken) async throws(SessionError) {
    try check(try await send("POST", "/v1/reauthenticate/mail", token: token))
  }

  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` if the password is wrong, with `weak_password` if the new
  ///   one is, with `second_factor_required` or `reauthentication_required` if the account asks for another proof, see
  ///   ``proofs(token:)``. The same holds for ``deleteAccount(proof:token:)``.
  @concurrent public func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof? = nil, token: AccessToken
  ) async throws(SessionError) {
    var body = Body(new: new.exposed, end_others: endingOthers)
    let token = try await show(proof, as: \.current, in: &body, token)
    try check(try await send("POST", "/v1/password", json: body, token: token))
  }

  @concurrent public func deleteAccount(proof: Proof? = nil, token: AccessToken) async throws(SessionError) {
    var body = Body()
    let token = try await show(proof, as: \.password, in: &body, token)
    try check(try await send("DELETE", "/v1/me", json: body, token: token))
  }

  /// Writes a password into the body of the request that it is for; shows any other proof before.
  ///
  /// - Returns: the token of the request.
  private func show(
    _ proof: Proof?, as member: WritableKeyPath<Body, String?>, in body: inout Body, _ token: AccessToken
  ) async throws(SessionError) -> AccessToken {
    guard let proof else { return token }
    guard case .password(let password, let code) = proof else { return try await reauthenticate(proof, token: token) }
    body[keyPath: member] = password.exposed
    body.code = code?.exposed
    return token
  }

  /// Ends every session of the account but the token's own.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `reauthentication_required` if the sign-in was too long ago: call
  ///   ``reauthenticate(_:token:)``, then repeat with its token.
  @concurrent public func endOtherSessions(token: AccessToken) async throws(SessionError) {
    try await endOtherSessions(password: nil, token: token)
  }

  @concurrent public func registerPushToken(
    _ pushToken: Secret?, token: AccessToken
  ) async throws(SessionError) {
    try await check(
      send("PUT", "/v1/device/push-token", json: Body(token: .some(pushToken?.exposed)), token: token))
  }

  /// Renames one of the account's devices, as the list of sessions shows it.
  @concurrent public func renameDevice(
    of session: SessionID, to name: String, token: AccessToken
  ) async throws(SessionError) {
    try await check(send("PATCH", try path(of: session), json: Body(name: name), token: token))
  }

  func check(_ response: TransportResponse) throws(SessionError) {
    guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
  }

  func grant(of response: TransportResponse) throws(SessionError) -> TokenResponse {
    try check(response)
    return try TokenResponse(signIn: response.body)
  }

  private func outcome(of response: TransportResponse) throws(SessionError) -> SignUpResponse {
    response.status == 202 ? .confirmationSent : .signedIn(try grant(of: response))
  }

  /// The body of a request to the JSON API. Only members that are set are written; a token that is `.some(nil)` is written as
  /// null.
  struct Body: Encodable {
    var device: Device?
    var email: String?
    var password: String?
    var username: String?
    var name: String?
    var token: String??
    var current: String?
    var new: String?
    var end_others: Bool?
    var group: Bool?
    var new_password: String?
    var rotation_key: String?
    var remember: Bool?
    var code: String?
    var id_token: String?
    var nonce: String?
    var passkey: String?
    var mailed_code: String?
    var authorization_code: String?

    /// Adds the key with which the request that begins a session can be repeated, and that the session is not stored, if so.
    func keyed(_ key: RotationKey) -> Body {
      var body = self
      body.rotation_key = key.wireText.exposed
      if !SignInTurn.remembers { body.remember = false }
      return body
    }
  }
}

extension ServerBackend.Body {
  /// Apple's credential, with the name of a new account.
  init(_ credential: AppleCredential, on device: ServerBackend.Device?) {
    self.init(
      device: device, username: device == nil ? nil : credential.name, id_token: credential.idToken.exposed,
      nonce: credential.nonce,
      authorization_code: device == nil ? nil : credential.authorizationCode?.exposed)
  }

  /// The password as the proof of one request; `nil` without one.
  init?(proof password: Secret?) {
    guard let password else { return nil }
    self.init(password: password.exposed)
  }
}

extension Secret {
  /// The text, for a body that is sent at once.
  fileprivate var exposed: String { withExposed { $0 } }
}
