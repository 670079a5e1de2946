#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// `/recover`: a person without password and passkey signs in with a recovery code, beside another proof where the account takes two.
struct RecoverPageController: Sendable {
  let browsers: BrowserSessions
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    routes.get("/recover", use: show)
    routes.post("/recover", use: recover)
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    page(try await browsers.visit(request, context))
  }

  @concurrent func recover(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    let form = visit.form
    let typed = AccountService.TypedRecovery(
      code: form?["recovery_code"] ?? "", email: form?["email"] ?? "", password: form?.password("password"),
      mailed: form?["token"].map { Secret($0) })
    do {
      switch visit.action {
      case "mail":
        guard let email = try await service.mailRecovery(typed, on: visit.browser, visit.caller) else {
          return page(visit, errors: ["recovery_code": "field_error.recovery_code"], status: .unauthorized)
        }
        return visit.sent("owner_sent", to: email)
      case "recover":
        let outcome = try await service.verify(typed, on: visit.browser, visit.caller) {
          try await browsers.beginOrRenewSession(by: $0, visit)
        }
        switch outcome {
        case .unknown: return page(visit, errors: ["recovery_code": "field_error.recovery_code"], status: .unauthorized)
        case .incomplete(let account): return page(visit, of: account)
        case .done(let new):
          let next = new.isRecovering ? nil : NextPage(visit.query?["next"]).asked
          return browsers.redirect(to: service.issuer + (next ?? "/account/security"), with: new, visit)
        }
      default: return visit.unknownAction()
      }
    } catch RegistryError.oneTimeTokenInvalid {
      return page(visit, notice: .warning("recover.link_expired"), status: .badRequest)
    } catch {
      let words = try visit.words(for: error, passwordIn: "password")
      return page(visit, errors: words.errors, notice: words.notice, status: words.status)
    }
  }

  /// - Parameter account: the one whose recovery code is right, and that takes another proof beside it.
  private func page(
    _ visit: BrowserRequest, of account: AccountRecord? = nil, errors: [String: PageText] = [:],
    notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "recover", title: "recover.title", status: status, errors: errors, notice: notice)
    let (form, next) = (visit.form, NextPage(visit.query?["next"]).asked)
    // Of the mailed link, which a mail program may open as well: it changes nothing.
    let token = form?["token"] ?? visit.query?["token"]
    let hasPassword = account.map { $0.passwordHash != nil } ?? (form?["password"] != nil)
    page.context = [
      "email": .text(ifPresent: form?["email"].map { String($0.prefix(EmailAddress.maxLength)) }),
      "recovery_code": .text(ifPresent: form?["recovery_code"].map { String($0.prefix(64)) }),
      "token": .text(ifPresent: token.map { String($0.prefix(OneTimeToken.maxLength)) }),
      "more": .flag(if: account != nil), "has_password": .flag(if: hasPassword),
      "mail": .flag(if: account != nil && service.outbox.hasMailer),
      "mail_alone": .flag(if: account != nil && !hasPassword),
      "next": next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    return visit.show(page)
  }
}
#endif
