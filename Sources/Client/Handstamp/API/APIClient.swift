public import Foundation
import HandstampCore
import HandstampSupport

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Calls an API with the session's credential: attaches the token, refreshes it once if the API rejects it, and stops when the
/// session ends.
///
/// ```swift
/// let post: Post = try await session.api.post("/v1/posts", body: NewPost(title: "Hi"))
/// try await session.api.delete("/v1/posts/\(post.id)")
/// ```
///
/// After a 401 the token is replaced, with a newer one if there already is one, and the request is repeated once at most. One that
/// demands a proof of the user is no word on the token, see ``Options/stepUp``. A
/// sign-out in the meantime ends the call with ``APIError/session(_:)``, and its response is dropped. Redirects are not followed.
public struct APIClient: Sendable {
  /// How calls are encoded, decoded and retried.
  public struct Options: Sendable {
    /// The encoder for bodies.
    public var encoder: JSONEncoder
    /// The decoder for responses.
    public var decoder: JSONDecoder
    /// Header fields of every call; an endpoint's own fields take precedence.
    public var headers: [HeaderField]
    /// How GET, HEAD and OPTIONS are retried after transient failures, unless the endpoint has its own policy: by default three
    /// attempts within about a second. `RetryPolicy(attempts: 1)` retries nothing.
    ///
    /// Transient failures are a failed connection, a time-out, and the statuses 408, 425, 429, 502, 503 and 504. Every other
    /// response is final, including 500, whose effects are unknown. If `Retry-After` exceeds ``RetryPolicy/cap``, by default
    /// 2 s, the caller gets the failure at once.
    public var retryPolicy: RetryPolicy
    /// Asks the user for the proof that an API demands before it carries out a request: 401 `insufficient_user_authentication` (RFC
    /// 9470). The request is then repeated once with the returned token, such as that of
    /// ``SessionManager/reauthenticate(_:)``; `nil` gives the caller the API's refusal. The session stays as it is.
    ///
    /// Called for each request that is refused, so that several at once ask several times. `nil`, the default, asks for nothing.
    ///
    /// - Parameters:
    ///   - acrValues: the strengths of which the API accepts each, such as `phr` for a passkey; empty for any.
    ///   - maxAge: how recent the proof has to be; `nil` for any.
    public var stepUp:
      (@Sendable (_ acrValues: [String], _ maxAge: Duration?) async throws(SessionError) -> AccessToken?)?

    public init(
      encoder: JSONEncoder = JSONEncoder(), decoder: JSONDecoder = JSONDecoder(), headers: [HeaderField] = [],
      retryPolicy: RetryPolicy = RetryPolicy(attempts: 3, cap: .seconds(2))
    ) {
      self.encoder = encoder
      self.decoder = decoder
      self.headers = headers
      self.retryPolicy = retryPolicy
    }
  }

  /// The API's URL; the credential is sent only to its origin.
  public let baseURL: URL
  /// The controller of the session.
  public let controller: SessionController
  /// The origin of ``baseURL``; `nil` if the URL has none.
  let origin: Origin?
  let transport: any Transport
  let options: Options

  /// Creates a client for the API at `baseURL`.
  ///
  /// - Parameter baseURL: every path is appended to it; the credential is sent only to its origin.
  public init(
    baseURL: URL, controller: SessionController, transport: any Transport = URLSessionTransport(),
    options: Options = Options()
  ) {
    self.baseURL = baseURL
    origin = Origin(baseURL.absoluteString)
    self.controller = controller
    self.transport = transport
    self.options = options
  }

  /// Sends `endpoint` and decodes the response.
  ///
  /// - Throws: ``APIError``; ``APIError/status(_:_:)`` for a status other than 2xx.
  @discardableResult
  public func send<E: Endpoint>(_ endpoint: E) async throws(APIError) -> E.Response {
    try await decoded(
      response(
        to: request(for: endpoint), requiresAuth: endpoint.requiresAuth, retryPolicy: endpoint.retryPolicy))
  }
}

