#if Command
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
#endif
