#if Server
import HandstampCore
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
struct OwnerPages: Sendable {
  let signIn: SignInPages

  var browsers: BrowserSessions { signIn.browsers }
  private var service: AccountService { browsers.service }

  /// Runs `body` for a signed-in person. Others are sent to the page for signing in, and come back.
  ///
  /// - Parameter recovering: whether the page is also for a person who may only set up a new factor.
  func withSignedInUser<Context: SessionRequestContext>(
    _ request: Request, _ context: Context, recovering: Bool = false,
    _ body: @concurrent (AccountRequest) async throws -> Response
  ) async throws -> Response {
    var visit = try await browsers.visit(request, context) { visit in
      visit.web == nil && !(recovering && visit.recovering != nil) ? visit.signInAddress : nil
    }
    if recovering { visit.web = visit.web ?? visit.recovering }
    guard let user = visit.web else { return .seeOther(visit.signInAddress) }
    let call = AccountRequest(visit: visit, user: user)
    // The page that asks for a proof was shown at this address.
    if visit.signsIn {
      return try await signIn.submit(by: visit, try await confirmation(by: call.owner)) { _ in visit.address }
    }
    if visit.action == "mail-link" {
      do { return visit.sent("owner_sent", to: try await service.mailProof(to: call.owner)) } catch {
        return signIn.page(
          visit, try await confirmation(by: call.owner), notice: try visit.words(for: error).notice)
      }
    }
    let needed: AuthenticationContext?
    do { return try await body(call) } catch AccountError.reauthenticationRequired(let context) {
      needed = context
    } catch AccountError.secondFactorRequired { needed = .multiFactor }
    return signIn.page(
      visit, try await confirmation(by: call.owner, needing: needed), notice: needed.map { .stronger($0) })
  }

  /// The ways in which the owner can prove it.
  ///
  /// - Parameter context: the least strength that would be enough; `nil` for one factor.
  private func confirmation(
    by owner: AccountService.Owner, needing context: AuthenticationContext? = nil
  ) async throws -> SignInPages.Purpose {
    let account = owner.account
    let hasPassword =
      switch context {
      case nil: account.passwordHash != nil
      case .multiFactor: try await service.hasApp(account)
      case .phishingResistant: false
      }
    let hasOther = try await service.hasOtherProof(account)
    let identities = context == nil ? try await service.registry.identities(of: account) : []
    return SignInPages.Purpose(
      cancel: browsers.pages.base + "/account", hasPasskey: try await service.hasPasskey(account),
      // A provider without ID tokens does not say when the user has signed in.
      identities: identities.filter { link in
        !hasOther || service.providers.contains { $0.provider.isOf(link) && $0.provider.userInfo == nil }
      },
      hasPassword: hasPassword, hasMail: context == nil ? try await service.takesMailedProof(account) : false)
  }

  // MARK: A mailed proof

  /// The page that a mailed link leads to. It changes nothing: mail programs open links, too.
  func ownerPage(_ call: AccountRequest, isExpired: Bool = false) -> Response {
    let token = call.visit.query?["token"] ?? ""
    var page = Page(
      name: "confirm_owner", title: isExpired ? "confirm_owner.title_expired" : "confirm_owner.title",
      status: isExpired ? .badRequest : .ok)
    page.context = [
      "token": .text(String(token.prefix(OneTimeToken.maxLength))), "expired": .flag(if: isExpired),
      "email": .text(call.account.email?.typed ?? call.account.shownName),
    ]
    return call.visit.show(page)
  }

  @concurrent func proveOwner(_ call: AccountRequest) async throws -> Response {
    guard call.visit.action == "prove" else { return call.visit.unknownAction() }
    do {
      let use = try await service.use(ofMailed: Secret(call.visit.form?["token"] ?? ""), by: call.owner)
      let new = try await browsers.beginOrRenewSession(by: use, call.visit)
      return browsers.redirect(to: service.issuer + "/account", with: new, call.visit)
    } catch RegistryError.oneTimeTokenInvalid { return ownerPage(call, isExpired: true) }
  }
}

extension PageNotice {
  /// The part that a proof lacks.
  static func stronger(_ context: AuthenticationContext) -> PageNotice {
    switch context {
    case .multiFactor: PageNotice(kind: .note, text: "sign_in.stronger")
    case .phishingResistant: PageNotice(kind: .note, text: "sign_in.stronger_passkey")
    }
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
