import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The sign-in form` {
  let service = ScriptedAuth()

  private func filled(_ form: AuthViewModel.Form = .signIn, apple: ScriptedApple? = nil) -> AuthViewModel {
    let model = AuthViewModel(fresh: service, apple: apple)
    model.form = form
    (model.email, model.password, model.username) = (" ada@example.org ", "correct horse", " Ada ")
    return model
  }

  @Test func `signs in, and forgets the password`() async throws {
    let model = filled()
    model.remembers = false
    await model.submit()?.value
    #expect(service.calls == ["signIn ada@example.org correct horse false"])
    #expect(model.running == nil && model.failure == nil && model.notice == nil && model.password.isEmpty)
  }

  @Test func `signs up, and announces the confirmation mail`() async throws {
    let model = filled(.signUp)
    await model.submit()?.value
    #expect(service.calls == ["signUp ada@example.org Ada true"])
    #expect(model.notice == .confirmationSent && model.notice?.wording.word == .confirmationSent)
    #expect(model.form == .confirm && model.password == "correct horse" && !model.canSubmit)
    model.code = " hsl1.code\n"
    service.error = .refused(code: "link_invalid", detail: nil)
    await model.submit()?.value
    #expect(model.failure?.wording.word == .errorCodeInvalid && model.password == "correct horse")
    service.error = nil
    await model.submit()?.value
    #expect(service.calls.last == "confirm hsl1.code correct horse true" && service.calls.count == 3)
    #expect(model.notice == nil && model.failure == nil && model.password.isEmpty && model.code.isEmpty)
  }

  @Test func `signs up at once where no confirmation is needed`() async throws {
    let again = filled(.signUp)
    service.signUpResult = .signedIn(
      SignedIn(id: "s", profile: .init(id: "ada", name: "Ada"), startedAt: .init(milliseconds: 0)))
    await again.submit()?.value
    #expect(again.notice == nil && again.failure == nil)
  }

  @Test func `requests a mail to reset the password`() async throws {
    let model = filled(.reset)
    model.password = ""
    await model.submit()?.value
    #expect(service.calls == ["reset ada@example.org"])
    #expect(model.notice == .resetSent && model.notice?.wording.word == .resetSent)
  }

  @Test func `lets a guest in`() async throws {
    let model = AuthViewModel(fresh: service)
    await model.continueAsGuest()?.value
    #expect(service.calls == ["guest"] && model.running == nil)
  }

  @Test func `sends the hash of a nonce to Apple, and the nonce to the server`() async throws {
    let apple = ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: "")))
    let model = filled(apple: apple)
    #expect(model.offersApple && !AuthViewModel(fresh: service).offersApple)
    await model.signInWithApple()?.value
    model.remembers = false
    await model.signInWithApple()?.value
    #expect(service.calls == ["apple jwt 43 true", "apple jwt 43 false"])
    let hashes = apple.hashes.withLock { $0 }
    #expect(Set(hashes).count == 2 && hashes.allSatisfy { $0.count == 64 })
    #expect(AuthViewModel(fresh: service).signInWithApple() == nil)
  }

  @Test func `passes the server's options to the sheet for passkeys, and its answer back`() async throws {
    let model = AuthViewModel(fresh: service, passkeys: ScriptedPasskeys(result: .success("yes")))
    #expect(model.offersPasskeys && !AuthViewModel(fresh: service).offersPasskeys)
    await model.signInWithPasskey()?.value
    #expect(service.calls == ["passkey yes to options true"] && model.failure == nil)
    #expect(AuthViewModel(fresh: service).signInWithPasskey() == nil)
    let closed = AuthViewModel(fresh: service, passkeys: ScriptedPasskeys(result: .failure(.cancelled)))
    await closed.signInWithPasskey()?.value
    #expect(closed.failure == nil && closed.running == nil && service.calls.count == 1)
    let failing = AuthViewModel(fresh: service, passkeys: ScriptedPasskeys(result: .failure(.unsupported("passkeys"))))
    await failing.signInWithPasskey()?.value
    #expect(failing.failure?.action == .passkey && failing.failure?.wording.word == .errorUnsupported)
  }

  @Test func `shows no error when the user closes Apple's sheet`() async throws {
    let model = filled(apple: ScriptedApple(.failure(.cancelled)))
    await model.signInWithApple()?.value
    #expect(model.failure == nil && model.running == nil && service.calls.isEmpty)
  }

  @Test(arguments: [
    ("", "pw", "Ada"), ("ada", "pw", "Ada"), ("@", "pw", "Ada"), ("a@b@c", "pw", "Ada"), ("a@b", "", "Ada"),
    ("   @   ", "pw", "Ada"),
  ])
  func `cannot be submitted before it is filled in`(email: String, password: String, name: String) {
    let model = AuthViewModel(fresh: service)
    (model.email, model.password, model.username) = (email, password, name)
    #expect(!model.canSubmit && model.submit() == nil)
    model.form = .signUp
    #expect(!model.canSubmit)
    model.form = .confirm
    #expect(!model.canSubmit)
    #expect(service.calls.isEmpty)
  }

  @Test func `needs a name to sign up, but no password to reset one`() {
    let model = filled(.signUp)
    model.username = "  "
    #expect(!model.canSubmit)
    model.form = .reset
    model.password = ""
    #expect(model.canSubmit)
  }

  @Test(arguments: [AuthViewModel.Action.submit, .guest, .apple])
  func `runs one operation at a time, and shows it while it runs`(action: AuthViewModel.Action) async throws {
    let model = filled(apple: ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: ""))))
    let gate = Gate()
    service.gate = gate
    let task = press(action, on: model)
    await gate.arrivals(1)
    #expect(model.running == action && model.isWorking && !model.canSubmit)
    for other in [AuthViewModel.Action.submit, .guest, .apple] { #expect(press(other, on: model) == nil) }
    gate.open()
    await task?.value
    #expect(model.running == nil && service.calls.count == 1 && model.failure == nil)
  }

  @Test(arguments: [AuthViewModel.Action.submit, .guest, .apple])
  func `never leaves a button stuck after a failure, and can repeat the action`(action: AuthViewModel.Action)
    async throws
  {
    let model = filled(apple: ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: ""))))
    service.error = .requestFailed(.network(.timedOut))
    await press(action, on: model)?.value
    let failure = try #require(model.failure)
    #expect(model.running == nil && failure.action == action && failure.remedy == .tryAgain)
    #expect(failure.wording.word == .errorUnreachable && failure.error == .requestFailed(.network(.timedOut)))
    service.error = nil
    await model.recover()?.value
    #expect(model.failure == nil && service.calls.count == 2)
  }

  @Test func `is usable immediately after cancelling, and ignores late responses`() async throws {
    let model = filled()
    let gate = Gate()
    service.gate = gate
    service.error = .refused(code: "wrong_credentials", detail: nil)
    let late = model.submit()
    await gate.arrivals(1)
    model.cancel()
    #expect(model.running == nil && model.canSubmit)
    service.gate = nil
    service.error = nil
    await model.submit()?.value
    #expect(model.failure == nil && model.password.isEmpty)
    gate.open()
    await late?.value
    #expect(model.failure == nil && model.running == nil)
  }

  @Test func `offers to reset a wrong password`() async throws {
    let model = filled()
    service.error = .refused(code: "wrong_credentials", detail: nil)
    await model.submit()?.value
    #expect(model.failure?.remedy == .resetPassword && model.failure?.wording.word == .errorWrongCredentials)
    #expect(model.recover() == nil)
    #expect(model.form == .reset && model.failure == nil && model.email == " ada@example.org ")
    #expect(model.password == "correct horse")
  }

  @Test func `offers to sign in if the account already exists`() async throws {
    let model = filled(.signUp)
    service.error = .refused(code: "email_taken", detail: nil)
    await model.submit()?.value
    #expect(model.failure?.remedy == .signInInstead)
    model.recover()
    #expect(model.form == .signIn && model.failure == nil)
  }

  @Test(
    arguments: [
      (SessionError.refused(code: "weak_password", detail: nil), nil), (.storage(.locked), .tryAgain),
      (.storage(.corrupt), .tryAgain), (.storage(.unavailable("x")), .tryAgain), (.unsupported("guests"), nil),
      (.invalidResponse("x"), nil), (.requestFailed(.network(.timedOut), retryAfter: .seconds(3)), .tryAgain),
      (.tokenRejected, .tryAgain), (.contentFailed("x"), nil), (.redirect(.unavailable("x")), .tryAgain),
      (.presence(.declined), .tryAgain), (.signedOut(nil), .tryAgain), (.sessionEnded(.revoked), .tryAgain),
    ] as [(SessionError, AuthViewModel.Remedy?)])
  func `explains every failure, with a button where there is a remedy`(
    error: SessionError, remedy: AuthViewModel.Remedy?
  ) async throws {
    let model = filled()
    service.error = error
    await model.submit()?.value
    let failure = try #require(model.failure)
    #expect(failure.remedy == remedy && !failure.wording.text.isEmpty)
    #expect(model.password == "correct horse" && model.canSubmit)
    if remedy == nil { #expect(model.recover() == nil) }
    model.form = .reset
    #expect(model.failure == nil)
  }

  @Test func `signs a session in`() async throws {
    let vault = MemoryVault()
    let session = SessionManager(backend: NoAccounts(), vault: vault, baseURL: base) { _ in 0 }
    let model = AuthViewModel(fresh: session)
    (model.email, model.password) = ("ada@example.org", "correct horse")
    await model.submit()?.value
    #expect(session.currentUser?.name == "Ada" && model.failure == nil)
    await model.continueAsGuest()?.value
    #expect(model.failure?.wording.word == .errorUnsupported && session.isAuthenticated)
  }

  private func press(_ action: AuthViewModel.Action, on model: AuthViewModel) -> Task<Void, Never>? {
    switch action {
    case .submit: model.submit()
    case .guest: model.continueAsGuest()
    case .apple: model.signInWithApple()
    case .passkey: model.signInWithPasskey()
    case .passkeySignUp: model.signUpWithPasskey()
    case .browser: model.signInWithBrowser()
    case .biometric: model.signInWithBiometric()
    }
  }
}

