import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

@testable import AccountsExample

/// Runs the model of Examples/Documents/Sources/SeveralAccounts with the package's models for its views.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `An app with several accounts` {
  typealias Session = SessionManager<Content>
  private let store = MemoryAccountsStore()
  private let vaults = Locked<[AccountID: MemoryVault]>([:])

  /// Starts the app: its memory is lost, the list and the vaults remain.
  private func launch() async -> AccountsModel {
    let accounts = Accounts(store: store, backend: PreviewBackend()) { [vaults] account in
      let vault = vaults.withLock { vaults in
        let vault = vaults[account] ?? MemoryVault()
        vaults[account] = vault
        return vault
      }
      return Session(backend: PreviewBackend(), vault: vault, baseURL: base) { _ in Content(name: "content") }
    }
    let model = AccountsModel(accounts)
    await accounts.load()
    return model
  }

  private func signIn(_ name: String, to model: AccountsModel) async {
    let form = AuthViewModel(fresh: model.accounts)
    form.onSignIn = { model.showContent() }
    (form.email, form.password) = ("\(name)@example.org", "correct horse")
    await form.submit()?.value
    #expect(form.failure == nil)
  }

  @Test func `adds three accounts, switches, removes one, and finds the others at the next launch`() async throws {
    let first = await launch()
    #expect(first.screen == .signIn && !first.canReturn)
    for name in ["ada", "bob", "eve"] {
      first.showSignIn()
      #expect(first.screen == .signIn)
      await signIn(name, to: first)
      #expect(first.screen == .content && first.accounts.active?.currentUser?.id == AccountID(name))
    }
    first.showList()
    #expect(first.screen == .list && first.accounts.accounts.map(\.name) == ["Ada", "Bob", "Eve"])

    let switcher = AccountSwitcherModel(first.accounts)
    await switcher.activate(try #require(first.accounts["ada"]))
    first.showContent()
    #expect(first.screen == .content && first.accounts.active?.currentUser?.name == "Ada")
    #expect(first.accounts.session(of: "bob")?.isAuthenticated == true, "the others stay signed in")

    await switcher.remove(try #require(first.accounts["ada"]))
    #expect(first.screen == .list && !first.canReturn && switcher.failure == nil)
    await switcher.activate(try #require(first.accounts["eve"]))

    let second = await launch()
    #expect(second.screen == .content && second.accounts.accounts.map(\.name) == ["Bob", "Eve"])
    let session = try #require(second.accounts.active)
    #expect(await session.restoreSession().value??.profile?.name == "Eve")
    #expect(await second.accounts.session(of: "bob")?.restoreSession().value??.profile?.name == "Bob")
  }

  @Test func `gets the report of a removal without naming a plan`() async throws {
    let accounts = await launch().accounts
    let id = try await accounts.add { try await PreviewBackend().signInAnonymously() }
    let report = try await accounts.remove(id)
    #expect(report.failed.isEmpty && !report.isUnrevoked && accounts.accounts.isEmpty)
  }

  @Test func `signs in to a listed account again without listing it twice`() async throws {
    let model = await launch()
    await signIn("ada", to: model)
    await model.accounts.active?.signOut(reason: .expired)
    #expect(model.accounts.active?.isAuthenticated == false)
    await signIn("ada", to: model)
    #expect(model.accounts.accounts.count == 1 && model.accounts.active?.isAuthenticated == true)
  }

  @Test func `adds another user who signs in where a session has ended`() async throws {
    let model = await launch()
    await signIn("ada", to: model)
    await model.accounts.active?.signOut(reason: .expired)
    await signIn("bob", to: model)
    #expect(model.accounts.accounts.map(\.name) == ["Ada", "Bob"])
    #expect(model.accounts.active?.currentUser?.name == "Bob")
  }

  @Test func `lists no account of a sign-in that the user has left, and ends its session`() async throws {
    let gate = Gate()
    let backend = LateBackend(gate)
    let accounts = Accounts(store: store, backend: backend) { _ in
      SessionManager(backend: backend, vault: MemoryVault(), baseURL: base) { _ in Content(name: "content") }
    }
    let form = AuthViewModel(fresh: accounts)
    let task = form.continueAsGuest()
    await gate.arrivals(1)
    form.cancel()
    gate.open()
    await task?.value
    await accounts.load()
    #expect(accounts.accounts.isEmpty && backend.revoked.withLock { $0 } == 1)
  }

  @Test func `says what the accounts' server does not offer`() async throws {
    let accounts = Accounts(store: store) { _ in
      SessionManager(backend: NoAccounts(), vault: MemoryVault(), baseURL: base) { _ in Content(name: "content") }
    }
    await #expect(throws: SessionError.unsupported("accounts")) { try await accounts.signInAnonymously() }
  }
}

/// Answers a guest's sign-in when the gate opens.
private final class LateBackend: AccountBackend {
  let revoked = Locked(0)
  private let gate: Gate
  private let inner = PreviewBackend()
  init(_ gate: Gate) { self.gate = gate }

  var abilities: BackendAbilities { inner.abilities }
  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult { await inner.refresh(request) }
  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    revoked.withLock { $0 += 1 }
    return .ended
  }
  @concurrent func signInAnonymously() async throws(SessionError) -> TokenResponse {
    await gate.wait()
    return try await inner.signInAnonymously()
  }
  @concurrent func signUp(
    email: String, password: Secret, username: String
  ) async throws(SessionError) -> SignUpResponse { .confirmationSent }
  @concurrent func confirmSignUp(_ code: Secret, password: Secret) async throws(SessionError) -> TokenResponse {
    throw .unsupported("sign-up")
  }
  @concurrent func signIn(email: String, password: Secret, code: Secret?) async throws(SessionError) -> TokenResponse {
    throw .unsupported("passwords")
  }
  @concurrent func upgrade(by way: GuestUpgrade, token: AccessToken) async throws(SessionError) -> SignUpResponse {
    .confirmationSent
  }
  @concurrent func signInWithApple(_ credential: AppleCredential) async throws(SessionError) -> TokenResponse {
    throw .unsupported("Apple")
  }
  @concurrent func signInWithPasskey(asking ask: @escaping PasskeyPrompt) async throws(SessionError) -> TokenResponse {
    throw .unsupported("passkeys")
  }
  @concurrent func requestPasswordReset(email: String) async throws(SessionError) {}
  @concurrent func proofs(token: AccessToken) async throws(SessionError) -> Set<Proof.Kind> {
    throw .unsupported("proofs")
  }
  @concurrent func reauthenticate(_ proof: Proof, token: AccessToken) async throws(SessionError) -> AccessToken {
    throw .unsupported("proofs")
  }
  @concurrent func mailProof(token: AccessToken) async throws(SessionError) { throw .unsupported("proofs") }
  @concurrent func changePassword(
    to new: Secret, endingOthers: Bool, proof: Proof?, token: AccessToken
  ) async throws(SessionError) {}
  @concurrent func deleteAccount(proof: Proof?, token: AccessToken) async throws(SessionError) {}
  @concurrent func endOtherSessions(token: AccessToken) async throws(SessionError) {}
  @concurrent func registerPushToken(_ pushToken: Secret?, token: AccessToken) async throws(SessionError) {}
}
