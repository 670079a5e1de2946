#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The second factor on pages: after the right password, at the same address.
extension WebSessions {
  private var halfSignIn: HalfSignIn { HalfSignIn(registry: registry) }

  /// Asks for the code of the authenticator app.
  func secondFactorPage(
    of account: AccountRecord, _ visit: BrowserRequest, _ purpose: Purpose, error: PageText? = nil,
    notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "second_factor", title: "second_factor.title", status: status, notice: notice)
    page.context = [
      "proof": .text(halfSignIn.proof(of: account, in: visit, at: clock.now)),
      "app": app(purpose, visit),
      "cancel": .text(ifPresent: purpose.cancel), "here": .text(visit.place.here),
      "next": purpose.next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["code"] = error }
    return show(page, visit)
  }

  func secondFactor(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    let account = try await halfSignIn.account(
      provenBy: visit.form?["proof"] ?? "", in: visit, at: clock.now)
    // A proof of another account does not count where the signed-in user is asked.
    guard let account, purpose.cancel == nil || visit.account.map({ $0.id == account.id }) ?? true else {
      return signInPage(visit, purpose, notice: .warning("second_factor.expired"))
    }
    do {
      let code = Secret(visit.form?["code"] ?? "")
      let new = try await service.withSecondFactor(of: account, code: code, on: visit.browser.id, visit.caller) {
        try await beginOrRenewSession(by: $0, visit)
      }
      return redirect(to: target(new), with: new, visit)
    } catch AccountError.secondFactorRequired, AccountError.secondFactorWrong {
      return secondFactorPage(of: account, visit, purpose, error: "field_error.code_wrong", status: .unauthorized)
    } catch let error as AccountError {
      let refusal = try refusal(of: error, visit)
      return secondFactorPage(of: account, visit, purpose, notice: refusal.notice, status: refusal.status)
    }
  }
}
#endif