/// Requests of your own, in memory or from and to a file. Each gets the credential, is repeated once at most after a 401, and returns
/// the response, whatever its status. The URL has to be of the origin of ``baseURL``; otherwise, and for a body that is a stream,
/// ``APIError/invalidRequest(_:)`` is thrown, as for a GET with a body.
extension APIClient {
  /// Sends a request, and returns the response with its whole body, of at most 8 MiB.
  ///
  /// - Parameter request: sent unchanged, but for the credential. Its `timeoutInterval` limits the wait for the whole response.
  public func data(for request: URLRequest) async throws(APIError) -> (Data, HTTPURLResponse) {
    try await exchange(request, by: .whole)
  }

  /// Sends a request with this body, as ``data(for:)`` does.
  public func upload(for request: URLRequest, from body: Data) async throws(APIError) -> (Data, HTTPURLResponse) {
    var request = request
    request.httpBody = body
    return try await data(for: request)
  }

  /// Sends a request with the content of a file as its body. Only parts of it are in memory at a time; after a 401 it is read again.
  ///
  /// - Parameter request: its `timeoutInterval` limits the time without any progress.
  public func upload(for request: URLRequest, from file: URL) async throws(APIError) -> (Data, HTTPURLResponse) {
    var isFolder: ObjCBool = false
    guard file.isFileURL, FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder),
      !isFolder.boolValue, FileManager.default.isReadableFile(atPath: file.path)
    else { throw .invalidRequest("the file cannot be read") }
    var request = request
    request.httpBody = nil
    return try await exchange(request, by: .upload(from: file))
  }

  /// Sends a request, and writes the body of the response to a new file, of which only parts are in memory at a time.
  ///
  /// - Parameter request: its `timeoutInterval` limits the time without any progress.
  /// - Returns: a file in the folder for temporary files, which only its owner can read: move it, or remove it. It has the body
  ///   whatever the status is.
  public func download(for request: URLRequest) async throws(APIError) -> (URL, HTTPURLResponse) {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("download-\(UUID().uuidString)")
    do throws(APIError) {
      let (body, response) = try await exchange(request, by: .download(to: file))
      if !(200..<300).contains(response.statusCode) {
        do { try AtomicFile.replace(file.path, with: Array(body)) } catch {
          throw .unreadable("the file cannot be written")
        }
      }
      return (file, response)
    } catch {
      try? FileManager.default.removeItem(at: file)
      throw error
    }
  }

  private func exchange(
    _ request: URLRequest, by transfer: Transfer
  ) async throws(APIError) -> (Data, HTTPURLResponse) {
    let sent = try TransportRequest(request)
    if ["GET", "HEAD"].contains(sent.method), transfer.isUpload || !sent.body.isEmpty {
      throw .invalidRequest("a \(sent.method) has no body: set httpMethod")
    }
    let response = try await response(to: sent, requiresAuth: true, by: transfer)
    // `HTTPURLResponse` has one value for each name.
    let fields = Dictionary(response.headers.map { ($0.name, $0.value) }) { $0 + ", " + $1 }
    guard let url = request.url,
      let head = HTTPURLResponse(
        url: url, statusCode: response.status, httpVersion: "HTTP/1.1", headerFields: fields)
    else { throw .unreadable("not a valid response") }
    return (Data(response.body), head)
  }
}

extension TransportRequest {
  fileprivate init(_ request: URLRequest) throws(APIError) {
    guard let url = request.url else { throw .invalidRequest("no URL") }
    guard request.httpBodyStream == nil else { throw .invalidRequest("a stream cannot be sent again: upload a file") }
    let week: TimeInterval = 7 * 24 * 3600
    let limit = request.timeoutInterval
    self.init(
      method: request.httpMethod ?? "GET", url: url.absoluteString,
      headers: (request.allHTTPHeaderFields ?? [:]).map { HeaderField($0.key, $0.value) },
      body: request.httpBody.map { Array($0) } ?? [], timeout: .seconds(limit > 0 && limit < week ? limit : week))
  }
}

