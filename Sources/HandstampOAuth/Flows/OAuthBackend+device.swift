import Foundation
public import HandstampCore

/// What a person types on another device to sign in on this one (RFC 8628 section 3.2).
public struct DeviceCode: Sendable, Hashable {
  /// To be shown: short, and in the form in which the server takes it.
  public let userCode: String
  /// Where it is typed in.
  public let address: String
  /// The same with the code in it, for a QR code; nothing where the server has none.
  public let completeAddress: String?
  /// How long it is good.
  public let life: Duration
  let secret: Secret
  let interval: Duration
}

extension OAuthBackend {
  /// Signs in by a code that is typed in on another device.
  ///
  /// - Parameter show: shows the code. It is called once, and may return before the sign-in is done.
  /// - Throws: ``HandstampCore/SessionError/refused(code:detail:)`` with `access_denied` when the person said no, and with
  ///   `expired_token` when nobody answered in time; ``HandstampCore/SessionError/cancelled`` with its task;
  ///   ``HandstampCore/SessionError/unsupported(_:)`` where the server has no such sign-in.
  @concurrent public func signInOnAnotherDevice(
    showing show: @Sendable (DeviceCode) async -> Void
  ) async throws(SessionError) -> Grant {
    guard let endpoint = try await metadata().deviceAuthorizationEndpoint else {
      throw .unsupported("sign-in by a code on another device")
    }
    var fields: [(String, Secret)] = []
    if !client.scopes.isEmpty { fields.append(("scope", Secret(client.scopes.joined(separator: " ")))) }
    // Redundant beside an Authorization header, and servers are seen that read it nowhere else.
    if client.secret != nil, try await metadata().takesBasicAuthentication {
      fields.append(("client_id", Secret(client.id)))
    }
    let response = try await post(fields, to: endpoint)
    guard response.status == 200 else { throw SessionError(asking: response) }
    let code = try DeviceCode(response.body)
    await show(code)
    return try await poll(code)
  }

  /// Asks until there is an answer, never more often than the server wants (RFC 8628 section 3.5).
  private func poll(_ code: DeviceCode) async throws(SessionError) -> Grant {
    var interval = code.interval
    var waited = Duration.zero
    while waited < code.life {
      // However long the interval has become, the last time is the code's end.
      let pause = min(interval, code.life - waited)
      do { try await time.sleep(pause) } catch { throw .cancelled }
      waited += pause
      do throws(SessionError) {
        return try await exchange(
          [
            ("grant_type", Secret("urn:ietf:params:oauth:grant-type:device_code")), ("device_code", code.secret),
          ], nonce: nil)
      } catch {
        switch error {
        case .refused("authorization_pending", _): continue
        case .refused("slow_down", _): interval += .seconds(5)
        // It is another sign-in's turn.
        case .storage: continue
        // Section 3.5: a time-out is answered by asking less often, within reason: somebody waits.
        case .unreachable(let delay):
          interval = max(interval, min(max(interval * 2, delay ?? .zero), DeviceCode.mostPatience))
        default: throw error
        }
      }
    }
    throw .refused(code: "expired_token", detail: "nobody answered in time")
  }
}

extension DeviceCode {
  /// No network that fails makes the pauses longer than that; the server may.
  static let mostPatience = Duration.seconds(60)

  private struct Answer: Decodable {
    var device_code: String
    var user_code: String
    var verification_uri: String?
    /// As some servers wrote it before the RFC.
    var verification_url: String?
    var verification_uri_complete: String?
    var expires_in: Double
    var interval: Double?
  }

  init(_ body: [UInt8]) throws(SessionError) {
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(body)),
      let address = answer.verification_uri ?? answer.verification_url, !answer.device_code.isEmpty,
      !answer.user_code.isEmpty, answer.expires_in.isFinite
    else { throw .invalidAnswer("the answer to a device's request is not readable") }
    // What is shown comes from elsewhere: it must not write to a terminal.
    let shown = [answer.user_code, address, answer.verification_uri_complete].compactMap { $0 }
    guard shown.allSatisfy({ $0.utf8.allSatisfy { (32...126).contains($0) } }),
      [address, answer.verification_uri_complete].compactMap({ $0 }).allSatisfy(Address.isTrusted)
    else { throw .invalidAnswer("an address or a code that cannot be shown") }
    guard answer.user_code.utf8.count <= 64, shown.allSatisfy({ $0.utf8.count <= 2048 }) else {
      throw .invalidAnswer("an address or a code that nobody could type")
    }
    guard answer.expires_in > 0 else { throw .invalidAnswer("a code that is over already") }
    self.init(
      userCode: answer.user_code, address: address, completeAddress: answer.verification_uri_complete,
      life: .seconds(min(answer.expires_in, 86_400)), secret: Secret(answer.device_code),
      interval: .seconds(min(max(answer.interval ?? 5, 1), 600)))
  }
}
