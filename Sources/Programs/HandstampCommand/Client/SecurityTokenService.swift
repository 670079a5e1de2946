#if Command
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

/// AWS's Security Token Service, which exchanges an ID token for keys of a role without a signature (AssumeRoleWithWebIdentity, API version
/// 2011-06-15).
struct SecurityTokenService {
  struct Request: Sendable {
    var role: String
    var session: String
    /// `nil` is AWS's default, one hour.
    var lifetime: Duration?
  }

  struct Keys: Sendable {
    var id: String
    var secret: Secret
    var session: Secret
    /// ISO 8601.
    var expiration: String
  }

  let url: String

  /// - Parameter region: `nil` for that of the environment, as AWS's programs read it.
  init(
    region: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(CommandError) {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    if let named = value("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL") {
      guard Origin(named)?.isTrustworthy == true else {
        throw CommandError(
          .usage, "the endpoint in AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL is not an https URL",
          hint: "use https, or http on this machine; or run: unset AWS_ENDPOINT_URL_STS AWS_ENDPOINT_URL")
      }
      url = named
      return
    }
    guard let region = region ?? value("AWS_REGION", "AWS_DEFAULT_REGION") else {
      url = "https://sts.amazonaws.com/"
      return
    }
    guard !region.isEmpty, region.utf8.allSatisfy({ $0.isAlphanumeric || $0 == UInt8(ascii: "-") }) else {
      throw CommandError(.usage, "invalid AWS region", hint: "use one such as eu-central-1, in --region or AWS_REGION")
    }
    url = "https://sts.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn/" : "/")
  }

  func keys(for token: Secret, _ request: Request) async throws(CommandError) -> Keys {
    var fields = [
      ("Action", Secret("AssumeRoleWithWebIdentity")), ("Version", Secret("2011-06-15")),
      ("RoleArn", Secret(request.role)), ("RoleSessionName", Secret(request.session)), ("WebIdentityToken", token),
    ]
    if let lifetime = request.lifetime {
      fields.append(("DurationSeconds", Secret(String(lifetime.components.seconds))))
    }
    let message = TransportRequest(
      method: "POST", url: url,
      headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
      body: [UInt8](form: fields.map { (name: $0.0, value: $0.1) }), maximumResponseSize: 1 << 18)
    let response: TransportResponse
    do throws(TransportError) { response = try await CommandTransport.shared.send(message) } catch {
      throw CommandError(
        .network, "no answer from AWS at \(Origin(url)?.text ?? url)",
        hint: "check the network, and --region, and run the same command again")
    }
    let text = String(decoding: response.body, as: UTF8.self)
    guard response.status == 200 else { throw SecurityTokenService.refusal(response.status, text) }
    guard let found = SecurityTokenService.text(of: "Credentials", in: text, hasMarkup: true),
      let id = SecurityTokenService.text(of: "AccessKeyId", in: found),
      let secret = SecurityTokenService.text(of: "SecretAccessKey", in: found),
      let session = SecurityTokenService.text(of: "SessionToken", in: found),
      let expiration = SecurityTokenService.text(of: "Expiration", in: found)
    else {
      throw CommandError(
        .network, "the response of \(Origin(url)?.text ?? url) is not one of AWS's security token service",
        hint: "check AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL and --region")
    }
    return Keys(id: id, secret: Secret(secret), session: Secret(session), expiration: expiration)
  }

  /// Shows AWS's code alone: its message may quote the token.
  static func refusal(_ status: Int, _ response: String) -> CommandError {
    let code = text(of: "Code", in: response) ?? ""
    let hint =
      switch code {
      case "AccessDenied":
        "check the trust policy of the role: its identity provider, and the audience, which is the client ID"
      case "InvalidIdentityToken", "IDPRejectedClaim", "IDPCommunicationError":
        "check the identity provider in IAM: its URL is the issuer, and one of its audiences the client ID"
      case "ExpiredTokenException": "check the clock of this machine, then run: handstamp login --force"
      case "ValidationError": "check --role-arn, --session-name and --duration"
      case "RegionDisabledException": "use another --region"
      default: "run the same command again later, or with another --region"
      }
    let words = code.isEmpty ? "status \(status)" : code
    return CommandError(
      StatusMeaning(status) == .judged ? .configuration : .network, "AWS gives no keys for this role: \(words)",
      hint: hint)
  }

  /// The text of the only element of this name. AWS's elements have no attributes, and keys, codes and dates need no escapes.
  ///
  /// - Parameter hasMarkup: whether there are elements in it.
  static func text(of name: String, in response: String, hasMarkup: Bool = false) -> String? {
    let after = response.components(separatedBy: "<\(name)>")
    guard after.count == 2 else { return nil }
    let parts = after[1].components(separatedBy: "</\(name)>")
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    let isPlain = parts[0].utf8.allSatisfy { $0.isAlphanumeric || "+/=.:_-".utf8.contains($0) }
    return hasMarkup || isPlain ? parts[0] : nil
  }
}
#endif
