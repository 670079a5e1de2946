public import Foundation
import HandstampCore

/// Speaks with Handstamp's own session server.
public struct ServerBackend: AccountBackend {
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
      #elseif os(visionOS)
      "visionOS"
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

  /// Signs in with a password.
  ///
  /// - Throws: ``SessionError/refused(code:detail:)`` with `wrong_credentials` when the two do not fit.
  public func password(_ email: String, _ password: Secret) async throws(SessionError) -> Grant {
    try await signIn(email: email, password: password)
  }

  // MARK: Backend

  public var authority: String? { baseURL.absoluteString }

  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    let form = FormBody([
      ("grant_type", Secret("refresh_token")), ("refresh_token", token.secret), ("rotation_key", key.wireText),
    ])
    do throws(SessionError) {
      let response = try await post("/oauth/token", form: form)
      guard response.status == 200 else { return .failure(RefreshFailure(SessionError(tokenAnswer: response))) }
      return .success(try Grant(refresh: response.body))
    } catch {
      return .failure(RefreshFailure(error))
    }
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    let response = try await post("/oauth/revoke", form: FormBody([("token", handle.secret)]))
    let object = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any]
    // Only the server's own word ends the trying: a captive portal's page or a proxy's 403 would leave the session alive.
    switch RevocationAnswer(response, isJSONObject: object != nil, error: object?["error"] as? String) {
    case .ended: return
    case .refused(let code): throw .refused(code: code, detail: nil)
    case .undecided: throw RevocationAnswer.error(status: response.status, retryAfter: response.retryAfter)
    }
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

  private func post(_ path: String, form: FormBody) async throws(SessionError) -> TransportResponse {
    try await send("POST", path, type: "application/x-www-form-urlencoded", body: form.bytes, token: nil)
  }

  /// Sends a JSON body, or none.
  func send(
    _ method: String, _ path: String, json: (any Encodable)? = nil, token: AccessToken? = nil
  ) async throws(SessionError) -> TransportResponse {
    let body: [UInt8]?
    do { body = try json.map { Array(try JSONEncoder().encode($0)) } } catch {
      throw .refused(code: "invalid_request", detail: "it cannot be written as JSON")
    }
    return try await send(method, path, type: body == nil ? nil : "application/json", body: body ?? [], token: token)
  }

  private func send(
    _ method: String, _ path: String, type: String?, body: [UInt8], token: AccessToken?
  ) async throws(SessionError) -> TransportResponse {
    var headers = [HeaderField("Accept", "application/json")]
    if let type { headers.append(HeaderField("Content-Type", type)) }
    var request = TransportRequest(
      method: method, url: address(path), headers: headers, body: body, answerLimit: 1 << 20)
    if let token { request = request.authorized(by: token) }
    do throws(TransportError) { return try await transport.send(request) } catch { throw SessionError(error) }
  }
}
