#if Server
import Crypto
import Foundation
import HandstampCore
import HandstampJOSE
import HandstampRegistry
import HandstampSupport

/// Signs messages to receivers.
struct WebhookSigner: Sendable {
  /// How long a receiver may take to answer.
  static let timeout = Duration.seconds(15)
  /// The most of a response that is received. Of that, only the error code of a refused token is read.
  private static let longestResponse = 1 << 20

  let issuer: String
  let tokens: TokenSigners

  /// Returns the request that brings a message to a receiver.
  ///
  /// - Parameters:
  ///   - mint: derives the secrets.
  ///   - clock: for the timestamps that receivers compare with their own clocks.
  func request(
    _ message: WebhookMessage, to webhook: Webhook, at url: WebURL, by mint: TokenMint, _ clock: ServerClock.Reading
  ) throws(DescribedError) -> TransportRequest {
    let (headers, body): ([HeaderField], [UInt8])
    switch webhook.settings.format {
    case .standard:
      body = message.json.finished
      let secrets = webhook.signers(at: clock.now).compactMap { mint.secret(of: webhook, by: $0) }
      guard !secrets.isEmpty else {
        throw DescribedError("this server has no master key of its secret: make another secret")
      }
      let time = clock.lifeStart.seconds
      let signatures = secrets.map { WebhookSigner.signature(of: message.id, time, body, by: $0) }
      headers = [
        HeaderField("Content-Type", "application/json"), HeaderField("webhook-id", message.id),
        HeaderField("webhook-timestamp", String(time)),
        HeaderField("webhook-signature", signatures.joined(separator: " ")),
      ]
    case .set:
      let claims = message.token(
        from: issuer, to: webhook.settings.audience ?? webhook.settings.url, at: clock.issueTime
      ).claims
      guard let token = try? tokens.token(claims, signedWith: .es256) else {
        throw DescribedError("the token cannot be signed")
      }
      body = Array(token.utf8)
      headers = [
        HeaderField("Content-Type", "application/secevent+jwt"), HeaderField("Accept", "application/json"),
      ]
    }
    return TransportRequest(
      method: "POST", url: url.text, headers: headers + [HeaderField("User-Agent", "Handstamp-Webhooks")], body: body,
      timeout: WebhookSigner.timeout, maximumResponseSize: WebhookSigner.longestResponse)
  }

  /// One signature of Standard Webhooks 1.0, of the symmetric kind.
  static func signature(of id: String, _ time: Int64, _ body: [UInt8], by secret: Secret) -> String {
    let key = secret.withExposedBytes { SymmetricKey(data: $0) }
    let mac = HMAC<SHA256>.authenticationCode(for: Array("\(id).\(time).".utf8) + body, using: key)
    return "v1," + Data(mac).base64EncodedString()
  }

  /// A secret as receivers are given it.
  static func text(of secret: Secret) -> Secret {
    Secret("whsec_" + secret.withExposedBytes { Data($0).base64EncodedString() })
  }

  /// Returns why a response is not one of success; `nil` if it is.
  static func failure(_ response: TransportResponse, at now: UnixTime) -> WebhookFailure? {
    switch response.status {
    case 200..<300: return nil
    case 410: return WebhookFailure("it answered 410: it is gone", isGone: true)
    case 429, 503: return WebhookFailure("it answered \(response.status)", pause: response.retryDelay(at: now))
    default:
      // RFC 8935 section 2.3. The text of a stranger is shown at terminals.
      let code = response.body.count <= 1024 ? JSONValue(response.body)?["err"]?.string : nil
      let isWord = code?.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") } ?? false
      return WebhookFailure("it answered \(response.status)" + (code.map { isWord ? ": \($0.prefix(64))" : "" } ?? ""))
    }
  }
}
#endif
