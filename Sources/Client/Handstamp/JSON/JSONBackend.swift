public import Foundation
public import HandstampCore
import HandstampSupport

/// The backend of an ordinary JSON API: three paths to which JSON is posted, such as `/login`, `/refresh` and `/logout`.
///
/// ```swift
/// let backend = JSONBackend(
///   URL(string: "https://api.example.org")!, access: "access_token", refresh: "refresh_token",
///   ends: [(401, "invalid_refresh_token", .rejected)])
/// ```
/// | the response to a refresh | the session |
/// |---|---|
/// | 2xx with an access token in a JSON object | goes on with the new tokens |
/// | a status and, in a JSON object, a code that together are one of `ends` | ends, for the reason beside them |
/// | anything else: another status or code, no code, a page, 408, 425, 429 or 5xx with whatever code | goes on |
///
/// A sign-in takes its turn, see ``SignInTurn``. A refresh is sent once, over a connection of its own, and its response is awaited for as
/// long as the session says. A sign-out revokes the newest refresh token, also after a restart.
public struct JSONBackend: CredentialBackend {
  private let url: URL
  private let paths: (signIn: String, refresh: String, signOut: String?)
  private let fields: (name: String, password: String, token: String?, code: String)
  private let ends: [(status: Int, code: String, reason: EndReason)]
  private let signInCodes: [String: String]
  private let reuse: RefreshTokenReuse?
  private let signsOutByAccessToken: Bool
  private let headers: [HeaderField]
  private let transport: any Transport
  private let read: @Sendable (_ body: Data, _ served: Date?) throws -> TokenResponse?

  /// Creates a backend that finds the tokens by their places in the response. A place is a path of at most 16 member names,
  /// such as `data.access_token`.
  ///
  /// - Parameters:
  ///   - url: the server's URL, to which the paths are appended.
  ///   - signOutPath: answers 2xx. `nil` for a server without a sign-out: sessions end only here.
  ///   - nameField: the member of the sign-in's body with the user's name or address.
  ///   - passwordField: the member with the password.
  ///   - tokenField: the member with the refresh token in the body of a refresh and of a sign-out; `nil` sends it as the bearer token (RFC
  ///     6750) instead.
  ///   - access: the place of the access token.
  ///   - refresh: the place of the refresh token. A refresh whose response has none leaves the previous one in use.
  ///   - expiresIn: the place of the access token's lifetime in seconds; `nil`, or a response without it, if the server does not say: the
  ///     token then counts as valid until your API answers 401.
  ///   - expiresAt: the place of the time at which it ends: RFC 3339, or seconds or milliseconds since 1970. It is measured against the
  ///     response's `Date`, since the device's clock may be wrong. Default: none.
  ///   - userID: the place of the account's ID, a text or a whole number; `nil` (the default) if the response does not name the user.
  ///   - userName: the place of the display name; `nil` (the default) shows the ID.
  ///   - codeField: the place of the code in a refusal.
  ///   - ends: what the server says of a session that has ended: status and code together, and the reason that they stand for. Empty for a
  ///     server without codes: no response ends a session then, and a 401 offers the user to sign in.
  ///   - signInCodes: codes of a refused sign-in, each with the one that `Wording` of HandstampUI has a text for, such as
  ///     `["bad_login": "wrong_credentials"]`. A 401 without a code is `wrong_credentials`.
  ///   - reuse: whether a refresh brings a new refresh token, and how long its predecessor is accepted; `nil` (the default) if that is not
  ///     known: then none is presented twice while a response may still arrive.
  ///   - signsOutByAccessToken: whether the sign-out wants an access token as its bearer token. A refresh gets one for it, since a sign-out
  ///     may be sent days later. If that refresh succeeds and the sign-out gets no response, a server that rotates may keep the successor's
  ///     session. Default `false`.
  ///   - headers: header fields of every request, such as an API key. Default: none.
  ///   - transport: sends the requests. Default: `URLSession`.
  public init(
    _ url: URL, signInPath: String = "/login", refreshPath: String = "/refresh", signOutPath: String? = "/logout",
    nameField: String = "email", passwordField: String = "password", tokenField: String? = "refresh_token",
    access: String, refresh: String, expiresIn: String? = "expires_in", expiresAt: String? = nil,
    userID: String? = nil, userName: String? = nil, codeField: String = "code",
    ends: [(status: Int, code: String, reason: EndReason)], signInCodes: [String: String] = [:],
    reuse: RefreshTokenReuse? = nil, signsOutByAccessToken: Bool = false, headers: [HeaderField] = [],
    transport: any Transport = URLSessionTransport()
  ) {
    self.init(
      url, signInPath: signInPath, refreshPath: refreshPath, signOutPath: signOutPath, nameField: nameField,
      passwordField: passwordField, tokenField: tokenField, codeField: codeField, ends: ends,
      signInCodes: signInCodes, reuse: reuse, signsOutByAccessToken: signsOutByAccessToken, headers: headers,
      transport: transport, decoding: Member.self
    ) { body, served in
      let (token, successor) = (body[access]?.word, body[refresh]?.word)
      guard token != nil || successor != nil else { return nil }
      var response = TokenResponse(
        tokens: TokenSet(
          access: AccessToken(token ?? ""),
          expiresIn: body.lifetime(seconds: expiresIn, until: expiresAt, served: served),
          refresh: successor.map { RefreshToken($0) }))
      response.subject = userID.flatMap { body[$0]?.identifier }.map { AccountID($0) }
      // A refresh that names the user by the ID alone must not take the name away.
      if let id = response.subject, let name = userName.flatMap({ body[$0]?.word }) {
        response.profile = Profile(id: id, name: name)
      }
      return response
    }
  }

