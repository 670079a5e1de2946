#if Server
import HandstampCore
import HandstampPages
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// A request of a signed-in person.
struct AccountRequest: Sendable {
  var visit: BrowserRequest
  var user: BrowserSession

  var account: AccountRecord { user.account }
  var owner: AccountService.Owner { AccountService.Owner(user, visit.caller) }
}

/// The pages of an account: they are for a signed-in person, who proves it again for what a session alone may not do.
extension WebSessions {
  /// Runs `body` for a signed-in person. Others are sent to the page for signing in, and come back.
  func withSignedInUser<Context: SessionRequestContext>(
    _ request: Request, _ context: Context, _ body: @concurrent (AccountRequest) async throws -> Response
  ) async throws -> Response {
    let visit = try await browserRequest(request, context) { $0.web == nil ? signInAddress(for: $0) : nil }
    guard let user = visit.web else { return .seeOther(signInAddress(for: visit)) }
    // The page that asks for a proof was shown at this address.
    if visit.signsIn {
      return try await signIn(by: visit, try await confirmation(by: user)) { _ in
        issuer + visit.place.here.dropFirst(pages.base.utf8.count)
      }
    }
    do { return try await body(AccountRequest(visit: visit, user: user)) } catch let problem as ProblemError
      where problem.code == ProblemError.reauthenticationRequired.code
    {
      return signInPage(visit, try await confirmation(by: user))
    }
  }

  private func confirmation(by user: BrowserSession) async throws -> Purpose {
    let hasPasskey = passkeys != nil ? try await !registry.passkeys(of: user.account.id).isEmpty : false
    return Purpose(
      cancel: pages.base + "/account", hasPasskey: hasPasskey,
      identities: try await registry.identities(of: user.account))
  }
}

extension AccountService.Owner {
  init(_ user: BrowserSession, _ caller: AccountService.Caller) {
    self.init(
      account: user.account, session: user.row.id, provenAt: user.authenticatedAt,
      methods: user.methods, caller: caller)
  }
}
#endif
