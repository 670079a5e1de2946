import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampUI

@MainActor @Suite(.timeLimit(.minutes(10))) struct `A sign-in by biometry in the form` {
  let service = ScriptedAuth()
  let device = EmulatedKeychain.Device()

  private var secret: BiometricSecret {
    BiometricSecret(EmulatedKeychain(device), service: "app", account: AccountID("default"), access: .owner)
  }

  private func form() async -> AuthViewModel {
    let model = AuthViewModel(fresh: service, biometric: secret)
    await model.findBiometric()
    return model
  }

  /// A user signs in with the password, and wants to do so by biometry from now on.
  private func enable() async {
    let model = await form()
    #expect(model.canKeepBiometric && !model.offersBiometric && model.signInWithBiometric() == nil)
    (model.email, model.password, model.keepsBiometric) = ("ada@example.org", "correct\nhorse", true)
    await model.submit()?.value
    #expect(model.failure == nil && !model.keepsBiometric && !model.canKeepBiometric)
  }

  @Test func `is offered once a user has wanted it, and asks for nothing but the user`() async throws {
    await enable()
    let model = await form()
    #expect(model.offersBiometric)
    await model.signInWithBiometric()?.value
    #expect(service.calls.last == "signIn biometric ada@example.org correct\nhorse true")
    #expect(device.reasons == ["to sign you in"] && model.failure == nil && model.password.isEmpty)
  }

  @Test func `is not offered to a user who has not wanted it`() async throws {
    let model = await form()
    (model.email, model.password) = ("ada@example.org", "correct horse")
    await model.submit()?.value
    #expect(await !secret.isStored())
    #expect(await !form().offersBiometric)
    #expect(!AuthViewModel(fresh: service).canKeepBiometric)
  }

  @Test func `is not wanted any more`() async throws {
    await enable()
    let model = await form()
    await model.removeBiometric()
    #expect(!model.offersBiometric && model.canKeepBiometric)
    #expect(await !secret.isStored())
  }

  @Test func `is over when the server refuses the password`() async throws {
    await enable()
    let model = await form()
    service.error = .refused(code: "wrong_credentials", detail: nil)
    await model.signInWithBiometric()?.value
    #expect(model.failure?.error == service.error && !model.offersBiometric && model.form == .signIn)
    #expect(await !secret.isStored())
  }

  @Test func `stays when the server cannot be reached, or the user declines`() async throws {
    await enable()
    let model = await form()
    service.error = .requestFailed(.network(.timedOut), retryAfter: nil)
    await model.signInWithBiometric()?.value
    #expect(model.failure?.remedy == .tryAgain && model.offersBiometric)
    service.error = nil
    device.answer(.authFailed)
    await model.signInWithBiometric()?.value
    #expect(model.failure?.error == .presence(.declined) && model.offersBiometric)
    #expect(await secret.isStored())
  }

  @Test func `asks for the code of an authenticator app, and for that alone`() async throws {
    await enable()
    let model = await form()
    service.error = .refused(code: "second_factor_required", detail: nil)
    await model.signInWithBiometric()?.value
    #expect(model.form == .secondFactor && model.failure == nil)
    service.error = nil
    model.code = "123456"
    await model.submit()?.value
    #expect(service.calls.last == "signIn ada@example.org correct\nhorse 123456 true")
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `An app that its user takes off Apple's list` {
  private func session() async throws -> SessionManager<Void> {
    let session = SessionManager(backend: NoAccounts(), vault: MemoryVault(), baseURL: base, clock: ManualClock())
    let tokens = TokenSet(access: AccessToken("a"), expiresIn: nil, refresh: RefreshToken("r"))
    let ada = Profile(id: AccountID("ada \(UUID())"), name: "Ada")
    try await session.signIn { TokenResponse(tokens: tokens, sessionID: "s", profile: ada) }
    return session
  }

  @Test func `is signed out there`() async throws {
    let session = try await session()
    let account = try #require(session.currentUser?.id)
    let asked = Locked<[String]>([])
    let isValid = Locked(true)
    let model = AuthGuardModel(session, lock: nil) { user in
      asked.withLock { $0.append(user) }
      return isValid.withLock { $0 }
    }
    // Not begun with Apple, and another session that was.
    await model.checkApple()
    UserDefaults.standard.set("former 001.apple", forKey: account.appleUserKey)
    await model.checkApple()
    #expect(asked.withLock { $0 } == [])
    UserDefaults.standard.set("s 001.apple", forKey: account.appleUserKey)
    await model.checkApple()
    #expect(session.isAuthenticated && asked.withLock { $0 } == ["001.apple"])
    isValid.withLock { $0 = false }
    await model.checkApple()
    #expect(session.state == .signedOut(.endedAtProvider("Apple")))
    #expect(UserDefaults.standard.string(forKey: account.appleUserKey) == nil)
  }

  @Test func `is known by the form that signed in`() async throws {
    let service = ScriptedAuth()
    service.currentSession = SignedIn(
      id: "s", profile: Profile(id: "ada", name: "Ada"), startedAt: UnixTime(milliseconds: 0))
    let preferences = Preferences()
    let credential = AppleCredential(
      idToken: Secret("jwt"), nonce: "", name: nil, authorizationCode: nil, user: "001.apple")
    let model = AuthViewModel(service, apple: ScriptedApple(.success(credential)), preferences: preferences)
    await model.signInWithApple()?.value
    #expect(preferences.string(forKey: AccountID("ada").appleUserKey) == "s 001.apple")
  }
}
