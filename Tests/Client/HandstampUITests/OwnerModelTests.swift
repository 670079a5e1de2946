import Handstamp
import HandstampTesting
import HandstampUI
import Testing

/// Asks for a proof of certain kinds.
@MainActor private final class ScriptedOwner: OwnerService {
  var accepted: Set<Proof.Kind> = []
  var error: SessionError?
  private(set) var calls: [String] = []

  func proofs() async throws(SessionError) -> Set<Proof.Kind> {
    if let error { throw error }
    return accepted
  }

  func mailProof() async throws(SessionError) { calls.append("mail") }

  func changePassword(to new: String, endingOthers: Bool, proof: Proof?) async throws(SessionError) {
    calls.append("change \(new) \(endingOthers) \(try await text(proof))")
    if let error { throw error }
  }

  func deleteAccount(proof: Proof?) async throws(SessionError) -> SignOutReport {
    calls.append("delete \(try await text(proof))")
    if let error { throw error }
    return SignOutReport()
  }

  private func text(_ proof: Proof?) async throws(SessionError) -> String {
    switch proof {
    case nil: "-"
    case .password(let password, let code):
      password.withExposed { $0 } + (code.map { " " + $0.withExposed { $0 } } ?? "")
    case .mailedCode(let code): "mailed " + code.withExposed { $0 }
    case .apple(let credential): "apple \(credential.nonce.count)"
    case .passkey(let ask): String(decoding: try await ask(Array("options".utf8)), as: UTF8.self)
    @unknown default: "?"
    }
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The form of an account's owner` {
  private let service = ScriptedOwner()

  private func model(_ purpose: OwnerModel.Purpose = .deletion) -> OwnerModel {
    OwnerModel(
      purpose, of: service, apple: ScriptedApple(.success(AppleCredential(idToken: Secret("jwt"), nonce: ""))),
      passkeys: ScriptedPasskeys(result: .success("signed")))
  }

  @Test(arguments: Proof.Kind.allCases)
  func `asks for each proof that the server accepts`(kind: Proof.Kind) async throws {
    service.accepted = [kind]
    let model = model()
    #expect(!model.canSubmit, "before the server was asked")
    await model.load()
    #expect(model.kind == kind)
    (model.password, model.code) = ("pw", "123456")
    await model.submit()
    let expected =
      switch kind {
      case .password: "delete pw"
      case .passwordAndCode: "delete pw 123456"
      case .passkey: "delete signed to options"
      case .apple: "delete apple 43"
      case .mailedCode: "delete mailed 123456"
      // On the server's page.
      case .page: nil as String?
      @unknown default: ""
      }
    #expect(service.calls == (expected.map { [$0] } ?? []))
    #expect(model.isDone == (expected != nil) && (expected == nil || model.password.isEmpty && model.code.isEmpty))
  }

  @Test func `asks a guest for nothing, who has no password to change`() async throws {
    let model = model()
    await model.load()
    #expect(model.kinds.isEmpty && model.canSubmit)
    await model.submit()
    #expect(service.calls == ["delete -"] && model.isDone)
    let change = self.model(.passwordChange)
    await change.load()
    change.newPassword = "new one"
    #expect(!change.canSubmit)
  }

  @Test func `leads to the server's page for what is not possible here`() async throws {
    service.accepted = [.passkey, .apple]
    let model = OwnerModel(.deletion, of: service)
    await model.load()
    #expect(model.kinds == [.page] && !model.canSubmit)
  }

  @Test func `keeps what was typed after a refusal, and asks for a code where the account has got an app`() async throws
  {
    service.accepted = [.password]
    let model = model(.passwordChange)
    await model.load()
    (model.password, model.newPassword, model.endsOthers) = ("old", "new one", false)
    service.error = .refused(code: "wrong_credentials", detail: nil)
    await model.submit()
    #expect(model.failure?.word == .errorWrongCredentials && model.password == "old" && !model.isDone)
    service.error = .refused(code: "second_factor_required", detail: nil)
    await model.submit()
    #expect(model.kind == .passwordAndCode && !model.canSubmit)
    model.code = "123456"
    service.error = nil
    await model.submit()
    #expect(service.calls.last == "change new one false old 123456" && model.isDone)
  }

  @Test func `mails a code on request`() async throws {
    service.accepted = [.mailedCode]
    let model = model()
    await model.load()
    #expect(!model.isMailed && !model.canSubmit)
    await model.mail()
    #expect(model.isMailed && service.calls == ["mail"])
  }

  @Test func `is loaded again after a failure`() async throws {
    service.error = .requestFailed(.network(.timedOut))
    let model = model()
    await model.load()
    #expect(!model.isLoaded && model.failure?.word == .errorUnreachable && !model.canSubmit)
    service.error = nil
    await model.load()
    #expect(model.isLoaded && model.failure == nil && model.canSubmit)
  }
}
