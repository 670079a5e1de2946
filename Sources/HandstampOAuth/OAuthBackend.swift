import Foundation
public import HandstampCore

/// Speaks with any OAuth 2 or OpenID Connect server.
///
/// ```swift
/// let client = OAuthClient(issuer: "https://id.example.org", id: "forum", scopes: ["openid", "offline_access"])
/// let identity = OAuthBackend(client, transport: URLSessionTransport())
/// try await session.signIn { try await identity.signIn(through: browser, redirectURI: "org.example.forum:/signed-in") }
/// ```
///
/// ## What cannot be promised here
/// Such a server knows nothing of rotation keys. A refresh is therefore never asked for without the flight lock, its loser
/// adopts what the winner stored, and nothing is sent before the newest token has been read. What remains: a server that
/// rotates refresh tokens and allows no second use takes a repeat after a *lost answer* for a thief's, and ends the session.
/// No client can prevent that. Servers with a grace period, and those that do not rotate, are not concerned; nor is
/// Handstamp's own server through its `ServerBackend`.
public struct OAuthBackend: Backend {
  public let client: OAuthClient
  let transport: any Transport
  let source: MetadataSource
  let prover: DPoPProver?
  let time: OAuthTime

  /// Finds nothing out before the first request.
  ///
  /// - Parameters:
  ///   - transport: as the token endpoint is reached. No ``DPoPTransport``: that is for APIs.
  ///   - proving: binds every token to a key (RFC 9449). A server that does not is then an error.
  public init(
    _ client: OAuthClient, transport: any Transport, proving prover: DPoPProver? = nil, time: OAuthTime = .system
  ) {
    self.client = client
    self.transport = transport
    self.prover = prover
    self.time = time
    source = MetadataSource(issuer: client.issuer, transport: transport, prover: prover)
  }

  /// What the server says of itself; asked for once.
  @concurrent public func metadata() async throws(SessionError) -> ServerMetadata { try await source.metadata() }

  // MARK: Backend

