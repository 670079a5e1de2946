#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The devices that the account is signed in on, and sign-out.
struct SessionsController<Context: SessionRequestContext>: Sendable {
  let service: AccountService
  let authenticator: Authenticator
  let pages: PageWriter
  private var registry: Registry { service.registry }
  private var clock: ServerClock { service.clock }

  func addRoutes(to routes: some RouterMethods<Context>) {
    let own = routes.signedIn(by: authenticator)
    own.get(.prompt(.sessions), use: list)
    own.patch("/v1/sessions/:id", use: rename)
    own.delete("/v1/sessions/:id", use: end)
    own.delete("/v1/sessions", use: endAll)
    own.post("/v1/sessions/end-others", use: endOthers)
    own.post("/v1/sign-out", use: signOut)
    own.put("/v1/device/push-token", use: setPushToken)
    routes.post("/v1/session/confirm", use: confirm)
  }

  /// `GET /v1/sessions`: lists the devices that the account is signed in on, most recently seen first.
  @concurrent func list(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let rows = try await registry.sessions(of: context.session.account, now: clock.now)
    var json = JSONText(reserving: 256 * (rows.count + 1))
    var groups: [SessionID: SessionID] = [:]
    for group in SessionGroup.groups(of: rows, current: context.session.id) {
      for row in group.rows { groups[row.id] = group.rows.first?.id }
    }
    let language = service.caller(request, context.parent).language
    json.add(
      "sessions",
      rows.map { row in
        let name = language.map { pages.deviceName(row.device.name, client: row.client?.id, in: $0) }
        return row.description(current: context.session.id, group: groups[row.id], name: name)
      })
    return .json(json)
  }

  /// `PATCH /v1/sessions/{id}`: renames one of the account's devices.
  @concurrent func rename(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let id = SessionID(try context.decoded("id"))
    let name = try await request.json(upTo: service.limits.bodySize).name("name")
    let row = try await service.rename(id, to: name, by: try await service.owner(request, context))
    return .json(row.description(current: context.session.id))
  }

  /// `DELETE /v1/sessions/{id}`: ends one session of the account. A session that has already ended is not an error; one that is
  /// unknown or belongs to another account is 404. With `group`, the others that the list shows in its group end as well.
  @concurrent func end(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let (id, owner) = (SessionID(try context.decoded("id")), try await service.owner(request, context))
    let body = try await request.optionalJSON(upTo: service.limits.bodySize)
    let group = try body?.optionalFlag("group") == true ? try await service.group(of: id, owner) : []
    try await service.end(id, with: group, by: owner, password: try body?.optionalSecret("password"))
    return .nothing
  }

  /// `DELETE /v1/sessions`: ends all sessions of the account, including the one that makes the request.
  @concurrent func endAll(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    // A client that adds a condition does not mean all sessions.
    guard request.uri.query == nil else { throw ProblemError.invalidRequest("Query parameters are not supported.") }
    return try await endAll(request, context, keepingOwn: false)
  }

  /// `POST /v1/sessions/end-others`: ends all sessions of the account except the one that makes the request.
  @concurrent func endOthers(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    try await endAll(request, context, keepingOwn: true)
  }

  private func endAll(
    _ request: Request, _ context: SignedInContext<Context>, keepingOwn: Bool
  ) async throws -> Response {
    // It proves to be the owner for this request alone.
    let password = try await request.optionalJSON(upTo: service.limits.bodySize)?.optionalSecret("password")
    let owner = try await service.owner(request, context)
    return .ended(try await service.endAll(by: owner, keepingOwn: keepingOwn, password: password).count)
  }

  /// `POST /v1/sign-out`: ends the session that makes the request.
  @concurrent func signOut(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    try await service.end(context.session.id, by: try await service.owner(request, context))
    return .nothing
  }

  /// `POST /v1/session/confirm`: the client has stored the session of this access token, which now takes the place of the device's
  /// previous one. Any use of the session says the same, so that nothing depends on this request.
  @concurrent func confirm(_ request: Request, _ context: Context) async throws -> Response {
    try await authenticator.confirm(request, logger: context.logger)
    return .nothing
  }

  /// `PUT /v1/device/push-token`: sets or removes the push token of this device. It is never shown again.
  @concurrent func setPushToken(_ request: Request, _ context: SignedInContext<Context>) async throws -> Response {
    let token = try await request.json(upTo: service.limits.bodySize).pushToken()
    try await registry.setPushToken(token, for: context.session.id, of: context.session.account, now: clock.now)
    return .nothing
  }
}

extension JSONFields {
  private static let longestPushToken = 4096

  /// A push token: at most 4096 bytes of printable ASCII. Null must be explicit; a missing field is an error.
  fileprivate func pushToken() throws(ProblemError) -> Secret? {
    if isNull("token") { return nil }
    let text = try text("token")
    let isPrintable = text.utf8.allSatisfy { (33...126).contains($0) }
    guard (1...JSONFields.longestPushToken).contains(text.utf8.count), isPrintable else {
      throw .invalidRequest("token: must be 1 to \(JSONFields.longestPushToken) printable ASCII characters, or null.")
    }
    return Secret(text)
  }
}

extension Response {
  static func ended(_ count: Int) -> Response {
    var json = JSONText()
    json.add("ended", Int64(count))
    return .json(json)
  }
}

extension SessionRow {
  /// The session as shown in its owner's list of devices.
  ///
  /// - Parameters:
  ///   - group: the first session of its ``SessionGroup`` in the list.
  ///   - name: that of the device in the reader's language; `nil` for the stored one.
  fileprivate func description(current: SessionID, group: SessionID? = nil, name: String? = nil) -> JSONText {
    var json = JSONText()
    json.add("id", id.rawValue)
    json.add("group", ifPresent: group?.rawValue)
    json.add("current", id == current)
    var device = JSONText()
    // That of others is their secret: it makes a device one that the account knows.
    // That of a browser is in a cookie that no script may read.
    if id == current, kind != .browser { device.add("id", self.device.id.rawValue) }
    device.add("name", name ?? self.device.name)
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
