#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird

/// The page for signing in, at whichever address it is shown: with a password and a second factor, a passkey, or a provider.
struct SignInPages: Sendable {
  let browsers: BrowserSessions
  /// Whether accounts are the server's own, and mail is set up: only then the pages for passwords work.
  let hasPasswordPages: Bool

  private var service: AccountService { browsers.service }
  private var clock: ServerClock { service.clock }
  private var providers: ProviderPages { ProviderPages(service: service) }

  /// The purpose of a sign-in.
  struct Purpose: Sendable {
    /// The client that asked for it.
    var asked: AuthorizationRequest?
    /// Whether the signed-in user is asked to prove it again, and where the user goes instead.
    var cancel: String?
    /// The page of this server that the user comes from, as in `?next=`.
    var next: String?
    /// Whether the user who is asked to prove it again has a passkey.
    var hasPasskey = false
    /// The identities of that user at other providers, of those whose word would be enough.
    var identities: [LinkedIdentity] = []
    /// Whether the password would be enough, with the code of an authenticator app where there is one.
    var hasPassword = true
    /// Whether a mailed link would be, because the account has nothing else of its own.
    var hasMail = false
  }

  func page(
    _ visit: BrowserRequest, _ purpose: Purpose = Purpose(), email: String? = nil, error: PageText? = nil,
    notice: PageNotice? = nil, unknownPasskey: String? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    let confirms = purpose.cancel != nil && visit.account != nil
    let ended = visit.providerOfEnd.map {
      PageNotice(kind: .note, text: PageText("sign_in.ended_at", ["name": .text($0)]))
    }
    var page = Page(
      name: "sign_in", title: confirms ? "sign_in.title_confirm" : "sign_in.title", status: status,
      notice: notice ?? ended)
    let known =
      confirms ? visit.account?.email?.typed : email ?? purpose.asked?.loginHint ?? visit.account?.email?.typed
    let hasPasskeys = service.passkeys != nil && (!confirms || purpose.hasPasskey)
    let hasPassword = !confirms || purpose.hasPassword
    page.context = [
      "focus_email": .flag(if: !confirms && known == nil),
      "email": .text(ifPresent: known.map { String($0.prefix(EmailAddress.maxLength)) }),
      "who": .text(known ?? visit.account?.shownName ?? ""),
      "app": visit.app(purpose),
      "confirm": .flag(if: confirms), "again": .flag(if: confirms && lostAction(visit)),
      "cancel": .text(ifPresent: purpose.cancel),
      "can_sign_up": .flag(if: !confirms && service.signUp != .closed && hasPasswordPages),
      "passkeys": .flag(if: hasPasskeys), "passkey_only": .flag(if: !hasPassword),
      "buttons": providers.buttons(
        visit.pages, for: confirms ? purpose.identities : nil, alone: !hasPassword && !hasPasskeys),
      "mail": .flag(if: confirms && purpose.hasMail),
      "unknown_passkey": unknownPasskey.flatMap { id in
        service.passkeys.map { .object(["id": .text(id), "domain": .text($0.domain)]) }
      },
      "recovery": .flag(if: service.passkeys != nil && !confirms),
      "can_reset": .flag(if: hasPasswordPages),
      "next": purpose.next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["password"] = error }
    return visit.show(page)
  }

  /// Whether the page asks for a proof in place of what a button was to do, which the user then has to press once more.
  private func lostAction(_ visit: BrowserRequest) -> Bool {
    visit.form.map { visit.signsIn || visit.action == "mail-link" ? $0["again"] != nil : true } ?? false
  }

  /// Signs in with the form of ``page(_:_:email:error:notice:unknownPasskey:status:)`` and redirects to `target`.
  func submit(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    switch visit.action {
    case "passkey": return try await signInWithPasskey(by: visit, purpose, backTo: target)
    case "provider": return try await providers.signIn(by: visit, purpose)
    case "second-factor": return try await secondFactor(by: visit, purpose, backTo: target)
    default: break
    }
    let confirms = purpose.cancel != nil && visit.account != nil
    let typed = confirms ? visit.account?.email?.typed ?? "" : visit.form?["email"] ?? ""
    let wrong: PageText = confirms ? "field_error.password_wrong" : "field_error.sign_in_wrong"
    guard let email = EmailAddress(composed: typed), let password = visit.form?["password"],
      (try? PasswordPolicy.check(attempt: Secret(password))) != nil
    else { return page(visit, purpose, email: typed, error: wrong) }
    let account: AccountRecord
    do {
      account = try await service.accounts.account(
        PasswordAttempt(
          email: email, password: Secret(password), device: visit.browser.id, caller: visit.caller))
    } catch {
      let words = try visit.words(for: error)
      return page(
        visit, purpose, email: typed, error: words.errors.isEmpty ? nil : wrong, notice: words.notice,
        status: words.status)
    }
    do {
      let new = try await service.withSecondFactor(of: account, code: nil, on: visit.browser.id, visit.caller) {
        try await browsers.beginOrRenewSession(by: $0, visit)
      }
      return browsers.redirect(to: target(new), with: new, visit)
    } catch AccountError.secondFactorRequired { return secondFactorPage(of: account, visit, purpose) }
  }

