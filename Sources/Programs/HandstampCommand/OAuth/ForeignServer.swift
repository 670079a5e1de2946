#if Command
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// A third-party OAuth server. Only endpoints in its metadata are requested: a path of Handstamp's API may mean something else
/// there, or count as an attack.
struct ForeignServer: Sendable {
  let access: OAuthAccess
  let metadata: ServerMetadata

  /// `nil` for Handstamp's own server.
  ///
  /// - Throws: An error if the server does not respond or its metadata is unusable, so that its kind is unknown.
  init?(_ access: OAuthAccess) async throws(SessionError) {
    let metadata = try await WaitLine.shared.during(access.record.issuer) { () async throws(SessionError) in
      try await access.finder.metadata()
    }
    guard !metadata.namesOwnAPI else { return nil }
    self.access = access
    self.metadata = metadata
  }

  /// Returns the refusal for a command that needs Handstamp's own API.
  func lacks(_ what: String, at server: ServerAddress) -> CommandError {
    CommandError(
      .failure, "\(server.text) is a third-party OAuth server, which does not support \(what)",
      hint: "use the account page there, or handstamp logout to end this device's session")
  }
}

extension ServerMetadata {
  /// Whether the issuer is a Handstamp server: its metadata names the API.
  var namesOwnAPI: Bool { handstampAPI == WebURL.address("/v1", below: issuer) }
}

extension AccountClient {
  /// Returns the third-party server; `nil` for an account at a Handstamp server.
  func foreign() async throws(CommandError) -> ForeignServer? {
    guard let access else { return nil }
    do throws(SessionError) { return try await ForeignServer(access) } catch { throw await refusal(error) }
  }
}

extension AuthorizedCaller {
  /// Returns the third-party server; `nil` for a Handstamp server.
  func foreign() async throws(CommandError) -> ForeignServer? {
    switch self {
    case .session(let client): return try await client.foreign()
    case .environment(_, let server):
      guard let access = server.access else { return nil }
      do throws(SessionError) { return try await ForeignServer(access) } catch {
        throw CommandError(error, server: server.address).asked(of: access.record)
      }
    // The peer of an agent cannot tell; another server answers 404.
    case .agent: return nil
    }
  }

  /// Whether a third-party server accepts the caller's token, by an endpoint in its metadata, else by a refresh. `nil` if
  /// there is no way to find out.
  func isAccepted(by foreign: ForeignServer) async throws(CommandError) -> Bool? {
    switch self {
    case .environment(let token, _), .agent(_, let token, _):
      return try await verdict(on: token, by: foreign, at: server).asAccepted
    case .session(let client):
      let token = try await client.token(mayBeBound: true)
      let verdict = try await verdict(on: token, by: foreign, at: client.server)
      if verdict == .accepted { return true }
      let next: AccessToken
      do throws(SessionError) {
        next = try await client.waiting { () async throws(SessionError) in
          try await client.controller.token(replacing: token)
        }
      } catch {
        switch error {
        case .sessionEnded, .signedOut: return false
        case .noRefreshToken: return verdict.asAccepted
        // The server issued the same token again.
        case .tokenRejected: return verdict != .refused
        default: throw await client.refusal(ofRefresh: error)
        }
      }
      guard verdict == .refused else { return true }
      return try await self.verdict(on: next, by: foreign, at: client.server) == .accepted
    }
  }

  private func verdict(
    on token: AccessToken, by foreign: ForeignServer, at server: ServerAddress
  ) async throws(CommandError) -> TokenVerdict {
    try await server.waiting { () async throws(SessionError) in
      try await foreign.access.backend().verdict(on: token)
    }
  }
}

extension CommandError {
  /// Returns the refusal with a hint for any OAuth server in place of the one for a Handstamp server.
  func asked(of record: OAuthRecord) -> CommandError {
    guard hint == CommandError.isItOurs else { return self }
    return hinting("check that its issuer is still \(record.issuer.onOneLine); if not, sign in again")
  }
}

extension TokenVerdict {
  fileprivate var asAccepted: Bool? {
    switch self {
    case .accepted: true
    case .refused: false
    case .unknown: nil
    }
  }
}
#endif