/// An account that exists, a second factor, and what a guest has.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `The sign-in form for` {
  let service = ScriptedAuth()
  private let store = Preferences()

  private func model(
    _ form: AuthViewModel.Form = .signIn, apple: ScriptedApple? = nil, passkeys: ScriptedPasskeys? = nil,
    page: BrowserPage? = nil
  ) -> AuthViewModel {
    let model = AuthViewModel(
      service, apple: apple, passkeys: passkeys, page: page, preferences: store)
    model.form = form
    (model.email, model.password, model.username) = ("ada@example.org", "correct horse", "Ada")
    return model
  }

  @Test func `an account with an authenticator app asks for its code`() async throws {
    let model = model()
    service.error = .refused(code: "second_factor_required", detail: nil)
    await model.submit()?.value
    #expect(model.form == .secondFactor && model.failure == nil && !model.canSubmit)
    model.code = " 123456 "
    service.error = .refused(code: "second_factor_wrong", detail: nil)
    await model.submit()?.value
    #expect(model.form == .secondFactor && model.failure?.wording.word == .codeOfAppWrong)
    service.error = nil
    await model.submit()?.value
    #expect(service.calls.last == "signIn ada@example.org correct horse 123456 true")
    #expect(model.form == .signIn && model.password.isEmpty && model.code.isEmpty && model.failure == nil)
  }

  @Test func `a guest begins with the sign-up`() async throws {
    let session = SessionManager.preview(signedInAs: nil, content: ())
    let early = AuthViewModel(session, preferences: store)
    #expect(early.form == .signIn)
    try await session.signInAnonymously()
    #expect(early.form == .signUp, "the session came later")
    let model = AuthViewModel(session, preferences: store)
    #expect(model.form == .signUp)
    (model.email, model.password, model.username) = ("ada@example.org", "correct horse", "Ada")
    await model.submit()?.value
    #expect(!session.isAnonymous && model.failure == nil && early.form == .signIn)
  }

  @Test func `a guest keeps the form that was chosen, or typed into`() {
    let (chosen, typed, upgraded) = (
      AuthViewModel(service, preferences: store), AuthViewModel(service, preferences: store),
      AuthViewModel(service, preferences: store)
    )
    chosen.form = .signIn
    typed.email = "a"
    service.isAnonymous = true
    #expect(chosen.form == .signIn && typed.form == .signIn && upgraded.form == .signUp)
    upgraded.password = "p"
    service.isAnonymous = false
    #expect(upgraded.form == .signUp)
    service.isAnonymous = true
    service.offer = SignInOffer(identifier: .email, accounts: false, browser: false)
    #expect(AuthViewModel(service, preferences: store).form == .signIn, "there is no sign-up")
  }

  @Test(arguments: ["email_taken", "identity_taken"])
  func `a guest asks before anything of another account happens`(code: String) async throws {
    service.isAnonymous = true
    let apple = ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: "", name: "Ada")))
    let model = model(.signUp, apple: apple)
    service.error = .refused(code: code, detail: nil)
    await (code == "email_taken" ? model.submit() : model.signInWithApple())?.value
    #expect(model.question == .accountExists && model.failure == nil && !model.canSubmit)
    #expect(model.submit() == nil && model.continueAsGuest() == nil)
    model.stayGuest()
    #expect(model.question == nil && model.canSubmit)
    await (code == "email_taken" ? model.submit() : model.signInWithApple())?.value
    service.error = nil
    await model.signInThere()?.value
    if code == "email_taken" {
      // The password that was typed is not that account's.
      #expect(model.form == .signIn && model.email == "ada@example.org" && model.password.isEmpty)
    } else {
      #expect(service.calls.last == "apple jwt 43 there true")
      #expect(apple.hashes.withLock { $0.count } == 2, "the sheet is not shown again")
    }
  }

  @Test func `a guest asks before a sign-in ends the guest's session`() async throws {
    (service.isAnonymous, service.losesGuest) = (true, true)
    let model = model(passkeys: ScriptedPasskeys(result: .success("yes")))
    #expect(model.offerPasskeys() == nil)
    #expect(model.submit() == nil && model.question == .leavesGuest)
    model.stayGuest()
    #expect(model.signInWithPasskey() == nil && model.question == .leavesGuest && service.calls.isEmpty)
    await model.signInThere()?.value
    #expect(service.calls == ["passkey yes to options true"])
    // The next one asks again.
    #expect(model.signInWithPasskey() == nil)
  }

  @Test func `a guest signs up with a passkey`() async throws {
    let model = model(.signUp, passkeys: ScriptedPasskeys(result: .success("x"), add: .success("made")))
    #expect(!model.offersPasskeySignUp && model.signUpWithPasskey() == nil)
    service.isAnonymous = true
    service.signUpResult = .signedIn(SignedIn(id: "s", profile: nil, startedAt: UnixTime(milliseconds: 0)))
    await model.signUpWithPasskey()?.value
    #expect(service.calls == ["upgrade ada@example.org Ada made to new options"])
  }

  @Test func `a backend shows only what it can do`() async throws {
    let apple = ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: "")))
    let page = BrowserPage(NoPage(), redirectURI: "org.example.app:/back")
    service.offer = SignInOffer(identifier: .either, accounts: false, browser: false)
    let site = model(apple: apple, passkeys: ScriptedPasskeys(result: .success("x")), page: page)
    site.email = "ada"
    #expect(site.canSubmit && !site.offersApple && !site.offersPasskeys && !site.offersBrowser)
    #expect(site.signInWithApple() == nil && site.signInWithBrowser() == nil)
    service.offer = SignInOffer(identifier: nil, accounts: false, browser: true)
    #expect(!site.canSubmit && site.submit() == nil)
    await site.signInWithBrowser()?.value
    #expect(service.calls == ["browser org.example.app:/back true"])
    #expect(SignInOffer(NoAccounts()) == SignInOffer(identifier: .email, accounts: true, browser: false))
    #expect(SignInOffer(ScriptedBackend { _, _, _ in .superseded }).identifier == nil)
  }

  @Test func `the last person keeps address and choice, and no secret`() async throws {
    let first = model()
    await first.submit()?.value
    #expect(AuthViewModel(service, preferences: store).email == "ada@example.org")
    let second = model()
    second.remembers = false
    await second.submit()?.value
    let third = AuthViewModel(service, preferences: store)
    #expect(third.email.isEmpty && !third.remembers)
    #expect(!store.all.contains("correct horse"))
  }
}

