#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/account/apps`: which applications a person allows what.
struct AppsPageController: Sendable {
  let owners: OwnerPages
  let service: AccountService
  let clients: ClientDirectory

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/account/apps") { try await owners.withSignedInUser($0, $1) { try await show($0) } }
    routes.post("/account/apps") { try await owners.withSignedInUser($0, $1, remove) }
  }

  private func show(_ call: AccountRequest, notice: PageNotice? = nil) async throws -> Response {
    let (dates, language) = (call.visit.dates(at: service.clock.now), call.visit.place.language)
    let rows = try await service.registry.sessions(of: call.account.id, now: service.clock.now)
    let consents = try await service.registry.apps(of: call.account.id, now: service.clock.now)
    var page = Page(name: "account_apps", title: "account_apps.title", notice: notice, section: .apps)
    page.context["apps"] = .list(
      consents.map { consent in
        // Its sessions may have ended since.
        let used = (rows.filter { $0.client?.id == consent.client }.map(\.lastSeenAt) + [consent.lastUsedAt])
          .compactMap(\.self).max()
        return .object([
          "id": .text(consent.client), "name": app(consent, call)["name"],
          "scopes": .list(
            consent.scopes.map { scope in
              .text(
                call.visit.pages.library.text("scope.\(scope)", in: language)
                  ?? call.visit.pages.text(PageText("scope.other", ["scope": .text(scope)]), in: language))
            }),
          "since": dates.relative(consent.givenAt), "used": used.map { dates.relative($0) },
        ])
      })
    return call.visit.show(page)
  }

  private func app(_ consent: Consent, _ call: AccountRequest) -> PageContext {
    let name = clients.configured(consent.client)?.name ?? consent.name
    return call.visit.pages.app(consent.client, named: name, in: call.visit.place.language)
  }

  @concurrent private func remove(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "remove", let id = call.visit.form?["app"] else { return call.visit.unknownAction() }
    let apps = try await service.registry.apps(of: call.account.id, now: service.clock.now)
    guard let consent = apps.first(where: { $0.client == id }) else { return try await show(call) }
    try await service.withdrawConsent(to: id, by: call.owner)
    return try await show(
      call, notice: .good(PageText("notice.app_removed", ["app": .object(app(consent, call))])))
  }
}
#endif
