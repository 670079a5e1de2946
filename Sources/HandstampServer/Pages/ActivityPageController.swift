#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import Hummingbird

/// `/account/activity`: what has happened to an account.
struct ActivityPageController: Sendable {
  let pages: AccountPages
  private var web: WebSessions { pages.web }
  private static let most = 50
  /// How many events are read at once, and how many at most.
  private static let (batch, limit) = (256, 4096)

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/activity") { try await pages.call($0, $1) { try await show($0) } }
  }

  private func show(_ call: AccountPages.Call) async throws -> Response {
    var names: [SessionID: String] = [:]
    var entries: [PageValue] = []
    for stored in try await newest(of: call.account.id).reversed() {
      guard let (icon, key, isWarning) = ActivityPageController.words(stored.event) else { continue }
      var device = ""
      if let session = stored.event.session {
        if names[session] == nil { names[session] = try await web.registry.storedSession(session)?.shownName ?? "–" }
        device = names[session] ?? ""
      }
      let text = PageText("activity.\(key)", ["device": .text(device)])
      entries.append(
        .object([
          "icon": .text(icon), "text": .text(web.pages.text(text, in: call.visit.place.language)),
          "when": web.dates(call.visit).relative(stored.event.at), "is_warning": .flag(if: isWarning),
        ]))
    }
    var page = Page(name: "account_activity", title: "account_activity.title", section: .activity)
    page.context["entries"] = .list(entries)
    return pages.show(page, call)
  }

  /// The last events of an account, the oldest first.
  private func newest(of account: AccountID) async throws -> [StoredEvent] {
    var (events, last): ([StoredEvent], EventID) = ([], .zero)
    var count = 0
    while count < ActivityPageController.limit {
      let page = try await web.registry.events(after: last, of: account, limit: ActivityPageController.batch)
      guard let end = page.last else { break }
      events = Array((events + page).suffix(ActivityPageController.most))
      last = end.id
      count += page.count
    }
    return events
  }

  /// The symbol and the text of an event; `nil` for what is no news to the person.
  private static func words(_ event: RegistryEvent) -> (icon: String, key: String, isWarning: Bool)? {
    switch (event.kind, event.reason) {
    case (.sessionEstablished, _): ("sign-in", "signed_in", false)
    case (.sessionRevoked, .signedOut?): ("sign-out", "signed_out", false)
    case (.sessionRevoked, .revoked?): ("sign-out", "ended", false)
    case (.sessionRevoked, .tokenReuseDetected?): ("warning", "theft", true)
    case (.sessionRevoked, _): nil
    case (.credentialChange, _): ("lock", "credential_changed", false)
    case (.accountDisabled, _), (.accountPurged, _): nil
    }
  }
}
#endif