  /// Creates a backend that decodes the responses of sign-in and refresh as a type of the app's own.
  ///
  /// - Parameters:
  ///   - decoding: the type of the response. In a target whose default isolation is the main actor, declare it `nonisolated`.
  ///   - decoder: decodes it.
  ///   - tokens: makes tokens of the response, `nil` if it has none. `served` is the response's `Date`, against which the time of an expiry
  ///     is measured; `nil` if it has none. Called for every refresh, which may leave out the refresh token and the profile.
  ///
  /// The other parameters are those of the initializer with places.
  public init<Body: Decodable & Sendable>(
    _ url: URL, signInPath: String = "/login", refreshPath: String = "/refresh", signOutPath: String? = "/logout",
    nameField: String = "email", passwordField: String = "password", tokenField: String? = "refresh_token",
    codeField: String = "code", ends: [(status: Int, code: String, reason: EndReason)],
    signInCodes: [String: String] = [:], reuse: RefreshTokenReuse? = nil, signsOutByAccessToken: Bool = false,
    headers: [HeaderField] = [], transport: any Transport = URLSessionTransport(), decoding: Body.Type,
    decoder: JSONDecoder = JSONDecoder(),
    tokens: @escaping @Sendable (_ body: Body, _ served: Date?) -> TokenResponse?
  ) {
    self.url = url
    paths = (signInPath, refreshPath, signOutPath)
    fields = (nameField, passwordField, tokenField, codeField)
    self.ends = ends
    self.signInCodes = signInCodes
    self.reuse = reuse
    self.signsOutByAccessToken = signsOutByAccessToken
    self.headers = headers
    self.transport = transport
    read = { body, served in tokens(try decoder.decode(Body.self, from: body), served) }
  }

  // MARK: Backend

  public var abilities: BackendAbilities {
    BackendAbilities(reuse: reuse, issuer: url.absoluteString, revokesRefreshTokens: paths.signOut != nil)
  }

  /// Signs in with a name or an address, and a password.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with the server's code, or the one that stands for it;
  ///   ``SessionError/requestFailed(_:retryAfter:)`` without a usable response; ``SessionError/invalidResponse(_:)`` if the tokens cannot
  ///   be used, or there is no refresh token.
  @concurrent public func signIn(
    _ username: String, _ password: Secret
  ) async throws(SessionError) -> TokenResponse {
    try await SignInTurn.take(by: SignInClaim(.password, as: username)) { () async throws(SessionError) in
      let response: TransportResponse
      do throws(RequestError) {
        response = try await post(
          [(fields.name, Secret(username)), (fields.password, password)], to: paths.signIn)
      } catch { throw SessionError(error) }
      guard case .success(var grant)? = tokens(in: response) else { throw refusal(response) }
      guard grant.tokens.refresh != nil else { throw .invalidResponse("the sign-in response has no refresh token") }
      if grant.profile == nil, let id = grant.subject { grant.profile = Profile(id: id, name: id.rawValue) }
      return grant
    }
  }

  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    do throws(RequestError) {
      // The last check: between here and the request there is no wait.
      try request.sendingTime?.check()
      let response = try await present(request.token.secret, to: paths.refresh, for: request.patience)
      return verdict(on: response, request.token)
    } catch {
      return .noDecision(error)
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    guard let path = paths.signOut else { return .refused(code: "not_offered") }
    do throws(RequestError) {
      var (token, access): (Secret, Secret?) = (handle.secret, nil)
      if signsOutByAccessToken {
        switch verdict(on: try await present(token, to: paths.refresh), RefreshToken(token)) {
        case .granted(let grant):
          access = grant.tokens.access?.secret
          token = grant.tokens.refresh?.secret ?? token
        case .rejected, .superseded: return .ended
        case .noDecision(let failure, _): return .noDecision(failure)
        }
      }
      let response = try await present(token, to: path, beside: access)
      // The status counts, unless something else has answered.
      let isDone =
        StatusMeaning(response.status) == .success
        && (!response.isPage || response.body.isEmpty || Member(object: response) != nil)
      return isDone || end(in: response) != nil ? .ended : .noDecision(failure(response))
    } catch {
      return .noDecision(error)
    }
  }

