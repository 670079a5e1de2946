#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// The common part of an account's pages: they are for a signed-in person, who proves it again for what a session alone may not
/// do.
struct AccountPages: Sendable {
  let web: WebSessions
  var service: AccountService { web.service }

  /// A request of a signed-in person.
  struct Call: Sendable {
    var visit: BrowserRequest
    var user: BrowserSession

    var account: AccountRecord { user.account }
    var owner: AccountService.Owner { AccountService.Owner(user, visit.caller) }
  }

  /// Runs `body` for a signed-in person. Others are sent to the page for signing in, and come back.
  func call<Context: SessionRequestContext>(
    _ request: Request, _ context: Context, _ body: @concurrent (Call) async throws -> Response
  ) async throws -> Response {
    let visit = try await web.visit(request, context)
    guard let user = visit.web else {
      let next = visit.place.here.hasSuffix("?") ? String(visit.place.here.dropLast()) : visit.place.here
      return .seeOther(web.issuer + "/sign-in?next=" + PercentEncoding.encode(next))
    }
    // The page that asks for a proof was shown at this address.
    if visit.signsIn {
      return try await web.signIn(by: visit, try await confirmation(by: user)) { _ in
        web.issuer + visit.place.here.dropFirst(web.pages.base.utf8.count)
      }
    }
    do { return try await body(Call(visit: visit, user: user)) } catch let problem as ProblemError
      where problem.code == ProblemError.reauthenticationRequired.code
    {
      return web.signInPage(visit, try await confirmation(by: user))
    }
  }

  private func confirmation(by user: BrowserSession) async throws -> WebSessions.Purpose {
    let hasPasskey = web.passkeys != nil ? try await !web.registry.passkeys(of: user.account.id).isEmpty : false
    return WebSessions.Purpose(
      cancel: web.pages.base + "/account", hasPasskey: hasPasskey,
      identities: try await web.registry.identities(of: user.account))
  }

  func show(_ page: Page, _ call: Call) -> Response { web.show(page, call.visit) }

  /// Redirects to a page of the account, so that reloading it sends no form again.
  func go(to path: String) -> Response { .seeOther(web.issuer + path) }
}

extension AccountService.Owner {
  init(_ user: BrowserSession, _ caller: AccountService.Caller) {
    self.init(
      account: user.account, session: user.row.id, provenAt: user.authenticatedAt,
      methods: user.methods, caller: caller)
  }
}
#endif
