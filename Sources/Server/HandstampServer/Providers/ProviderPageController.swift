#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/sign-in/with/{provider}/callback`: a browser comes back from a provider.
struct ProviderPageController: Sendable {
  let browsers: BrowserSessions
  let providers: ProviderPages
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/sign-in/with/:provider/callback", use: finish)
  }

  @concurrent func finish(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let id = context.parameters.get("provider")
    guard let provider = service.providers.first(where: { $0.provider.id == id }) else { throw ProblemError.notFound }
    let visit = try await browsers.visit(request, context)
    try service.limits.take(.passwords, from: visit.caller.client, .own)
    var response = try await respond(request, provider, visit)
    // Unless another attempt has begun.
    if !response.headers[values: .setCookie].contains(where: { $0.hasPrefix(provider.cookie + "=") }) {
      response.headers.add([ResponseCookie(name: provider.cookie, value: nil)])
    }
    return response
  }

  private func respond(
    _ request: Request, _ provider: UpstreamSignIn, _ visit: BrowserRequest
  ) async throws -> Response {
    let outcome: UpstreamOutcome
    do throws(UpstreamError) {
      outcome = try await provider.finish(
        request.uri.query ?? "", attempt: request.cookie(provider.cookie), boundTo: visit.formCookie,
        at: service.clock.read())
    } catch {
      let context = provider.context(of: request.cookie(provider.cookie), boundTo: visit.formCookie)
      let errand = context.flatMap { PayloadCoding.value(ProviderErrand.self, $0) }
      return providers.refusal(of: error, at: provider.provider, back: errand?.next ?? "/sign-in", visit)
    }
    guard let errand = PayloadCoding.value(ProviderErrand.self, outcome.context) else {
      throw ProblemError.invalidRequest("The sign-in is of another version of this server.")
    }
    guard errand.isMet(by: outcome.user) else {
      return providers.failed("provider_stale", at: provider.provider, back: errand.next, visit)
    }
    do { return try await finish(errand, outcome.user, provider.provider, visit) } catch RegistryError.upstreamEnded
      where outcome.user.askedAt == nil
    {
      // Perhaps by a session there that began before the end, or the provider does not say when: a new sign-in decides.
      return try await providers.leave(
        visit, to: provider, errand.purpose, next: errand.next, isFresh: false, asks: true)
    }
  }

  private func finish(
    _ errand: ProviderErrand, _ user: UpstreamUser, _ provider: UpstreamProvider, _ visit: BrowserRequest
  ) async throws -> Response {
    let new: BrowserSession
    switch errand.purpose {
    case .signIn:
      new = try await service.admitting(user, at: provider, visit.caller) { use, isNew in
        let new = try await browsers.beginOrRenewSession(by: use, visit)
        if isNew { service.recorder.metrics.update { $0.signUps += 1 } }
        return new
      }
    case .confirm:
      let owner = try owner(of: errand, visit)
      let use = try await service.owned(visit.caller).credentialUse(
        by: user.proof(nil, at: service.clock.read()), of: owner.account, now: service.clock.now)
      guard let use else {
        return providers.failed("provider_other", at: provider, back: errand.next, visit)
      }
      new = try await browsers.beginOrRenewSession(by: use, visit)
    case .link: return try await link(user, to: owner(of: errand, visit), provider, visit)
    }
    return browsers.redirect(to: service.issuer + page(errand, after: new), with: new, visit)
  }

  /// The signed-in user whose session sent the browser away.
  private func owner(
    of errand: ProviderErrand, _ visit: BrowserRequest
  ) throws(FormError) -> AccountService.Owner {
    guard let user = visit.web, user.row.id == errand.session else { throw .expired }
    return AccountService.Owner(user, visit.caller)
  }

  private func link(
    _ user: UpstreamUser, to owner: AccountService.Owner, _ provider: UpstreamProvider, _ visit: BrowserRequest
  ) async throws -> Response {
    switch try await service.link(user, to: owner) {
    case .done: return .seeOther(service.issuer + "/account/security?linked=\(provider.id)")
    case .taken: return providers.failed("identity_taken", at: provider, back: "/account/security", visit)
    case .tooMany, .isLast, .unknown:
      return providers.failed("identity_many", at: provider, back: "/account/security", visit)
    }
  }

  /// The page that a sign-in leads to. An app's request that asked for a new sign-in has got it, if the provider was asked for one.
  private func page(_ errand: ProviderErrand, after session: BrowserSession) -> String {
    guard errand.freshSince != nil,
      let request = ["/oauth/authorize?", "/device?"].first(where: { errand.next.hasPrefix($0) })
    else { return errand.next }
    let query = String(errand.next.dropFirst(request.count))
    return request + FreshSignIn(mint: service.registry.mint).proven(query, by: session)
  }
}
#endif
