#if Command
import ArgumentParser
import Foundation
import HandstampCommandLine
import HandstampCore
import HandstampSupport

/// `handstamp credential-helper kubectl`: client-go's exec credential plug-in API, `client.authentication.k8s.io`.
extension CredentialHelper {
  /// The contents of `KUBERNETES_EXEC_INFO`.
  private struct ExecInfo: Decodable {
    struct Spec: Decodable {
      struct Cluster: Decodable { var server: String? }
      /// Whether the plug-in may use the terminal.
      var interactive: Bool?
      /// Set only with `provideClusterInfo: true`.
      var cluster: Cluster?
    }
    var apiVersion: String
    var spec: Spec?
  }

  private static let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]

  func answerKubectl(_ hosts: [NamedHost], in installation: Installation) async throws {
    let info = try CredentialHelper.execInfo()
    if info?.spec?.interactive == false { await PassphrasePrompt.shared.stopAsking() }
    let cluster = info?.spec?.cluster?.server
    if HandedToken.isSet {
      try CredentialHelper.check(cluster, hosts, own: nil)
      guard !AgentClient.isSet || sendsAccessToken else {
        throw AgentClient.noIDTokens(hint: "if the cluster verifies access tokens, add --access-token")
      }
      guard let given = try await HandedToken.current(lasting: CredentialHelper.margin) else { return }
      return given.secret.withExposed { show($0, until: given.end, info) }
    }
    let client = try await installation.client(account)
    try CredentialHelper.check(cluster, hosts, own: client.server)
    guard !sendsAccessToken else {
      let given = try await client.handedToken(lasting: CredentialHelper.margin)
      return given.secret.withExposed { show($0, until: given.end, info) }
    }
    do throws(CommandError) {
      let token = try await client.identityToken(minimumValidity: CredentialHelper.margin)
      token.secret.withExposed { show($0, until: token.lifetime.end, info) }
    } catch {
      guard error.code == "no_id_token" else { throw error }
      throw error.hinting(error.hint + "; or, if the cluster verifies access tokens, add --access-token")
    }
  }

  private static func execInfo() throws(CommandError) -> ExecInfo? {
    guard let text = ProcessEnvironment["KUBERNETES_EXEC_INFO"] else { return nil }
    guard let info = try? JSONDecoder().decode(ExecInfo.self, from: Data(text.utf8)) else {
      throw CommandError(
        .usage, "KUBERNETES_EXEC_INFO is not in kubectl's format", hint: "run: unset KUBERNETES_EXEC_INFO")
    }
    guard versions.contains(info.apiVersion) else {
      throw CommandError(
        .usage, "unsupported apiVersion \(info.apiVersion.onOneLine)",
        hint: "set apiVersion: \(versions[0]) in the exec section of the kubeconfig")
    }
    return info
  }

  /// A kubeconfig may pair its user with any cluster. If kubectl names the cluster, it must be one of the allowed hosts.
  private static func check(_ cluster: String?, _ hosts: [NamedHost], own: ServerAddress?) throws(CommandError) {
    guard let cluster else {
      guard hosts.isEmpty else {
        throw CommandError(
          .usage, "kubectl did not name the cluster, so --host cannot be checked",
          hint: "add provideClusterInfo: true to the exec section of the kubeconfig, or leave out --host")
      }
      return
    }
    guard TokenDestination(cluster)?.isAllowed(hosts, own: own) != true else { return }
    let host = URLComponents(string: cluster)?.host ?? "HOST"
    throw CommandError(
      .failure, "refusing to send the token to \(cluster.onOneLine)",
      hint: "add --host \(host.onOneLine) to the args of the exec section")
  }

  private func show(_ token: String, until end: UnixTime?, _ info: ExecInfo?) {
    let status: JSONObject = ["token": token, "expirationTimestamp": end?.description]
    let credential: JSONObject = [
      "apiVersion": info?.apiVersion ?? CredentialHelper.versions[0], "kind": "ExecCredential", "status": status,
    ]
    credential.writeJSON()
  }
}

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