/// Inspects responses for changes to the session.
extension APIClient {
  /// Stores a credential that the server has replaced, and ends the session if the response is proof of that. If it is a mere
  /// hint, the server is asked once more with the credential in use. Returns the response for the caller.
  func inspected(
    _ response: TransportResponse, to request: TransportRequest, by scheme: any RequestCredential,
    sent credential: Credential, in generation: UInt64
  ) async throws(APIError) -> TransportResponse {
    switch try await settle(response, to: request, by: scheme, sent: credential, in: generation) {
    case .nothing, .proof: return response
    case .hint: break
    }
    // A request that changes something is not repeated: any page with the cookie answers the question.
    let again = request.onlyReads ? request : TransportRequest(method: "GET", url: baseURL.absoluteString)
    let newest: Credential
    do throws(SessionError) { newest = try await controller.unguarded(SessionMachine.Need()) } catch {
      throw .session(error)
    }
    guard let ready = scheme.authorize(again, with: newest, at: controller.clock.now().wall) else { return response }
    let second = try await controller.requests.run(in: generation) { [transport] () async throws(APIError) in
      try await Transfer.whole.send(ready, over: transport)
    }
    guard let second else { throw .session(controller.fenceError) }
    _ = try await settle(second, to: ready, by: scheme, sent: newest, isRepeat: true, in: generation)
    return request.onlyReads ? second : response
  }

  /// Takes in what the site has changed in a web view. A web view does not tell the status of a response, which may have been that of a
  /// server in trouble: the removal of the credential is a hint, as in a redirect, and the server is asked.
  ///
  /// - Parameter credential: the one that was lent.
  func takeIn(_ changes: [HeaderField], sent credential: Credential, in generation: UInt64) async {
    let page = TransportRequest(method: "GET", url: baseURL.absoluteString)
    guard let scheme = controller.abilities.credential,
      let request = scheme.authorize(page, with: credential, at: controller.clock.now().wall)
    else { return }
    let response = TransportResponse(status: 302, headers: changes)
    _ = try? await inspected(response, to: request, by: scheme, sent: credential, in: generation)
  }

  /// How far a response shows that the session has ended.
  private enum EndEvidence {
    case nothing, hint, proof

    /// - Parameters:
    ///   - status: of a response that takes the credential away.
    ///   - isInUse: whether the response answers the credential that is still in use.
    ///   - isRepeat: whether the server was asked once more.
    init(status: Int, isInUse: Bool, isRepeat: Bool) {
      switch status {
      // The server, or the proxy before it, is in trouble.
      case 500..., 429: self = .nothing
      case _ where !isInUse: self = isRepeat ? .nothing : .hint
      // A node that does not know the session leads to the sign-in, too.
      case 300..<400: self = isRepeat ? .proof : .hint
      default: self = .proof
      }
    }
  }

  private func settle(
    _ response: TransportResponse, to request: TransportRequest, by scheme: any RequestCredential,
    sent credential: Credential, isRepeat: Bool = false, in generation: UInt64
  ) async throws(APIError) -> EndEvidence {
    let now = controller.clock.now().wall
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else {
      return .nothing
    }
    var credential = credential
    // Another response, or another program, may have replaced the credential meanwhile: this one is merged into the newest.
    for _ in 0..<16 {
      switch scheme.inspect(response, to: request, with: credential, at: now) {
      case .unchanged: return .nothing
      case .ended(let reason):
        // Asks the vault, too, which has a replacement by another process first.
        let newest = await controller.renew(facts.id, from: credential, to: credential)
        let evidence = EndEvidence(
          status: response.status, isInUse: newest == nil || newest == credential, isRepeat: isRepeat)
        guard evidence == .proof else { return evidence }
        await end(reason, in: generation)
        throw .session(.sessionEnded(reason))
      case .renewed(let new):
        guard let newer = await controller.renew(facts.id, from: credential, to: new) else { return .nothing }
        credential = newer
      }
    }
    return .nothing
  }

  /// Ends the session, and throws its reason, if the server that issues its tokens answers a 401 that says so. Such a response
  /// of any other API is ignored.
  func endSessionIfReported(
    by response: TransportResponse, to request: TransportRequest, in generation: UInt64
  ) async throws(APIError) {
    guard let authority = controller.abilities.sessionEndingOrigin.flatMap(Origin.init),
      Origin(request.url) == authority,
      let problem = try? JSONDecoder().decode(Problem.self, from: Data(response.body)), problem.code == "session_ended"
    else { return }
    let reason = EndReason(reported: problem.reason, at: problem.provider)
    if await end(reason, in: generation) { throw .session(.sessionEnded(reason)) }
  }

