#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/account/devices`: where a person is signed in. With script, the list follows what happens.
struct DevicesPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService
  let heartbeat: Duration
  let streams: EventStreamLimits
  /// How long a stream lasts; browsers reconnect.
  private static let longest = Duration.seconds(600)
  /// How many rows a phone shows at once.
  private static let screen = 4
  /// How many rows, and sessions of a row, are shown unless a person asks for all: a browser takes seconds for thousands.
  private static let most = 100

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/devices") { try await owners.withSignedInUser($0, $1) { try await show($0) } }
    routes.post("/account/devices") { try await owners.withSignedInUser($0, $1, end) }
    routes.get("/account/devices/list", use: list)
    routes.get("/account/devices/events", use: events)
    routes.get("/account/devices/end") { try await owners.withSignedInUser($0, $1) { try await confirmPage($0) } }
    routes.post("/account/devices/end") { try await owners.withSignedInUser($0, $1, endOthers) }
  }

  private func show(_ call: AccountRequest, notice: PageNotice? = nil) async throws -> Response {
    var page = Page(name: "account_devices", title: "account_devices.title", notice: notice, section: .devices)
    // Before the list: the stream tells of all that comes later.
    let newest = try await service.registry.lastEventID()
    let (devices, isWhole) = try await devices(call.user, call.visit)
    let (path, all) = (call.visit.pages.base + "/account/devices", "?all=yes")
    page.context = [
      "live": .text("\(path)/events?after=\(newest)"),
      "fragment": .text(path + "/list" + (showsAll(call.visit) ? all : "")), "devices": .list(devices),
      "more": isWhole ? nil : .text(path + all),
      "has_others": .flag(if: devices.count > 1), "is_long": .flag(if: devices.count > DevicesPageController.screen),
    ]
    return call.visit.show(page)
  }

  private func showsAll(_ visit: BrowserRequest) -> Bool { visit.query?["all"] != nil }

  private func devices(
    _ user: BrowserSession, _ visit: BrowserRequest
  ) async throws -> (rows: [PageValue], isWhole: Bool) {
    let most = showsAll(visit) ? Int.max : DevicesPageController.most
    let dates = visit.dates(at: service.clock.now)
    let rows = try await service.registry.sessions(of: user.account.id, now: service.clock.now)
    // This browser comes first.
    let ordered = rows.filter { $0.id == user.row.id } + rows.filter { $0.id != user.row.id }
    func facts(_ row: SessionRow) -> PageContext {
      [
        "id": .text(row.id.rawValue), "icon": .text(row.icon),
        "name": .text(visit.sessionName(row)),
        "is_current": .flag(if: row.id == user.row.id), "seen": dates.relative(row.lastSeenAt),
        "signed_in": dates.relative(row.createdAt),
      ]
    }
    let groups = SessionGroup.groups(of: ordered, current: user.row.id)
    let shown = groups.prefix(most).compactMap { group -> PageValue? in
      guard let first = group.rows.first else { return nil }
      var device = facts(first)
      device["key"] = .text(group.id(of: user.account.id))
      guard group.rows.count > 1 else { return .object(device) }
      let words = group.rows.prefix(most).map { [dates.words($0.lastSeenAt), dates.words($0.createdAt)] }
      let counts = Dictionary(words.map { ($0, 1) }, uniquingKeysWith: +)
      let members = zip(group.rows, words).map { row, own -> PageValue in
        var member = facts(row)
        // Two that would read the same are told apart by the second.
        if counts[own] != 1 { member["signed_in"] = dates.second(row.createdAt) }
        return .object(member)
      }
      device["group"] = .object(["count": .text(String(group.rows.count)), "members": .list(members)])
      return .object(device)
    }
    return (shown, groups.count <= most && groups.allSatisfy { $0.rows.count <= most })
  }

  /// The list alone, for the page's script.
  @concurrent func list(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await owners.browsers.visit(request, isSeen: false, context)
    guard let user = visit.web else { return Response(status: .unauthorized) }
    var page = Page(name: "devices_list", title: "account_devices.title")
    page.context["devices"] = .list(try await devices(user, visit).rows)
    return visit.pages.fragment(page, to: visit.reader)
  }

  /// The account's events, for the page's script.
  @concurrent func events(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let newest = try await service.registry.lastEventID()
    let visit = try await owners.browsers.visit(request, isSeen: false, context)
    guard let user = visit.web else { return Response(status: .unauthorized) }
    let session = AuthenticatedSession(
      account: user.account.id, id: user.row.id,
      tokenExpiresAt: service.clock.now.advanced(by: DevicesPageController.longest))
    let after = request.headers[.lastEventID] ?? visit.query?["after"]
    let last = after.flatMap { Int64($0) }.map { min(EventID(rawValue: max(0, $0)), newest) }
    let stream = EventStream(
      session: session, cursor: last ?? newest, longest: DevicesPageController.longest, heartbeat: heartbeat,
      registry: service.registry, place: try service.recorder.place(for: session, within: streams),
      channel: context.channel,
      metrics: service.recorder.metrics)
    return .events(from: stream, to: request, context, lost: "Event stream ended, store unavailable")
  }

  @concurrent private func end(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "end", let id = call.visit.form?["session"].map({ SessionID($0) }) else {
      return call.visit.unknownAction()
    }
    let (isSingle, seen) = (call.visit.form?["single"] != nil, try await service.group(of: id, call.owner))
    var ended: [SessionRow] = []
    do {
      ended = try await service.end(
        id, with: isSingle ? [] : seen, by: call.owner, password: call.visit.form?.password("password"))
    } catch RegistryError.notFound {
      // Someone else's, or deleted: the list shows what is left.
    } catch AccountError.reauthenticationRequired {
      // The page for that goes back to its own address, so that address says what the proof is for.
      let session = "?session=" + PercentEncoding.encode(id.rawValue) + (isSingle ? "&single=yes" : "")
      return .seeOther(service.issuer + "/account/devices/end" + session)
    } catch { return try await confirmPage(call, after: error) }
    return try await show(call, notice: notice(of: ended, among: seen, isSingle: isSingle, call.visit))
  }

  /// - Parameters:
  ///   - seen: the group of the session, before.
  ///   - isSingle: whether the session alone was to end.
  private func notice(
    of ended: [SessionRow], among seen: [SessionRow], isSingle: Bool, _ visit: BrowserRequest
  ) -> PageNotice? {
    let named = ended.filter { row in seen.contains { $0.id == row.id } }
    guard let first = named.first ?? ended.first else { return nil }
    var apps: [String] = []
    for row in ended where row.client != nil && row.id != first.id && !named.contains(row) {
      let app = visit.sessionName(row)
      if !apps.contains(app), !row.isForgotten(at: service.clock.now) { apps.append(app) }
    }
    let isOneOfMany = isSingle && seen.count > 1
    let count = isOneOfMany ? seen.count : named.count
    let key = isOneOfMany ? "notice.one_ended" : count > 1 ? "notice.sessions_ended" : "notice.session_ended"
    return .good(
      PageText(
        key,
        [
          "name": .text(visit.sessionName(first)), "count": .text(String(count)),
          "apps": .text(ifPresent: apps.joined(separator: ", ")),
        ]))
  }

  /// Asks whether to end the other sessions, or one of them. For an account with an authenticator app, whose device may be the lost one,
  /// the password on this page is the proof.
  ///
  /// - Parameter error: the refusal of an attempt.
  private func confirmPage(_ call: AccountRequest, after error: (any Error)? = nil) async throws -> Response {
    let fields = call.visit.form ?? call.visit.query
    let session = fields?["session"].map { SessionID($0) }
    let asks = try await !service.isAllowed(.endDevices, to: call.owner)
    if asks, try await !service.hasApp(call.account) { try await service.require(.endDevices, of: call.owner) }
    let words = try error.map { try call.visit.words(for: $0, passwordIn: "password") } ?? .init()
    let isSingle = session != nil && fields?["single"] != nil
    let group =
      if let session, !isSingle { try await service.group(of: session, call.owner) } else {
        try await service.registry.sessions(of: call.account.id, now: service.clock.now).filter {
          session == nil || $0.id == session
        }
      }
    let named = group.filter { $0.id != call.user.row.id }
    // It has ended, or is this browser's own.
    guard session == nil || !named.isEmpty else { return .seeOther(service.issuer + "/account/devices") }
    let clients = try await session == nil ? [] : service.registry.clients(endingWith: named, now: service.clock.now)
    var page = Page(
      name: "confirm_end", title: session == nil ? "confirm_end.title" : title(for: named),
      status: words.status, errors: words.errors, notice: words.notice, section: .devices)
    page.context = [
      "others": .list(
        SessionGroup.groups(of: named + clients, current: call.user.row.id).compactMap { group in
          group.rows.first.map {
            .object([
              "icon": .text($0.icon), "name": .text(call.visit.sessionName($0)),
              "count": .text(ifPresent: group.rows.count > 1 ? String(group.rows.count) : nil),
            ])
          }
        }),
      "session": .text(ifPresent: session?.rawValue), "single": .flag(if: isSingle),
      "all": .flag(if: named.count > 1), "has_password": .flag(if: asks),
      "email": .text(ifPresent: asks ? call.account.email?.typed : nil),
    ]
    return call.visit.show(page)
  }

  private func title(for rows: [SessionRow]) -> PageText {
    guard rows.count == 1 else { return PageText("confirm_end.title_group", ["count": .text(String(rows.count))]) }
    return rows.contains { $0.client != nil } ? "confirm_end.title_app" : "confirm_end.title_one"
  }

  @concurrent private func endOthers(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "end-others" else { return call.visit.unknownAction() }
    do {
      try await service.endAll(
        by: call.owner, keepingOwn: true, password: call.visit.form?.password("password"))
    } catch AccountError.reauthenticationRequired { return try await confirmPage(call) } catch {
      return try await confirmPage(call, after: error)
    }
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
