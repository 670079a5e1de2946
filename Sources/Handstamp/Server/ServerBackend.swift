public import Foundation

/// Speaks with Handstamp's own session server.
public struct ServerBackend: Backend {
  public let baseURL: URL
  let transport: any Transport
  let device: Device

  /// What the server shows about this installation in the list of devices.
  public struct Device: Sendable, Hashable, Codable {
    public var id: DeviceID
    public var name: String
    public var platform: String

    public init(id: DeviceID, name: String, platform: String = Device.thisPlatform) {
      self.id = id
      self.name = name
      self.platform = platform
    }

    public static var thisPlatform: String {
      #if os(iOS)
        "iOS"
      #elseif os(tvOS)
        "tvOS"
      #elseif os(watchOS)
        "watchOS"
      #elseif os(macOS)
        "macOS"
      #else
        "Linux"
      #endif
    }
  }

  public init(baseURL: URL, device: Device, transport: any Transport) {
    self.baseURL = baseURL
    self.device = device
    self.transport = transport
  }

  // MARK: Sign-up and sign-in

  /// Makes an account and signs in.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with the server's code, such as `email_taken` or `weak_password`.
  public func signUp(email: String, password: Secret, username: String) async throws(SessionError) -> Grant {
    try await signIn(at: "/v1/sign-up", email: email, password: password, username: username)
  }

  /// Signs in with a password.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` when the two do not fit.
  public func password(_ email: String, _ password: Secret) async throws(SessionError) -> Grant {
    try await signIn(at: "/v1/sign-in", email: email, password: password, username: nil)
  }

  private func signIn(
    at path: String, email: String, password: Secret, username: String?
  ) async throws(SessionError) -> Grant {
    let body = password.withExposed { password in
      try? JSONEncoder().encode(SignInBody(email: email, password: password, username: username, device: device))
    }
    let response = try await post(path, json: body ?? Data())
    guard (200..<300).contains(response.status) else { throw SessionError(refusal: response) }
    return try Grant(signIn: response.body)
  }

  // MARK: Backend

  public var authority: String? { baseURL.absoluteString }

  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, SessionError> {
    let form = FormBody([
      ("grant_type", Secret("refresh_token")), ("refresh_token", token.secret), ("rotation_key", key.wireText),
    ])
    do throws(SessionError) {
      let response = try await post("/oauth/token", form: form)
      guard response.status == 200 else { return .failure(SessionError(tokenAnswer: response)) }
      return .success(try Grant(refresh: response.body))
    } catch {
      return .failure(error)
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    let response = try await post("/oauth/revoke", form: FormBody([("token", handle.secret)]))
    guard !(200..<300).contains(response.status) else { return }
    // Only the server's own word that it will never take this handle ends the trying: a proxy's 403, a captive portal's 404
    // or a 408 would leave the session alive there.
    throw response.isRefusal ? .rejected(.rejected) : .unreachable(retryAfter: response.retryAfter)
  }

  // MARK: The live feed

  /// The account's live feed of events, from `last` on. It ends when the connection does; begin again with the last id.
  ///
  /// - Throws: ``SessionError/tokenRefused`` when the server refuses the token,
  ///   ``SessionError/unreachable(retryAfter:)`` when the feed cannot be had now.
  public func events(
    token: AccessToken, after last: String? = nil
  ) async throws(SessionError) -> AsyncThrowingStream<ServerSentEvent, any Error> {
    var headers = [HeaderField("Accept", "text/event-stream"), HeaderField("Cache-Control", "no-store")]
    if let last { headers.append(HeaderField("Last-Event-ID", last)) }
    let request = TransportRequest(method: "GET", url: address("/v1/events"), headers: headers).authorized(by: token)
    let answer: TransportStream
    do throws(TransportError) { answer = try await transport.open(request) } catch { throw SessionError(error) }
    guard answer.status == 200 else { throw answer.status == 401 ? .tokenRefused : .unreachable(retryAfter: nil) }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ServerSentEvent.self)
    let reading = Task {
      var parser = EventStreamParser()
      do {
        for try await chunk in answer.body {
          for event in parser.parse(chunk) { continuation.yield(event) }
        }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }

  // MARK: Requests

  func address(_ path: String) -> String {
    let base = baseURL.absoluteString
    return (base.hasSuffix("/") ? String(base.dropLast()) : base) + path
  }

  private func post(_ path: String, json: Data) async throws(SessionError) -> TransportResponse {
    try await post(path, type: "application/json", body: Array(json))
  }

  private func post(_ path: String, form: FormBody) async throws(SessionError) -> TransportResponse {
    try await post(path, type: "application/x-www-form-urlencoded", body: form.bytes)
  }

  private func post(_ path: String, type: String, body: [UInt8]) async throws(SessionError) -> TransportResponse {
    let request = TransportRequest(
      method: "POST", url: address(path),
      headers: [HeaderField("Content-Type", type), HeaderField("Accept", "application/json")], body: body,
      answerLimit: 1 << 20)
    do throws(TransportError) { return try await transport.send(request) } catch { throw SessionError(error) }
  }
}
