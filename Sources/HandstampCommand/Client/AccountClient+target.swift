#if Command
import HandstampCore

extension AccountClient {
  /// Describes a refused token for another API or for fewer scopes; `nil` for an error that is not about the target.
  func refusal(_ error: SessionError, for target: TokenTarget) -> CommandError? {
    guard case .requestFailed(.configuration(let response), _) = error else { return nil }
    switch response.error {
    case "invalid_target":
      return CommandError.refusedTarget(target, at: server, client: access?.record.client)
    case "invalid_scope": return CommandError(error, server: server).about(name)
    default: return nil
    }
  }
}

extension CommandError {
  /// The server has answered `invalid_target` (RFC 8707 section 2).
  static func refusedTarget(_ target: TokenTarget, at server: ServerAddress, client: String?) -> CommandError {
    let api = target.resource ?? target.audience ?? target.scopes.joined(separator: " ")
    let receiver = client.map { " to the client \($0.onOneLine)" } ?? ""
    let entry = client.map { "the client \($0.onOneLine)" } ?? "the client"
    return CommandError(
      .configuration, "\(server.text) issues no token for \(api.onOneLine)\(receiver)",
      hint: "have its operator allow \(entry) that API; at a Handstamp server, add \(api.onOneLine) to the "
        + "\"audiences\" of \(entry) in the file of clients, and reload the server",
      code: "invalid_target")
  }
}
#endif
