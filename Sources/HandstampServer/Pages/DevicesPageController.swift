#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird
import Logging

/// `/account/devices`: where a person is signed in. With script, the list follows what happens.
struct DevicesPageController: Sendable {
  let web: WebSessions
  let heartbeat: Duration
  let streams: EventStreamLimits
  /// How long a stream lasts; browsers reconnect.
  private static let longest = Duration.seconds(600)
  /// How many rows a phone shows at once.
  private static let screen = 4

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/devices") { try await web.withSignedInUser($0, $1) { try await show($0) } }
    routes.post("/account/devices") { try await web.withSignedInUser($0, $1, end) }
    routes.get("/account/devices/list", use: list)
    routes.get("/account/devices/events", use: events)
    routes.get("/account/devices/end") { try await web.withSignedInUser($0, $1) { try await confirmPage($0, nil) } }
    routes.post("/account/devices/end") { try await web.withSignedInUser($0, $1, endOthers) }
  }

  private func show(_ call: AccountRequest, notice: PageNotice? = nil) async throws -> Response {
    var page = Page(name: "account_devices", title: "account_devices.title", notice: notice, section: .devices)
    let devices = try await devices(call.user, call.visit)
    page.context = [
      "live": .text(web.pages.base + "/account/devices/events"),
      "fragment": .text(web.pages.base + "/account/devices/list"), "devices": .list(devices),
      "has_others": .flag(if: devices.count > 1), "is_long": .flag(if: devices.count > DevicesPageController.screen),
    ]
    return web.show(page, call.visit)
  }

  private func devices(_ user: BrowserSession, _ visit: BrowserRequest) async throws -> [PageValue] {
    let dates = web.dates(visit)
    let rows = try await web.registry.sessions(of: user.account.id, now: web.clock.now)
    // This browser comes first.
    let ordered = rows.filter { $0.id == user.row.id } + rows.filter { $0.id != user.row.id }
    func shown(_ row: SessionRow) -> PageContext {
      [
        "id": .text(row.id.rawValue), "icon": .text(row.icon),
        "name": .text(name(row, visit)),
        "is_current": .flag(if: row.id == user.row.id), "seen": dates.relative(row.lastSeenAt),
        "signed_in": dates.relative(row.createdAt),
      ]
    }
    return SessionGroup.groups(of: ordered, current: user.row.id).compactMap { group in
      guard let first = group.rows.first else { return nil }
      var device = shown(first)
      if group.rows.count > 1 {
        device["group"] = .object([
          "count": .text(String(group.rows.count)), "members": .list(group.rows.map { .object(shown($0)) }),
        ])
      }
      return .object(device)
    }
  }

  private func name(_ row: SessionRow, _ visit: BrowserRequest) -> String {
    web.pages.sessionName(row, in: visit.place.language)
  }

  /// The list alone, for the page's script.
  @concurrent func list(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await web.browserRequest(request, isSeen: false, context)
    guard let user = visit.web else { return Response(status: .unauthorized) }
    var page = Page(name: "devices_list", title: "account_devices.title")
    page.context["devices"] = .list(try await devices(user, visit))
    return web.pages.fragment(page, to: visit.reader)
  }

  /// The account's events, for the page's script.
  @concurrent func events(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let newest = try await web.registry.lastEventID()
    let visit = try await web.browserRequest(request, isSeen: false, context)
    guard let user = visit.web else { return Response(status: .unauthorized) }
    let session = AuthenticatedSession(
      account: user.account.id, id: user.row.id,
      tokenExpiresAt: web.clock.now.advanced(by: DevicesPageController.longest))
    let last = request.headers[.lastEventID].flatMap { Int64($0) }.map { min(EventID(rawValue: max(0, $0)), newest) }
    let stream = EventStream(
      session: session, cursor: last ?? newest, longest: DevicesPageController.longest, heartbeat: heartbeat,
      registry: web.registry, place: try web.recorder.place(for: session, within: streams), channel: context.channel,
      metrics: web.recorder.metrics)
    return .events(from: stream, to: request, context, lost: "Event stream ended, store unavailable")
  }

  @concurrent private func end(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "end", let id = call.visit.form?["session"].map({ SessionID($0) }) else {
      return web.unknownAction(call.visit)
    }
    var ended: [SessionRow] = []
    do {
      ended = try await web.service.end(
        id, whole: call.visit.form?["single"] == nil, by: call.owner, password: call.visit.form?.password("password"))
    } catch RegistryError.notFound {
      // Someone else's, or deleted: the list shows what is left.
    } catch { return try await confirmPage(call, id, after: error) }
    guard let first = ended.first else { return try await show(call) }
    let values: PageContext = ["name": .text(name(first, call.visit)), "count": .text(String(ended.count))]
    let key = ended.count == 1 ? "notice.session_ended" : "notice.sessions_ended"
    return try await show(call, notice: .good(PageText(key, values)))
  }

  /// Asks whether to end the other sessions, or one of them. For an account with an authenticator app, whose device may be the lost one,
  /// the password on this page is the proof.
  ///
  /// - Parameter error: the refusal of an attempt.
  private func confirmPage(
    _ call: AccountRequest, _ session: SessionID?, after error: (any Error)? = nil
  ) async throws -> Response {
    let asks = try await !web.service.isAllowed(.endDevices, to: call.owner)
    if asks, try await !web.service.hasApp(call.account) { try await web.service.require(.endDevices, of: call.owner) }
    var refusal = WebSessions.Refusal()
    if let error, (error as? ProblemError)?.code != ProblemError.reauthenticationRequired(nil).code {
      refusal = try web.refusal(of: error, passwordIn: "password", call.visit)
    }
    let isSingle = session != nil && call.visit.form?["single"] != nil
    let rows =
      if let session, !isSingle { try await web.service.group(of: session, call.owner) } else {
        try await web.registry.sessions(of: call.account.id, now: web.clock.now).filter {
          session == nil ? $0.id != call.user.row.id : $0.id == session
        }
      }
    var page = Page(
      name: "confirm_end", title: session == nil ? "confirm_end.title" : "confirm_end.title_one",
      status: refusal.status, errors: refusal.errors, notice: refusal.notice, section: .devices)
    page.context = [
      "others": .list(
        SessionGroup.groups(of: rows, current: call.user.row.id).compactMap { group in
          group.rows.first.map {
            .object([
              "icon": .text($0.icon), "name": .text(name($0, call.visit)),
              "count": .text(ifPresent: group.rows.count > 1 ? String(group.rows.count) : nil),
            ])
          }
        }),
      "session": .text(ifPresent: session?.rawValue), "single": .flag(if: isSingle), "has_password": .flag(if: asks),
      "email": .text(ifPresent: asks ? call.account.email?.typed : nil),
    ]
    return web.show(page, call.visit)
  }

  @concurrent private func endOthers(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "end-others" else { return web.unknownAction(call.visit) }
    do {
      try await web.service.endAll(
        by: call.owner, keepingOwn: true, password: call.visit.form?.password("password"))
    } catch { return try await confirmPage(call, nil, after: error) }
    return try await show(call, notice: .good("notice.others_ended"))
  }
}

extension SessionRow {
  /// The name of its symbol.
  fileprivate var icon: String {
    guard client == nil else { return "app" }
    switch device.platform.lowercased() {
    case "web": return "browser"
    case "ios", "android", "watchos": return "phone"
    case "linux" where device.name.isEmpty: return "terminal"
    default: return "computer"
    }
  }
}
#endif
