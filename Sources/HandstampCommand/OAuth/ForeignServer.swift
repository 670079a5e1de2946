#if Programs
import Handstamp
import HandstampCore
import HandstampOAuth

/// An OAuth server that is not Handstamp's own. Nothing is asked of it but what its metadata names: a path of Handstamp's API
/// may mean something else there, or count as an attack.
struct ForeignServer: Sendable {
  let access: OAuthAccess
  let metadata: ServerMetadata

  /// `nil` for Handstamp's own server.
  ///
  /// - Throws: the server's silence, and metadata that cannot be used: then it is not known which of the two it is.
  init?(_ access: OAuthAccess) async throws(SessionError) {
    let metadata = try await access.finder.metadata()
    guard !metadata.namesOwnAPI else { return nil }
    self.access = access
    self.metadata = metadata
  }

  /// Why a command of Handstamp's own API does nothing here.
  func lacks(_ what: String, at server: ServerAddress) -> Refusal {
    Refusal(
      .failure, "\(server.text) is an OAuth server of another kind, which offers no \(what)",
      hint: "see the account's page there; handstamp logout ends the session of this device")
  }
}

extension ServerMetadata {
  /// Whether the API of Handstamp's server stands at the issuer's address: its metadata names two parts of it.
  fileprivate var namesOwnAPI: Bool {
    userInfoEndpoint == issuer + "/v1/me" && tokenEndpoint == issuer + "/oauth/token"
  }
}

extension Client {
  /// `nil` for an account at Handstamp's own server.
  func foreign() async throws(Refusal) -> ForeignServer? {
    guard let access else { return nil }
    do throws(SessionError) { return try await ForeignServer(access) } catch { throw await refusal(error) }
  }
}

extension Caller {
  /// `nil` for Handstamp's own server.
  func foreign() async throws(Refusal) -> ForeignServer? {
    switch self {
    case .session(let client): return try await client.foreign()
    case .environment(_, let server, let access):
      guard let access else { return nil }
      do throws(SessionError) { return try await ForeignServer(access) } catch {
        throw Refusal(error, server: server).asked(of: access.record)
      }
    }
  }

  /// Whether a foreign server accepts what this caller has: as its metadata lets one ask, else by a refresh. `nil` where
  /// there is no way to find out.
  func isAccepted(by foreign: ForeignServer) async throws(Refusal) -> Bool? {
    switch self {
    case .environment(let token, let server, _):
      return try await verdict(on: token, by: foreign, at: server).asAccepted
    case .session(let client):
      let token = try await client.token()
      let verdict = try await verdict(on: token, by: foreign, at: client.server)
      if verdict == .accepted { return true }
      let next: AccessToken
      do throws(SessionError) { next = try await client.controller.token(insteadOf: token) } catch {
        switch error {
        case .rejected, .signedOut: return false
        case .noRefreshToken: return verdict.asAccepted
        // It was issued again.
        case .tokenRefused: return verdict != .refused
        default: throw await client.refusal(ofRefresh: error)
        }
      }
      await client.settle()
      guard verdict == .refused else { return true }
      return try await self.verdict(on: next, by: foreign, at: client.server) == .accepted
    }
  }

  private func verdict(
    on token: AccessToken, by foreign: ForeignServer, at server: ServerAddress
  ) async throws(Refusal) -> TokenVerdict {
    do throws(SessionError) {
      return try await WaitLine.shared.during(server.text) { () async throws(SessionError) in
        try await foreign.access.backend().verdict(on: token)
      }
    } catch { throw Refusal(error, server: server) }
  }
}

extension Refusal {
  /// With a hint that fits any OAuth server, where it asked for Handstamp's own.
  func asked(of record: OAuthRecord) -> Refusal {
    guard hint == Refusal.isItOurs else { return self }
    return Refusal(code, message, hint: "is its issuer still \(record.issuer.onOneLine)? else sign in there anew")
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