  public var keepsRotationKeys: Bool { false }
  public var authority: String? { client.issuer }

  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    do throws(RefreshProblem) {
      let answer = try await refreshed(token)
      return .success(Grant(tokens: answer.tokens, session: answer.session_id))
    } catch {
      return .failure(error.failure)
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    // A server that has no such endpoint now had one when the handle was taken.
    let response: TransportResponse
    do throws(SessionError) {
      guard let endpoint = try await metadata().revocationEndpoint else { throw .unreachable(retryAfter: nil) }
      response = try await post([("token", handle.secret)], to: endpoint)
    } catch {
      // The endpoint itself has not answered.
      if case .invalidAnswer = error { throw .unreachable(retryAfter: nil) }
      throw error
    }
    let object = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any]
    switch RevocationAnswer(response, isJSONObject: object != nil, error: object?["error"] as? String) {
    case .ended: return
    case .refused(let code): throw .refused(code: code, detail: nil)
    case .undecided: throw RevocationAnswer.error(status: response.status, retryAfter: response.retryAfter)
    }
  }

  // MARK: The token endpoint

  /// One refresh (RFC 6749 section 6), for less than what was granted, if scopes or a resource are named. It is sent once, and
  /// its answer is waited for until the task is cancelled.
  func refreshed(
    _ token: RefreshToken, scopes: [String] = [], resource: String? = nil
  ) async throws(RefreshProblem) -> TokenAnswer {
    var fields = [("grant_type", Secret("refresh_token")), ("refresh_token", token.secret)]
    if !scopes.isEmpty { fields.append(("scope", Secret(scopes.joined(separator: " ")))) }
    if let resource { fields.append(("resource", Secret(resource))) }
    let endpoint: String
    do throws(SessionError) { endpoint = try await metadata().tokenEndpoint } catch {
      throw RefreshProblem(failure: RefreshFailure(beforeSending: error), error: error)
    }
    let response: TransportResponse
    do throws(PostFailure) {
      response = try await send(fields, to: endpoint, timeout: OAuthBackend.patience)
    } catch {
      throw RefreshProblem(
        failure: error.wasSent ? RefreshFailure(error.error) : RefreshFailure(beforeSending: error.error),
        error: error.error)
    }
    guard response.status == 200 else { throw RefreshProblem(response) }
    do throws(SessionError) { return try TokenAnswer(response.body, isBound: prover != nil) } catch {
      throw RefreshProblem(unusable: response.body, error: error, sent: token)
    }
  }

  /// Longer than any answer is waited for: the caller counts the time in which the program ran, and cancels.
  private static let patience: Duration = .seconds(24 * 3600)

  /// Exchanges what a person brought about for tokens.
  func exchange(
    _ fields: [(String, Secret)], nonce: String?
  ) async throws(SessionError) -> Grant {
    let metadata = try await metadata()
    var fields = fields
    for resource in client.resources { fields.append(("resource", Secret(resource))) }
    return try await SignInTurn.take { [fields] () async throws(SessionError) in
      let response = try await post(fields, to: metadata.tokenEndpoint)
      guard response.status == 200 else { throw SessionError(asking: response) }
      let answer = try TokenAnswer(response.body, isBound: prover != nil)
      let handle = answer.revocation_handle ?? (metadata.revocationEndpoint == nil ? nil : answer.refresh_token)
      let served = response.header("Date").flatMap { HTTPDate.time($0) }
      return Grant(
        tokens: answer.tokens, session: answer.session_id,
        profile: try await profile(answer, metadata, nonce: nonce, served: served),
        revocation: handle.map { RevocationHandle($0) }, authority: metadata.issuer)
    }
  }

  /// Who signed in: as the answer says, its ID token, or the userinfo endpoint. A server that tells in none of these ways has
  /// one account as far as this device can tell: it goes by the issuer's name.
  private func profile(
    _ answer: TokenAnswer, _ metadata: ServerMetadata, nonce: String?, served: UnixTime?
  ) async throws(SessionError) -> Profile {
    if let token = answer.id_token {
      let identity = try IdentityToken(
        token, issuer: metadata.issuer, client: client.id, nonce: nonce, served: served)
      return answer.profile.map { identity.profile.named($0.name) } ?? identity.profile
    }
    if let person = answer.profile, person.id.namesSomebody {
      return Profile(id: person.id, name: person.name, isAnonymous: person.is_anonymous ?? false)
    }
    if client.scopes.contains("openid"), let endpoint = metadata.userInfoEndpoint {
      let bare = TransportRequest(
        method: "GET", url: endpoint,
        headers: [
          HeaderField("Accept", "application/json"), HeaderField("Authorization", "Bearer \(answer.access_token)"),
        ], answerLimit: 1 << 20)
      let sender: any Transport = prover.map { DPoPTransport(transport, $0) } ?? transport
      let response: TransportResponse
      do throws(TransportError) { response = try await sender.send(bare) } catch { throw SessionError(error) }
      guard response.status == 200 else { throw SessionError(asking: response) }
      guard let info = UserInfo(response.body) else { throw .invalidAnswer("nobody's user information") }
      return info.profile
    }
    return Profile(id: AccountID(metadata.issuer), name: String(metadata.issuer.drop { $0 != ":" }.dropFirst(3)))
  }

  /// Sends a form as this client; with a proof where tokens are bound, and once more where the server wants its nonce in it.
  func post(_ fields: [(String, Secret)], to endpoint: String) async throws(SessionError) -> TransportResponse {
    do throws(PostFailure) { return try await send(fields, to: endpoint, timeout: .seconds(20)) } catch {
      throw error.error
    }
  }

  private struct PostFailure: Error {
    var error: SessionError
    /// Whether the server may have received it.
    var wasSent: Bool
  }

  private func send(
    _ fields: [(String, Secret)], to endpoint: String, timeout: Duration
  ) async throws(PostFailure) -> TransportResponse {
    var headers = [
      HeaderField("Accept", "application/json"), HeaderField("Content-Type", "application/x-www-form-urlencoded"),
    ]
    var fields = fields.map { (name: $0.0, value: $0.1) }
    let takesBasic: Bool
    do throws(SessionError) {
      takesBasic = client.secret == nil ? false : try await metadata().takesBasicAuthentication(at: endpoint)
    } catch { throw PostFailure(error: error, wasSent: false) }
    if let secret = client.secret, takesBasic {
      headers.append(HeaderField("Authorization", client.basicAuthentication(secret)))
    } else {
      fields.append(("client_id", Secret(client.id)))
      if let secret = client.secret { fields.append(("client_secret", secret)) }
    }
    let body = FormBody(fields).bytes
    for isLast in [false, true] {
      var headers = headers
      do throws(SessionError) {
        if let prover { headers.append(HeaderField("DPoP", try prover.proof(method: "POST", url: endpoint))) }
      } catch { throw PostFailure(error: error, wasSent: false) }
      let request = TransportRequest(
        method: "POST", url: endpoint, headers: headers, body: body, timeout: timeout, answerLimit: 1 << 20,
        mayReuseConnection: false)
      if SendingTime.isOver() { throw PostFailure(error: .unreachable(retryAfter: nil), wasSent: false) }
      let response: TransportResponse
      do throws(TransportError) { response = try await transport.send(request) } catch {
        throw PostFailure(error: SessionError(error), wasSent: error.mayHaveSent)
      }
      prover?.learn(from: response.headers, of: endpoint)
      if !isLast, prover != nil, DPoPProver.wantsNonce(response) { continue }
      return response
    }
    throw PostFailure(error: .unreachable(retryAfter: nil), wasSent: true)
  }
}

extension TransportError {
  /// Whether a byte of the request may have been handed to the system.
  fileprivate var mayHaveSent: Bool {
    switch self {
    case .notConnected, .invalidRequest: false
    case .unreachable, .timedOut, .cancelled, .tooLarge: true
    }
  }
}

extension Profile {
  fileprivate func named(_ name: String) -> Profile { Profile(id: id, name: name, isAnonymous: isAnonymous) }
}
