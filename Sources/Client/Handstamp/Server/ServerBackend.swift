public import Foundation
import HandstampCore
import HandstampSupport

/// The backend of Handstamp's own session server.
public struct ServerBackend: AccountBackend {
  /// The server's URL.
  public let baseURL: URL
  let transport: any Transport
  let device: Device

  /// The description of this installation in the server's list of devices.
  public struct Device: Sendable, Hashable, Codable {
    /// The installation's ID.
    package var id: DeviceID
    /// The device's name.
    package var name: String
    /// The device's platform.
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
