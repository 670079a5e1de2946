public import Handstamp
public import Observation

/// The model of a screen with the account's passkeys: lists them, adds one of this device, and removes others.
///
/// Every list goes to the device's password managers as well, so that they stop offering a passkey that was removed.
@MainActor @Observable
public final class PasskeysModel {
  /// The oldest first.
  public private(set) var passkeys: [PasskeyList.Passkey] = []
  /// Whether the list has been loaded once.
  public private(set) var isLoaded = false
  /// The reason that the last attempt failed. The last known list is still shown.
  public private(set) var failure: Wording?
  public private(set) var isWorking = false
  /// Whether the last attempt was refused because the sign-in was too long ago: ask for the password, then call
  /// ``confirm(password:code:)``, or ``confirmWithPasskey()``.
  public private(set) var needsProof = false
  /// Whether the account has an authenticator app: ask for its code as well as for the password.
  public private(set) var needsCode = false

  private enum Attempt {
    case add
    case remove(String)
  }

  /// The refused attempt, to be repeated.
  @ObservationIgnored private var refused: Attempt?
  @ObservationIgnored private let service: any PasskeysService
  @ObservationIgnored private let source: any PasskeySource

  /// - Parameters:
  ///   - service: The app's `SessionManager`.
  ///   - source: The device's passkeys, such as `PasskeySheet()`.
  public init(_ service: any PasskeysService, source: any PasskeySource) {
    self.service = service
    self.source = source
  }

  public func load() async {
    await perform { [service] () async throws(SessionError) in try await service.passkeys() }
  }

  /// Adds a passkey of this device.
  public func add() async { await attempt(.add, proof: nil) }

  public func remove(_ passkey: PasskeyList.Passkey) async { await attempt(.remove(passkey.id), proof: nil) }

  /// Proves with the password that the user is the account's owner, and repeats what was refused.
  ///
  /// - Parameter code: the code of an authenticator app. One without a letter or digit counts as none, and if ``needsCode``
  ///   nothing is sent.
  public func confirm(password: String, code: String = "") async {
    guard !needsCode || code.typedCode != nil else { return }
    await confirm(.password(Secret(password), code: code.typedCode.map { Secret($0) }))
  }

  /// The same with a passkey, for an account without a password.
  public func confirmWithPasskey() async {
    await confirm(
      .passkey { [source] options throws(SessionError) in try await source.answer(to: options, for: .signIn) })
  }

  /// The user does not want to prove it.
  public func dismissProof() {
    needsProof = false
    refused = nil
  }

  /// Proves it, in one of the ways of `SessionManager.proofs()`, and repeats what was refused.
  public func confirm(_ proof: Proof) async {
    guard let refused else { return }
    let shown: AccessToken
    do throws(SessionError) { shown = try await service.reauthenticate(proof) } catch {
      if case .refused(code: "second_factor_required", _) = error { needsCode = true }
      failure = Wording(error)
      return
    }
    dismissProof()
    await attempt(refused, proof: shown)
  }

  private func attempt(_ attempt: Attempt, proof: AccessToken?) async {
    let isRefused = await perform { [service, source] () async throws(SessionError) in
      switch attempt {
      case .add:
        try await service.addPasskey(proof: proof) { options throws(SessionError) in
          try await source.answer(to: options, for: .add)
        }
      case .remove(let id): try await service.removePasskey(id, proof: proof)
      }
    }
    guard isRefused else { return }
    refused = attempt
    needsProof = true
  }

  /// Shows the list that `body` returns, or its failure.
  ///
  /// - Returns: whether a proof is missing.
  @discardableResult
  private func perform(_ body: () async throws(SessionError) -> PasskeyList) async -> Bool {
    guard !isWorking else { return false }
    isWorking = true
    defer { isWorking = false }
    let list: PasskeyList
    do throws(SessionError) { list = try await body() } catch {
      if case .refused(code: "reauthentication_required", _) = error { return true }
      failure = Wording(error)
      return false
    }
    passkeys = list.passkeys
    isLoaded = true
    failure = nil
    await source.report(.accepted(list))
    return false
  }
}

/// The passkeys of the signed-in account: a `SessionManager`, or a stand-in for previews and tests.
@MainActor public protocol PasskeysService: AnyObject {
  /// The oldest first.
  func passkeys() async throws(SessionError) -> PasskeyList

  /// - Parameter proof: the token of a ``reauthenticate(_:)``; `nil` for the session's own.
  func addPasskey(proof: AccessToken?, asking ask: PasskeyPrompt) async throws(SessionError) -> PasskeyList

  func removePasskey(_ id: String, proof: AccessToken?) async throws(SessionError) -> PasskeyList

  /// Proves that the user is the account's owner, after a function was refused with `reauthentication_required`.
  func reauthenticate(_ proof: Proof) async throws(SessionError) -> AccessToken
}

extension SessionManager: PasskeysService {}
