#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

/// `handstamp credential-helper aws`: the JSON of `credential_process` (AWS SDKs and Tools Reference Guide, process credential
/// provider).
extension CredentialHelper {
  func answerAWS(in installation: Installation) async throws {
    let request = try role.request()
    let service = try SecurityTokenService(region: role.region)
    if AgentClient.isSet {
      throw AgentClient.noIDTokens(hint: "run it where you are signed in; or run: unset \(AgentClient.variable)")
    }
    // A program that was given a token has no ID token.
    try EnvironmentToken.refuse(to: "credential-helper aws")
    let token = try await installation.client(account).identityToken(minimumValidity: CredentialHelper.margin)
    let keys = try await service.keys(for: token.secret, request)
    keys.secret.withExposed { secret in
      keys.session.withExposed { session in
        let answer: JSONObject = [
          "Version": 1, "AccessKeyId": keys.id, "SecretAccessKey": secret, "SessionToken": session,
          "Expiration": keys.expiration,
        ]
        answer.writeJSON()
      }
    }
  }
}

/// The options of `credential-helper aws`.
struct RoleOptions: ParsableArguments {
  @Option(name: .customLong("role-arn"), help: "role to assume, for aws") var arn: String?
  @Option(help: "AWS region (default: AWS_REGION, else AWS_DEFAULT_REGION, else the global endpoint)")
  var region: String?
  @Option(help: "name of the AWS session, which AWS logs") var sessionName = "handstamp"
  @Option(help: "lifetime of the AWS keys, from 15m to 12h (default: 1h)") var duration: Span?

  func request() throws(CommandError) -> SecurityTokenService.Request {
    let parts = arn?.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false) ?? []
    guard let arn, parts.count == 6, parts[0] == "arn", parts[2] == "iam", parts[5].hasPrefix("role/"),
      arn.utf8.count <= 2048
    else {
      throw CommandError(
        .usage, arn == nil ? "missing --role-arn" : "invalid --role-arn",
        hint: "use the ARN of a role: --role-arn arn:aws:iam::123456789012:role/NAME")
    }
    let isName = sessionName.utf8.allSatisfy { $0.isAlphanumeric || "_+=,.@-".utf8.contains($0) }
    guard isName, (2...64).contains(sessionName.utf8.count) else {
      throw CommandError(
        .usage, "invalid --session-name", hint: "use 2 to 64 letters, digits and _+=,.@-, such as handstamp")
    }
    guard duration.map({ (Duration.seconds(900)...Duration.seconds(43_200)).contains($0.duration) }) ?? true else {
      throw CommandError(.usage, "invalid --duration", hint: "use at least 15m and at most 12h")
    }
    return .init(role: arn, session: sessionName, lifetime: duration?.duration)
  }
}
#endif
