import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

/// Of the forms that ask for a code: a code without a letter or digit is none.
@MainActor @Suite(.timeLimit(.minutes(10))) struct `A typed code` {
  nonisolated static let empty = ["", " \n\t", "---", " \u{2010} ", "\u{200B}\u{2060}", "\u{3164}"]

  @Test(arguments: empty)
  func `of which nothing is left is not submitted`(code: String) {
    let model = AuthViewModel(fresh: ScriptedAuth())
    (model.email, model.password, model.code) = ("ada@example.org", "correct horse", code)
    for form in [AuthViewModel.Form.secondFactor, .confirm] {
      model.form = form
      #expect(!model.canSubmit && model.submit() == nil)
    }
    model.code = "\u{200B}1-2 "
    #expect(model.canSubmit)
  }

  @Test(arguments: [Proof.Kind.passwordAndCode, .mailedCode], empty)
  func `of which nothing is left proves nothing`(kind: Proof.Kind, code: String) async {
    let model = OwnerModel(.deletion, of: OneProof(kind: kind))
    await model.load()
    (model.password, model.code) = ("pw", code)
    #expect(model.kind == kind && !model.canSubmit)
    model.code = " hsl1.a-b "
    #expect(model.canSubmit)
  }

  @Test(arguments: empty)
  func `of which nothing is left ends no device`(code: String) async {
    let tv = DeviceSession(
      id: "tv", isCurrent: false, name: "tv", platform: "tvOS", startedAt: UnixTime(milliseconds: 0),
      lastSeenAt: UnixTime(milliseconds: 0))
    let service = ScriptedDevices([tv])
    let model = DevicesModel(service)
    await model.load()
    service.content.withLock {
      $0.error = .refused(code: "reauthentication_required", detail: nil)
      ($0.password, $0.asksForCode) = (Secret("right"), true)
    }
    await model.end(tv)
    await model.confirm(password: "right", code: code)
    #expect(model.needsCode && service.content.withLock { $0.codes } == [nil], "as without a code")
    await model.confirm(password: "right", code: code)
    #expect(model.needsPassword && service.content.withLock { $0.codes.count } == 1)
    await model.confirm(password: "right", code: " 123-456\n")
    #expect(service.content.withLock { $0.codes } == [nil, Secret("123-456")] && model.devices.isEmpty)
  }

  @Test(arguments: empty)
  func `of which nothing is left removes no passkey`(code: String) async throws {
    let account = ScriptedPasskeyAccount()
    let model = PasskeysModel(account, source: ScriptedPasskeys(result: .success("x")))
    await model.load()
    (account.asksForProof, account.asksForCode) = (true, true)
    await model.remove(try #require(model.passkeys.first))
    await model.confirm(password: "right", code: code)
    #expect(model.needsCode && account.codes == [nil], "as without a code")
    await model.confirm(password: "right", code: code)
    #expect(model.needsProof && account.codes.count == 1)
    await model.confirm(password: "right", code: " 123-456\n")
    #expect(account.codes == [nil, Secret("123-456")] && !model.needsProof && model.passkeys.count == 1)
  }
}

/// Accepts one kind of proof.
@MainActor private final class OneProof: OwnerService {
  private let kind: Proof.Kind
  init(kind: Proof.Kind) { self.kind = kind }

  func proofs() async throws(SessionError) -> Set<Proof.Kind> { [kind] }
  func mailProof() async throws(SessionError) {}
  func changePassword(to new: String, endingOthers: Bool, proof: Proof?) async throws(SessionError) {}
  func deleteAccount(proof: Proof?) async throws(SessionError) -> SignOutReport { SignOutReport() }
}
