#if Command
import Handstamp
import HandstampCommandLine

extension AccountClient {
  /// Returns another token than one that an API has refused.
  ///
  /// - Parameter target: The API and scopes of the token; `nil` for the session's own.
  func token(replacing refused: AccessToken, for target: TokenTarget?) async throws(CommandError) -> HandedToken {
    if let target {
      // Such tokens have no refresh of their own: one that lasts longer is another one.
      let next = try await token(for: target, minimumValidity: .seconds(365 * 86_400))
      guard next.token != refused else { throw CommandError(.tokenRejected, server: server) }
      return next
    }
    do throws(SessionError) {
      let next = try await waiting { () async throws(SessionError) in try await controller.token(replacing: refused) }
      return HandedToken(secret: next.secret)
    } catch { throw await refusal(error) }
  }

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