  private func signInWithPasskey(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    guard service.passkeys != nil, let answer = visit.form?["passkey"] else { return visit.unknownAction() }
    do {
      let account = purpose.cancel == nil ? nil : visit.account?.id
      let new = try await service.verify(passkey: answer, boundTo: visit.token, as: account, visit.caller) {
        try await browsers.beginOrRenewSession(by: $0, visit)
      }
      return browsers.redirect(to: target(new), with: new, visit)
    } catch AccountError.passkey(let refusal) {
      return page(
        visit, purpose, notice: .warning(refusal.text),
        // The script tells the browser's password manager that it was removed.
        unknownPasskey: refusal == .unknown ? PasskeyService.credential(in: answer) : nil, status: .unauthorized)
    } catch let error as AccountError {
      let words = try visit.words(for: error)
      return page(visit, purpose, notice: words.notice, status: words.status)
    }
  }

  // MARK: The second factor, after the right password, at the same address

  private var halfSignIn: HalfSignIn { HalfSignIn(registry: service.registry) }

  /// Asks for the code of the authenticator app.
  func secondFactorPage(
    of account: AccountRecord, _ visit: BrowserRequest, _ purpose: Purpose, error: PageText? = nil,
    notice: PageNotice? = nil, status: HTTPResponse.Status = .ok
  ) -> Response {
    var page = Page(name: "second_factor", title: "second_factor.title", status: status, notice: notice)
    page.context = [
      "proof": .text(halfSignIn.proof(of: account, in: visit, at: clock.now)),
      "app": visit.app(purpose),
      "cancel": .text(ifPresent: purpose.cancel), "here": .text(visit.place.here),
      "next": purpose.next.map { .text("?next=" + PercentEncoding.encode($0)) },
    ]
    if let error { page.errors["code"] = error }
    return visit.show(page)
  }

  func secondFactor(
    by visit: BrowserRequest, _ purpose: Purpose, backTo target: (BrowserSession) -> String
  ) async throws -> Response {
    let account = try await halfSignIn.account(
      provenBy: visit.form?["proof"] ?? "", in: visit, at: clock.now)
    // A proof of another account does not count where the signed-in user is asked.
    guard let account, purpose.cancel == nil || visit.account.map({ $0.id == account.id }) ?? true else {
      return page(visit, purpose, notice: .warning("second_factor.expired"))
    }
    do {
      let code = Secret(visit.form?["code"] ?? "")
      let new = try await service.withSecondFactor(of: account, code: code, on: visit.browser.id, visit.caller) {
        try await browsers.beginOrRenewSession(by: $0, visit)
      }
      return browsers.redirect(to: target(new), with: new, visit)
    } catch AccountError.secondFactorRequired, AccountError.secondFactorWrong {
      return secondFactorPage(of: account, visit, purpose, error: "field_error.code_wrong", status: .unauthorized)
    } catch let error as AccountError {
      let words = try visit.words(for: error)
      return secondFactorPage(of: account, visit, purpose, notice: words.notice, status: words.status)
    }
  }

  // MARK: Strength, as clients ask for it and the operator requires it

  /// Whether a browser's session is good for a client's request.
  enum Standing: Sendable {
    case good
    /// The user has to sign in again, and can do it as is needed.
    case signIn(PageNotice?)
    /// The account has nothing to prove it with. The client asked for more than the operator requires.
    case unmet
    /// The same, and the operator requires it: the user has to set up a second factor first.
    case setUp
  }

  /// - Parameter isForThis: whether the sign-in was made for this very request.
  func standing(
    of session: BrowserSession, for client: ConfiguredClient?, _ needs: PromptRequirements, isForThis: Bool
  ) async throws -> Standing {
    let required = try await service.requiredContext(of: session.account, for: client)
    let context = [needs.context, required].compactMap(\.self).max()
    guard session.methods.amount(to: context) else {
      if let context, let reachable = try await service.reachableContext(of: session.account), reachable >= context {
        return .signIn(.stronger(context))
      }
      return session.methods.amount(to: required) ? .unmet : .setUp
    }
    return needs.isMet(by: session, isForThis: isForThis, at: clock.now) ? .good : .signIn(nil)
  }

  /// Leads a user without a second factor to the page where one is set up.
  func setUpPage(_ visit: BrowserRequest) -> Response {
    visit.show(
      .message(
        "second_factor", icon: "info",
        to: [
          PageAction(text: "action.set_up", href: visit.pages.base + "/account/security"),
          PageAction(text: "action.try_again", href: visit.place.here, isPrimary: false),
        ]))
  }
}

/// Shows that the right password of an account was typed in this browser, for the form that asks for the second factor:
///
///     <account in base64url>.<seconds since 1970 at which it expires>.<mac>
struct HalfSignIn: Sendable {
  /// In seconds.
  private static let life: Int64 = 600
  let registry: Registry

  func proof(of account: AccountRecord, in visit: BrowserRequest, at now: UnixTime) -> String {
    let expiry = now.seconds + HalfSignIn.life
    return "\(Base64URL.encode(Array(account.id.rawValue.utf8))).\(expiry).\(mac(account, expiry, visit))"
  }

  /// Returns the account, if it still has that password.
  func account(provenBy proof: String, in visit: BrowserRequest, at now: UnixTime) async throws -> AccountRecord? {
    let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let expiry = Int64(parts[1]),
      (now.seconds..<now.seconds + HalfSignIn.life + 1).contains(expiry),
      let id = Base64URL.decode(parts[0]).flatMap({ String(utf8Bytes: $0) }),
      let account = try await registry.account(AccountID(id)), account.closedAt == nil,
      Secret(String(parts[2])) == Secret(mac(account, expiry, visit))
    else { return nil }
    return account
  }

  private func mac(_ account: AccountRecord, _ expiry: Int64, _ visit: BrowserRequest) -> String {
    let hash = account.passwordHash?.withExposed { $0 } ?? ""
    return registry.mint.mac(of: "\(account.id) \(expiry) \(visit.formCookie) \(hash)", for: .halfSignIn)
  }
}
#endif
