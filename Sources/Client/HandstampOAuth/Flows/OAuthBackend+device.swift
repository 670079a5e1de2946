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
    guard let answer = response.decoded([String: Member].self), let secret = answer["device_code"]?.word,
      let userCode = answer["user_code"]?.word,
      let address = answer["verification_uri"]?.word ?? answer["verification_url"]?.word
    else { throw .invalidResponse("malformed device authorization response") }
    let complete = answer["verification_uri_complete"]?.word
    let life = answer["expires_in"]?.number ?? DeviceCode.usualLife
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
      interval: .seconds(min(max(answer["interval"]?.number ?? 5, 1), 600)))
  }
}
