#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/account/activity`: what has happened to an account, from the audit log and from the ends of its sessions.
struct ActivityPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService
  /// How many entries of the audit log a page has.
  private static let most = 50
  /// How many events are read at once, and how many at most.
  private static let (batch, limit) = (256, 4096)

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/activity") { request, context in
      let before = request.uri.queryParameters["before"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
      return try await owners.withSignedInUser(request, context) { try await show($0, before: before) }
    }
  }

  /// A line of the page.
  private struct Entry {
    var at: UnixTime
    var icon: String
    var text: PageText
    var isWarning = false
    var network: String?
  }

  private func show(_ call: AccountRequest, before: Int64?) async throws -> Response {
    let account = call.account.id
    let audited = try await service.registry.latestAuditedActions(
      about: account, before: before, limit: ActivityPageController.most)
    // The events of the same time: later ones are on the previous page, and earlier ones on the next.
    var latest: UnixTime?
    if let before {
      latest = try await service.registry.auditedActions(after: before - 1, about: account, limit: 1).first?.audited.at
    }
    let isFull = audited.count == ActivityPageController.most
    let earliest = isFull ? audited.last?.audited.at : nil
    var entries: [Entry] = []
    for stored in audited { if let entry = try await entry(of: stored.audited, call.visit) { entries.append(entry) } }
    for stored in try await events(of: account) {
      let at = stored.event.at
      guard latest.map({ at < $0 }) ?? true, earliest.map({ at >= $0 }) ?? true else { continue }
      if let entry = try await entry(of: stored.event, call.visit) { entries.append(entry) }
    }
    var page = Page(name: "account_activity", title: "account_activity.title", section: .activity)
    let dates = call.visit.dates(at: service.clock.now)
    page.context["entries"] = .list(
      entries.sorted { $0.at > $1.at }.map { entry in
        .object([
          "icon": .text(entry.icon), "text": .text(call.visit.text(entry.text)),
          "when": dates.relative(entry.at), "is_warning": .flag(if: entry.isWarning),
          "address": .text(ifPresent: entry.network),
        ])
      })
    if isFull, let last = audited.last {
      page.context["more"] = .text(call.visit.pages.base + "/account/activity?before=\(last.id)")
    }
    return call.visit.show(page)
  }

  /// The last events of an account, the oldest first.
  private func events(of account: AccountID) async throws -> [StoredEvent] {
    var (events, last): ([StoredEvent], EventID) = ([], .zero)
    while events.count < ActivityPageController.limit {
      let page = try await service.registry.events(after: last, of: account, limit: ActivityPageController.batch)
      guard let end = page.last else { break }
      events += page
      last = end.id
    }
    return events
  }

  /// `nil` for what the audit log tells, and for what is no news to the person.
  private func entry(of event: RegistryEvent, _ visit: BrowserRequest) async throws -> Entry? {
    let (icon, key): (String, String)
    switch (event.kind, event.reason) {
    case (.sessionRevoked, .signedOut?): (icon, key) = ("sign-out", "signed_out")
    case (.sessionRevoked, .revoked?): (icon, key) = ("sign-out", "ended")
    case (.sessionRevoked, _), (.sessionEstablished, _), (.credentialChange, _), (.accountDisabled, _),
      (.accountEnabled, _), (.accountPurged, _):
      return nil
    }
    let device = try await device(of: event.session, visit)
    return Entry(at: event.at, icon: icon, text: PageText("activity.\(key)", ["device": .text(device)]))
  }

  private func entry(of action: AuditedAction, _ visit: BrowserRequest) async throws -> Entry? {
    let details = (try? JSONDecoder().decode([String: String].self, from: Data(action.details.utf8))) ?? [:]
    let (icon, key, isWarning): (String, String, Bool)
    switch AuditedAction.Kind(rawValue: action.action) {
    case .signedIn: (icon, key, isWarning) = ("sign-in", "signed_in", false)
    // By a passkey or a recovery code, or with the right password of an account that was disabled.
    case .signInRefused where details["way"] != SignInWay.password.rawValue || details["reason"] != nil:
      (icon, key, isWarning) = ("warning", "refused", true)
    case .signInRefused, .guessesStopped: (icon, key, isWarning) = ("warning", "failed", true)
    case .theftDetected: (icon, key, isWarning) = ("warning", "theft", true)
    case .passkeyRefused: (icon, key, isWarning) = ("warning", "passkey_refused", true)
    case .takenBack: (icon, key, isWarning) = ("lock", "taken_back", true)
    case .accountCreated: (icon, key, isWarning) = ("person", "created", false)
    case .passwordChanged: (icon, key, isWarning) = ("lock", "password_changed", false)
    case .passwordReset: (icon, key, isWarning) = ("lock", "password_reset", false)
    case .passwordRemoved: (icon, key, isWarning) = ("lock", "password_removed", false)
    case .emailChanged: (icon, key, isWarning) = ("mail", "email_changed", false)
    case .passkeyAdded: (icon, key, isWarning) = ("passkey", "passkey_added", false)
    case .passkeyRemoved: (icon, key, isWarning) = ("passkey", "passkey_removed", false)
    case .totpAdded: (icon, key, isWarning) = ("key", "totp_added", false)
    case .totpRemoved: (icon, key, isWarning) = ("key", "totp_removed", false)
    case .identityLinked: (icon, key, isWarning) = ("person", "identity_linked", false)
    case .identityUnlinked: (icon, key, isWarning) = ("person", "identity_unlinked", false)
    case .recoveryCodesMade: (icon, key, isWarning) = ("key", "codes_made", false)
    case .recoveryCodeUsed: (icon, key, isWarning) = ("key", "code_used", false)
    case .sessionEndedAtProvider: (icon, key, isWarning) = ("sign-out", "ended_at_provider", false)
    case .consentWithdrawn: (icon, key, isWarning) = ("app", "app_removed", false)
    // Others' work with the account's data, and ends of sessions, which the events tell.
    case .accountDisabled, .accountEnabled, .accountDeleted, .accountExported, .importBegan, .accountsImported,
      .groupsChanged, .reauthenticated, .resetCodeIssued, .sessionEnded, .sessionsEnded, .refreshRepeated,
      .codeRepeated,
      .machineToken, .machineTokensEnded, .clientRegistered, .clientRemoved, .webhookAdded, .webhookRemoved,
      .webhookRestarted, .webhookSecretMade, .keyAdded, .keyUsed,
      .keyRetired, .backedUp, .restored, nil:
      return nil
    }
    let named = details["device"].map {
      visit.pages.sessionName(device: $0, client: details["client"], in: visit.place.language)
    }
    let device = if let named { named } else { try await self.device(of: action.session, visit) }
    let app: PageValue = .object(["name": .text(details["client"] ?? "")])
    let text = PageText(
      "activity.\(key)",
      ["device": .text(device), "name": .text(details["name"] ?? ""), "app": app])
    return Entry(at: action.at, icon: icon, text: text, isWarning: isWarning, network: action.network)
  }

  private func device(of session: SessionID?, _ visit: BrowserRequest) async throws -> String {
    guard let session, let row = try await service.registry.storedSession(session) else { return "–" }
    return visit.sessionName(row)
  }
}
#endif
