import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The passkeys that a form offers` {
  private let service = ScriptedAuth()
  private let taken = Gate()

  private func passkeys(
    signIn: Result<String, SessionError> = .success("sheet"), add: Result<String, SessionError> = .success("made")
  ) -> ScriptedPasskeys {
    ScriptedPasskeys(result: signIn, offer: .success("offer"), taken: taken, add: add)
  }

  @Test func `sign in when the user takes one`() async throws {
    let model = AuthViewModel(fresh: service, passkeys: passkeys())
    let offer = try #require(model.offerPasskeys())
    #expect(model.offerPasskeys() == nil, "one is enough")
    await taken.arrivals(1)
    #expect(!model.isWorking && service.calls.isEmpty)
    taken.open()
    await offer.value
    #expect(service.calls == ["passkey offer to options true"] && model.failure == nil && !model.isWorking)
  }

  @Test func `give way to another way in`() async throws {
    let model = AuthViewModel(fresh: service, passkeys: passkeys())
    let offer = try #require(model.offerPasskeys())
    await taken.arrivals(1)
    let button = model.signInWithPasskey()
    taken.open()
    await offer.value
    await button?.value
    #expect(service.calls == ["passkey sheet to options true"] && model.failure == nil)
  }

  @Test func `return when the other way has failed, or has sent a mail`() async throws {
    let model = AuthViewModel(fresh: service, passkeys: passkeys())
    (model.email, model.password) = ("ada@example.org", "pw")
    model.offerPasskeys()
    service.error = .refused(code: "wrong_credentials", detail: nil)
    await model.submit()?.value
    await taken.arrivals(2)
    service.error = nil
    model.form = .reset
    await model.submit()?.value
    await taken.arrivals(3)
    #expect(model.notice == .resetSent && service.calls.count == 2)
    model.cancel()
    taken.open()
  }

  @Test func `end with the form`() async throws {
    let model = AuthViewModel(fresh: service, passkeys: passkeys())
    let offer = try #require(model.offerPasskeys())
    await taken.arrivals(1)
    model.cancel()
    taken.open()
    await offer.value
    #expect(service.calls.isEmpty && model.failure == nil && !model.isWorking)
  }

  @Test func `are silent where the system has none`() async {
    let model = AuthViewModel(fresh: service, passkeys: ScriptedPasskeys(result: .success("sheet")))
    await model.offerPasskeys()?.value
    #expect(model.failure == nil && service.calls.isEmpty && !model.isWorking)
    #expect(AuthViewModel(fresh: service).offerPasskeys() == nil)
  }

  @Test func `are refused aloud once the user has taken one`() async throws {
    service.error = .refused(code: "passkey_unknown", detail: nil)
    let model = AuthViewModel(fresh: service, passkeys: passkeys())
    let offer = try #require(model.offerPasskeys())
    taken.open()
    await offer.value
    #expect(model.failure?.action == .passkey)
    model.cancel()
  }

  @Test func `are forgotten by the device if no account has them`() async {
    service.options = #"{"challenge":"AQID","rpId":"example.org"}"#
    service.error = .refused(code: "passkey_unknown", detail: nil)
    let passkeys = passkeys(signIn: .success(#"{"id":"AQ"}"#))
    let model = AuthViewModel(fresh: service, passkeys: passkeys)
    await model.signInWithPasskey()?.value
    #expect(passkeys.signals.withLock { $0 } == [.unknown(id: "AQ", domain: "example.org")])
  }

  @Test func `are made without a sheet after a sign-in with a password`() async {
    let passkeys = passkeys()
    let model = AuthViewModel(fresh: service, passkeys: passkeys)
    (model.email, model.password) = ("ada@example.org", "pw")
    await model.submit()?.value
    await model.upgrade?.value
    #expect(service.calls == ["signIn ada@example.org pw true", "add made to new options"])
    #expect(passkeys.signals.withLock { $0 } == [.accepted(ScriptedPasskeyList.of("new"))])
  }

  @Test func `are not made after a refused sign-in, and failing to make one is no failure`() async {
    service.error = .refused(code: "wrong_credentials", detail: nil)
    let refused = AuthViewModel(fresh: service, passkeys: passkeys())
    (refused.email, refused.password) = ("ada@example.org", "pw")
    await refused.submit()?.value
    #expect(refused.upgrade == nil)
    service.error = nil
    let model = AuthViewModel(fresh: service, passkeys: passkeys(add: .failure(.cancelled)))
    (model.email, model.password) = ("ada@example.org", "pw")
    await model.submit()?.value
    await model.upgrade?.value
    #expect(model.failure == nil)
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The passkeys on a settings screen` {
  private let account = ScriptedPasskeyAccount()
  private let source = ScriptedPasskeys(result: .success("proof"), add: .success("made"))
  private var model: PasskeysModel { PasskeysModel(account, source: source) }

  @Test func `are listed, added and removed, and the device is told each time`() async throws {
    let model = model
    await model.load()
    #expect(model.isLoaded && model.passkeys.map(\.id) == ["one", "two"])
    await model.add()
    #expect(model.passkeys.map(\.id) == ["one", "two", "made to options"])
    await model.remove(try #require(model.passkeys.first))
    #expect(model.passkeys.map(\.id) == ["two", "made to options"] && model.failure == nil)
    let told = source.signals.withLock { $0 }.map { signal in
      if case .accepted(let list) = signal { list.passkeys.count } else { -1 }
    }
    #expect(told == [2, 3, 2])
  }

  @Test func `are changed after a proof, by password or passkey`() async throws {
    let model = model
    await model.load()
    account.asksForProof = true
    await model.add()
    #expect(model.needsProof && model.failure == nil && account.ids.count == 2)
    await model.confirm(password: "wrong")
    #expect(model.needsProof && model.failure != nil && account.ids.count == 2)
    await model.confirm(password: "right")
    #expect(!model.needsProof && model.failure == nil && account.ids.count == 3)
    await model.remove(try #require(model.passkeys.first))
    #expect(model.needsProof)
    model.dismissProof()
    await model.confirm(password: "right")
    #expect(account.ids.count == 3, "the user did not want it")
    await model.remove(try #require(model.passkeys.first))
    await model.confirmWithPasskey()
    #expect(account.ids.count == 2 && model.passkeys.count == 2)
  }

  @Test func `stay on the screen when the server cannot be reached`() async {
    let model = model
    await model.load()
    account.error = .requestFailed(.network(.timedOut))
    await model.load()
    #expect(model.passkeys.count == 2 && model.failure != nil && !model.isWorking)
  }
}
