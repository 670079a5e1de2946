#if Server
import HandstampCore
import HandstampRegistry
import HTTPTypes
import Hummingbird
import Logging

extension SessionServer {
  /// `GET /v1/sessions`: lists the devices that the account is signed in on, most recently seen first.
  @concurrent func listSessions(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let rows: [SessionRow]
    do throws(RegistryError) {
      rows = try await registry.sessions(of: bearer.account, now: now())
    } catch {
      throw problem(error, context)
    }
    var json = JSONText(reserving: 256 * (rows.count + 1))
    json.add("sessions", rows.map { $0.description(current: bearer.session) })
    return .json(json)
  }

  /// `DELETE /v1/sessions/{id}`: ends one session of the account. A session that has already ended is not an error; one that is
  /// unknown or belongs to another account is 404.
  @concurrent func endSession(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let id = try context.sessionID
    try await end(context) { now throws(RegistryError) in
      try await registry.end(
        id, of: bearer.account, reason: id == bearer.session ? .signedOut : .revoked, now: now)
    }
    return .nothing
  }

  /// `DELETE /v1/sessions`: ends all sessions of the account, including the one that makes the request.
  @concurrent func endAllSessions(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    // A client that adds a condition does not mean all sessions.
    guard request.uri.query == nil else { throw Problem.invalidRequest("Query parameters are not supported.") }
    let count = try await end(context) { now throws(RegistryError) in
      try await registry.endAll(of: bearer.account, now: now)
    }
    return .ended(count)
  }

  /// `POST /v1/sessions/end-others`: ends all sessions of the account except the one that makes the request.
  @concurrent func endOtherSessions(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    let count = try await end(context) { now throws(RegistryError) in
      try await registry.endAll(of: bearer.account, except: bearer.session, now: now)
    }
    return .ended(count)
  }

  /// `POST /v1/sign-out`: ends the session that makes the request.
  @concurrent func signOut(_ request: Request, _ context: ServerContext) async throws -> Response {
    let bearer = try await bearer(of: request, context)
    try await end(context) { now throws(RegistryError) in
      try await registry.end(bearer.session, of: bearer.account, reason: .signedOut, now: now)
    }
    return .nothing
  }

  /// Ends sessions and notifies open event streams. Returns how many ended.
  @discardableResult
  func end(
    _ context: ServerContext, _ work: (UnixTime) async throws(RegistryError) -> EndOutcome
  ) async throws(Problem) -> Int {
    do throws(RegistryError) {
      return ended(try await work(now()), context)
    } catch {
      throw problem(error, context)
    }
  }

  /// Counts and logs ended sessions, and notifies the streams of their accounts. Call it after every end.
  @discardableResult
  func ended(_ outcome: EndOutcome, _ context: ServerContext) -> Int {
    for account in Set(outcome.ended.map(\.account)) { hub.announce(account) }
    metrics.update { $0.revocations += outcome.ended.count }
    for row in outcome.ended {
      context.logger.info(
        "Session ended",
        metadata: ["handstamp.session": "\(row.id)", "handstamp.reason": "\(row.end?.reason.rawValue ?? "")"])
    }
    return outcome.ended.count
  }
}

extension Response {
  fileprivate static func ended(_ count: Int) -> Response {
    var json = JSONText()
    json.add("ended", Int64(count))
    return .json(json)
  }
}

extension SessionRow {
  /// The session as shown in its owner's list of devices.
  func description(current: SessionID) -> JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    json.add("current", id == current)
    var device = JSONText()
    device.add("id", self.device.id.rawValue)
    device.add("name", self.device.name)
    device.add("platform", self.device.platform)
    json.add("device", device)
    json.add("created_at", createdAt.description)
    json.add("created_at_ms", createdAt.milliseconds)
    json.add("last_seen_at", lastSeenAt.description)
    json.add("last_seen_at_ms", lastSeenAt.milliseconds)
    if let expiry {
      json.add("expires_at", expiry.description)
      json.add("expires_at_ms", expiry.milliseconds)
    }
    return json
  }
}
#endif