/// `handstamp credential-helper cargo`: version 1 of cargo's credential provider protocol, one line of JSON for each message (The
/// Cargo Book, Credential Provider Protocol). Cargo runs the program with `--cargo-plugin`, and the arguments of its configuration come
/// with each request.
extension CredentialHelper {
  private struct Request: Decodable {
    struct Registry: Decodable {
      var url: String
      enum CodingKeys: String, CodingKey { case url = "index-url" }
    }
    var v: Int
    var kind: String
    var registry: Registry
    var args: [String]?
  }

  private static func refuse(_ kind: String, _ message: String? = nil, causes: [String]? = nil) {
    let answer: JSONObject = ["kind": kind, "message": message, "caused-by": causes]
    ["Err": answer].writeJSON()
  }

  func answerCargo(_ hosts: [NamedHost], in installation: Installation) async throws {
    Terminal.out(#"{"v":[1]}"#)
    var (lines, count) = (HelperInput.Lines(), 0)
    while let line = try lines.next() {
      guard let request = try? JSONDecoder().decode(Request.self, from: Data(line.utf8)) else {
        throw CommandError(
          .usage, "stdin is not a request of cargo",
          hint: "name this command as credential-provider in .cargo/config.toml")
      }
      guard request.v == 1 else {
        throw CommandError(
          .usage, "unsupported version of cargo's protocol: \(request.v)",
          hint: #"use cargo:token-from-stdout, with "handstamp", "token", as the credential-provider"#)
      }
      count += 1
      do throws(CommandError) {
        let (asked, more) = try await arguments(of: request)
        try await asked.answer(request, hosts + more, in: installation)
      } catch {
        // Cargo shows it, unless the program fails as well.
        CredentialHelper.refuse("other", error.message, causes: ["hint: " + error.hint])
      }
    }
    guard count > 0 else {
      throw CommandError(
        .usage, "no request on stdin", hint: "name this command as credential-provider in .cargo/config.toml")
    }
  }

  /// The options in cargo's configuration, which it does not pass on the command line.
  private func arguments(of request: Request) async throws(CommandError) -> (CredentialHelper, [NamedHost]) {
    var words = request.args ?? []
    guard !words.isEmpty else { return (self, []) }
    if words.first == CredentialHelper.configuration.commandName { words.removeFirst() }
    if !words.contains("cargo") { words.insert("cargo", at: 0) }
    guard let asked = try? await CredentialHelper.asyncParse(words), asked.action == ["cargo"] else {
      throw CommandError(
        .usage, "cannot parse the arguments of the credential-provider",
        hint: #"use: credential-provider = ["handstamp", "credential-helper", "cargo", "--host", "HOST"]"#)
    }
    return (asked, try asked.hosts.map { text throws(CommandError) in try NamedHost(text) })
  }

  private func answer(
    _ request: Request, _ hosts: [NamedHost], in installation: Installation
  ) async throws(CommandError) {
    guard request.kind == "get" else { return CredentialHelper.refuse("operation-not-supported") }
    // "sparse+https://host/index/"; that of a git repository has no prefix.
    let parts = request.registry.url.split(separator: "+", maxSplits: 1)
    let index = ["sparse", "registry"].contains(parts.first) ? String(parts.last ?? "") : request.registry.url
    let given = try await token(in: installation) { TokenDestination(index)?.isAllowed(hosts, own: $0) ?? false }
    guard let given else { return CredentialHelper.refuse("url-not-supported") }
    given.secret.withExposed { token in
      let answer: JSONObject = [
        "kind": "get", "token": token, "cache": given.end == nil ? "never" : "expires",
        "expiration": given.end?.seconds, "operation_independent": true,
      ]
      ["Ok": answer].writeJSON()
    }
  }
}
#endif