  // MARK: Requests

  /// Sends a refresh token, in the body or as the bearer token.
  private func present(
    _ token: Secret, to path: String, beside access: Secret? = nil, for timeout: Duration = .seconds(20)
  ) async throws(RequestError) -> TransportResponse {
    guard let field = fields.token else {
      return try await post([], to: path, bearer: access ?? token, for: timeout)
    }
    return try await post([(field, token)], to: path, bearer: access, for: timeout)
  }

  private func post(
    _ members: [(String, Secret)], to path: String, bearer: Secret? = nil, for timeout: Duration = .seconds(20)
  ) async throws(RequestError) -> TransportResponse {
    var body: [UInt8] = []
    let texts = members.map { ($0.0, JSONValue.string($0.1.withExposed { $0 })) }
    JSONValue.object(Dictionary(texts, uniquingKeysWith: { $1 })).append(to: &body)
    let base = url.absoluteString
    // Over a connection of its own, because a kept one may break when it is unknown whether the request has arrived.
    var request = TransportRequest(
      method: "POST",
      url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + (path.hasPrefix("/") ? path : "/" + path),
      headers: headers + [HeaderField("Accept", "application/json"), HeaderField("Content-Type", "application/json")],
      body: body, timeout: timeout, mayReuseConnection: false)
    if let bearer { request = request.authorized(by: AccessToken(bearer)) }
    do throws(TransportError) { return try await transport.send(request) } catch { throw .network(error) }
  }

  // MARK: Responses

  /// Why the object of a 2xx is no token response, and the refresh token in it, which may be the only valid one.
  private struct Flaw: Error {
    var reason: String
    var successor: RefreshToken?
  }

  /// The tokens of a response; `nil` if it is no JSON object, or not a 2xx.
  private func tokens(in response: TransportResponse) -> Result<TokenResponse, Flaw>? {
    guard StatusMeaning(response.status) == .success, Member(object: response) != nil else { return nil }
    let served = response.header("Date").flatMap { UnixTime(httpDate: $0) }?.date
    let found: TokenResponse?
    do { found = try read(response.json, served) } catch {
      return .failure(Flaw(reason: "not a token response: " + APIClient.describe(error)))
    }
    guard let found else { return .failure(Flaw(reason: "not a token response")) }
    do throws(SessionError) {
      guard found.tokens.access?.secret.isEmpty == false else { throw .invalidResponse("there is no access token") }
      try found.validate(isBearer: true)
    } catch {
      var reason = "not a token response"
      if case .invalidResponse(let text) = error { reason = text }
      let successor = found.tokens.refresh.flatMap {
        $0.secret.withExposed(TokenResponseBody.isRefreshToken) ? $0 : nil
      }
      return .failure(Flaw(reason: reason, successor: successor))
    }
    return .success(found)
  }

  /// The meaning of a response to a refresh with the token `sent`.
  private func verdict(on response: TransportResponse, _ sent: RefreshToken) -> RefreshResult {
    let found = tokens(in: response)
    if case .success(let grant)? = found { return .granted(grant) }
    if let reason = end(in: response) { return .rejected(reason) }
    if case .failure(let flaw)? = found {
      let successor = flaw.successor == sent ? nil : flaw.successor
      return .noDecision(.unusableTokens(flaw.reason, successor: successor))
    }
    return .noDecision(failure(response), retryAfter: response.retryDelay())
  }

  /// The reason of an end, if the response says one: by status and code together.
  private func end(in response: TransportResponse) -> EndReason? {
    guard StatusMeaning(response.status) != .passing, let code = code(in: response) else { return nil }
    return ends.first { $0.status == response.status && $0.code == code }?.reason
  }

  private func code(in response: TransportResponse) -> String? {
    Member(object: response)?[fields.code]?.identifier
  }

  private func failure(_ response: TransportResponse) -> RequestError {
    var server = RequestError.ServerResponse(response, error: code(in: response), detail: nil)
    // With a code a failure offers the sign-in, and a server without codes has no other way to ask for one.
    if ends.isEmpty, response.status == 401, server.error == nil, server.isOfEndpoint { server.error = "token_refused" }
    return .server(server)
  }

  /// The error of a sign-in that brought no tokens.
  private func refusal(_ response: TransportResponse) -> SessionError {
    let isDecision = StatusMeaning(response.status) != .passing
    if isDecision, let code = code(in: response) { return .refused(code: signInCodes[code] ?? code, detail: nil) }
    if case .failure(let flaw)? = tokens(in: response) { return .invalidResponse(flaw.reason) }
    let failure = failure(response)
    if response.status == 401, case .server(let server) = failure, server.isOfEndpoint {
      return .refused(code: "wrong_credentials", detail: nil)
    }
    return .requestFailed(failure, retryAfter: response.retryDelay())
  }
}
