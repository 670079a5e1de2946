#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// What the pages of an account have in common: they are for a signed-in person, who proves it again for what a session alone may not
/// do.
struct AccountPages: Sendable {
  let web: WebSessions
  /// How long a proof allows that; `nil` for as long as the session lasts.
  let reauthentication: Duration?

  /// A request of a signed-in person.
  struct Call: Sendable {
    var visit: Visit
    var user: BrowserSession
    var client: ClientAddress
    var logger: Logger

    var account: AccountRecord { user.account }
  }

  /// Runs `body` for a signed-in person. Others are sent to the page for signing in, and come back.
  func call<Context: SessionRequestContext>(
    _ request: Request, _ context: Context, _ body: @concurrent (Call) async throws -> Response
  ) async throws -> Response {
    let visit = try await web.visit(request, context.logger)
    guard let user = visit.web else {
      let next = visit.place.here.hasSuffix("?") ? String(visit.place.here.dropLast()) : visit.place.here
      return .seeOther(web.issuer + "/sign-in?next=" + PercentEncoding.encode(next))
    }
    // The page that asks for a proof was shown at this address.
    if visit.signsIn {
      return try await web.signIn(by: visit, try await confirmation(by: user), request, context) { _ in
        web.issuer + visit.place.here.dropFirst(web.pages.base.utf8.count)
      }
    }
    return try await body(
      Call(visit: visit, user: user, client: web.limits.client(of: request, context), logger: context.logger))
  }

  private func confirmation(by user: BrowserSession) async throws -> WebSessions.Purpose {
    let hasPasskey = web.passkeys != nil ? try await !web.registry.passkeys(of: user.account.id).isEmpty : false
    return WebSessions.Purpose(cancel: web.pages.base + "/account", hasPasskey: hasPasskey)
  }

  /// Returns the page that asks the person for a proof; `nil` if the last one is recent enough, or there is nothing to prove it with.
  func proofPage(_ call: Call) async throws -> Response? {
    guard needsProof(call) else { return nil }
    let purpose = try await confirmation(by: call.user)
    guard purpose.hasPasskey || call.account.passwordHash != nil else { return nil }
    return web.signInPage(call.visit, purpose)
  }

  /// Returns whether the last proof is too old.
  func needsProof(_ call: Call) -> Bool {
    reauthentication.map { web.clock.now.since(call.user.authenticatedAt) > $0 } ?? false
  }

  /// The registry on behalf of the account's owner.
  func registry(_ call: Call) -> Registry { web.registry.acting(as: .owner(from: call.client.text)) }

  func show(_ page: Page, _ call: Call) -> Response { web.show(page, call.visit) }

  /// Redirects to a page of the account, so that reloading it sends no form again.
  func go(to path: String) -> Response { .seeOther(web.issuer + path) }
}
#endif