private struct NoPage: RedirectReceiver {
  @concurrent func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret { throw .cancelled }
}

/// Signs Ada in, and supports nothing else.
struct NoAccounts: AccountBackend {
  var abilities: BackendAbilities { BackendAbilities(supportsRotationKeys: true) }
  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    .noDecision(.network(.timedOut))
  }
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult { .ended }
  @concurrent func signIn(email: String, password: Secret, code: Secret?) async throws(SessionError) -> TokenResponse {
    TokenResponse(
      tokens: TokenSet(access: AccessToken("a"), expiresIn: .seconds(600), refresh: RefreshToken("r")), sessionID: "s",
      profile: Profile(id: "ada", name: "Ada"))
  }
  @concurrent func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse { throw .unsupported("sign-up") }
  @concurrent func confirmSignUp(_ code: Secret, password: Secret) async throws(SessionError) -> TokenResponse {
    throw .unsupported("sign-up")
  }
  @concurrent func signInAnonymously() async throws(SessionError) -> TokenResponse { throw .unsupported("guests") }
  @concurrent func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse {
    throw .unsupported("guests")
  }
  @concurrent func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse {
    throw .unsupported("Sign in with Apple")
  }
  @concurrent func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError) -> TokenResponse {
    throw .unsupported("passkeys")
  }
  @concurrent func requestPasswordReset(email: String) async throws(SessionError) { throw .unsupported("reset") }
  @concurrent func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind> {
    throw .unsupported("proofs")
  }
  @concurrent func reauthenticate(_ proof: Proof, token: AccessToken) async throws(SessionError) -> AccessToken {
    throw .unsupported("proofs")
  }
  @concurrent func mailProof(token: AccessToken) async throws(SessionError) { throw .unsupported("proofs") }
  @concurrent func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof?, token: AccessToken
  ) async throws(SessionError) { throw .unsupported("change of password") }
  @concurrent func deleteAccount(proof: Proof?, token: AccessToken) async throws(SessionError) {
    throw .unsupported("deletion")
  }
  @concurrent func endOtherSessions(token: AccessToken) async throws(SessionError) { throw .unsupported("others") }
  @concurrent func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError) {
    throw .unsupported("push tokens")
  }
}