  /// Ends the session that the request was sent for; `false` if that is no longer in use.
  @discardableResult
  func end(_ reason: EndReason, in generation: UInt64) async -> Bool {
    // The generation is read after the state, which might be that of a later session.
    guard case .signedIn(let facts) = controller.state, controller.requests.generation == generation else {
      return false
    }
    await controller.endHere(facts.id, reason: reason)
    return true
  }
}

/// A call under its retry policy.
extension APIClient {
  /// Sends a request unchanged, with the credential, and returns the response, whatever its status.
  ///
  /// - Throws: ``APIError/invalidRequest(_:)`` if the URL is not of the origin of ``baseURL``.
  public func response(to request: TransportRequest) async throws(APIError) -> TransportResponse {
    try await response(to: request, requiresAuth: true)
  }

  /// Only a request that may be sent twice is retried: one with an idempotent method (RFC 9110 section 9.2.2), or with an
  /// `Idempotency-Key`.
  ///
  /// - Parameters:
  ///   - policy: `nil` for the client's policy where the method only reads, and for one attempt otherwise.
  ///   - generation: the session that the request, and its repetition after a 401, belong to: never a later one. `nil` for the
  ///     current one.
  func response(
    to request: TransportRequest, requiresAuth: Bool, retryPolicy policy: RetryPolicy? = nil,
    by transfer: Transfer = .whole, in generation: UInt64? = nil
  ) async throws(APIError) -> TransportResponse {
    let generation = generation ?? controller.requests.generation
    if requiresAuth {
      guard let origin, Origin(request.url) == origin else {
        throw .invalidRequest("the URL is not of the account's own origin")
      }
    }
    let policy = policy ?? (request.onlyReads ? options.retryPolicy : RetryPolicy(attempts: 1))
    let attempts = request.mayRepeat ? policy.attempts : 1
    var attempt = 1
    while attempt < attempts {
      let wait: Duration
      do throws(APIError) {
        let response = try await self.attempt(request, requiresAuth: requiresAuth, by: transfer, in: generation)
        guard response.isTransientFailure else { return response }
        let retryAfter = response.retryDelay(at: controller.clock.now().wall)
        wait = retryAfter ?? policy.delay(afterAttempt: attempt)
        // An earlier attempt than the server asks for would be refused again.
        guard wait <= policy.cap else { return response }
      } catch {
        guard case .network(let cause) = error, case .retry? = cause.recovery else { throw error }
        wait = policy.delay(afterAttempt: attempt)
      }
      try await pause(wait, in: requiresAuth ? generation : nil)
      attempt += 1
    }
    return try await self.attempt(request, requiresAuth: requiresAuth, by: transfer, in: generation)
  }

  /// Waits; a sign-out ends the wait of a request that carries the session's token.
  private func pause(_ wait: Duration, in generation: UInt64?) async throws(APIError) {
    let done: Void? = try await controller.requests.run(in: generation ?? controller.requests.generation) {
      [clock = controller.clock] () async throws(APIError) -> Void in
      do { try await clock.sleep(for: wait) } catch { throw .network(.cancelled) }
    }
    if done == nil, generation != nil { throw .session(controller.fenceError) }
  }
}

extension RetryPolicy {
  fileprivate func delay(afterAttempt attempt: Int) -> Duration {
    delay(afterAttempt: attempt, entropy: .random(in: .min ... .max), retryAfter: nil)
  }
}

extension TransportRequest {
  var onlyReads: Bool { ["GET", "HEAD", "OPTIONS"].contains(method.uppercased()) }

  /// Whether repeating the request has no further effect.
  fileprivate var mayRepeat: Bool {
    ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method.uppercased())
      || headers.first(named: "Idempotency-Key") != nil
  }
}

extension TransportResponse {
  /// Whether the same request may succeed later.
  var isTransientFailure: Bool { [408, 425, 429, 502, 503, 504].contains(status) }
}
