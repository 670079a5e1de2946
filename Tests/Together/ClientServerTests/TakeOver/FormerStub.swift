#if Programs
import Foundation
import HandstampCore
import HandstampSupport

/// A former system in memory, with networks that lose what the test says.
final class FormerStub: Transport {
  /// How it treats refresh tokens.
  enum Kind: String, CaseIterable, Sendable {
    /// django-oauth-toolkit: revokes by RFC 7009; the table of its refresh tokens is imported.
    case toolkit
    /// GoTrue: rotates, and accepts the parent of the newest token again; a session ends with an access token.
    case goTrue
  }

  enum Loss: Sendable { case none, request, response }

  struct State: Sendable {
    /// The tokens of each session, the newest last; empty once it has ended.
    var sessions: [[String]] = []
    var isDown = false
    /// Whether the test decides about each request.
    var losses: (@Sendable () -> Loss)?
    /// How often a user was signed out by a token that was used too late.
    var reuses = 0
  }

  static let base = "https://old.example.org"
  let kind: Kind
  let state = Locked(State())

  /// - Parameter count: how many sessions there are: that of `user-0` and so on.
  init(_ kind: Kind, sessions count: Int) {
    self.kind = kind
    state.withLock { $0.sessions = (0..<count).map { ["r-\($0)-0"] } }
  }

  /// The sessions with a token that still works.
  var alive: Int { state.withLock { $0.sessions.count { !$0.isEmpty } } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let (isDown, losses) = state.withLock { ($0.isDown, $0.losses) }
    guard !isDown else { throw .notConnected("down") }
    let loss = losses?() ?? .none
    guard loss != .request else { throw .timedOut }
    let response = state.withLock { answer(request, &$0) }
    guard loss != .response else { throw .timedOut }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .notConnected("no streams here")
  }

  private func answer(_ request: TransportRequest, _ state: inout State) -> TransportResponse {
    let body = String(decoding: request.body, as: UTF8.self)
    switch (kind, request.url) {
    case (.toolkit, Self.base + "/o/revoke_token/"):
      let credentials = "Basic " + Data("app:s3cret".utf8).base64EncodedString()
      guard request.headers.first(named: "Authorization") == credentials else {
        return refusal(401, "invalid_client")
      }
      let token = body.split(separator: "&").first { $0.hasPrefix("token=") }.map { String($0.dropFirst(6)) } ?? ""
      if let found = session(of: token) { state.sessions[found.session] = [] }
      return TransportResponse(status: 200)
    case (.goTrue, Self.base + "/token?grant_type=refresh_token"):
      let token = JSONValue(request.body)?["refresh_token"]?.string ?? ""
      guard let found = session(of: token) else { return refusal(400, "refresh_token_not_found") }
      let tokens = state.sessions[found.session]
      guard let place = tokens.firstIndex(of: token), place >= tokens.count - 2 else {
        if !tokens.isEmpty { state.reuses += 1 }
        state.sessions[found.session] = []
        return refusal(400, "refresh_token_already_used")
      }
      if place == tokens.count - 1 { state.sessions[found.session].append("r-\(found.session)-\(tokens.count)") }
      let refresh = state.sessions[found.session].last ?? ""
      let user = #""user":{"id":"user-\#(found.session)"}"#
      let answer = #"{"access_token":"a.\#(found.session).x","refresh_token":"\#(refresh)",\#(user)}"#
      return TransportResponse(status: 200, body: Array(answer.utf8))
    case (.goTrue, Self.base + "/logout?scope=local"):
      let parts = request.headers.first(named: "Authorization")?.split(separator: ".") ?? []
      guard parts.count == 3, let session = Int(parts[1]), state.sessions.indices.contains(session) else {
        return refusal(401, "bad_jwt")
      }
      guard !state.sessions[session].isEmpty else { return refusal(403, "session_not_found") }
      state.sessions[session] = []
      return TransportResponse(status: 204)
    default: return refusal(404, "not_found")
    }
  }

  private func session(of token: String) -> (session: Int, generation: Int)? {
    let parts = token.split(separator: "-").dropFirst().compactMap { Int($0) }
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }

  private func refusal(_ status: Int, _ code: String) -> TransportResponse {
    TransportResponse(status: status, body: Array(#"{"error":"\#(code)","error_code":"\#(code)"}"#.utf8))
  }
}
#endif
