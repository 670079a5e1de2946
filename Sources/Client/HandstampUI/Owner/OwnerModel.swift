public import Handstamp
public import Observation

/// The model of ``DeleteAccountView`` and ``ChangePasswordView``: asks for a proof that the server accepts of this account, and does what
/// its owner wants.
@MainActor @Observable
public final class OwnerModel {
  public enum Purpose: Sendable, Hashable, CaseIterable { case deletion, passwordChange }

  public let purpose: Purpose
  /// The proofs that the server accepts, in the order of a form; empty for a guest, who has none, and before ``load()``.
  public private(set) var kinds: [Proof.Kind] = []
  /// The one that the form asks for.
  public var kind: Proof.Kind?
  public var password = ""
  /// Of an authenticator app, or of the mail.
  public var code = ""
  public var newPassword = ""
  /// Whether a new password ends the account's sessions on other devices.
  public var endsOthers = true
  public private(set) var isLoaded = false
  public private(set) var isWorking = false
  /// Whether a code was mailed.
  public private(set) var isMailed = false
  public private(set) var isDone = false
  public private(set) var failure: Wording?

  @ObservationIgnored private let service: any OwnerService
  @ObservationIgnored private let apple: (any AppleCredentialSource)?
  @ObservationIgnored private let passkeys: (any PasskeySource)?

  /// - Parameters:
  ///   - apple: Shows Apple's sheet; without it such a proof counts as one for the server's page.
  ///   - passkeys: The device's passkeys; likewise.
  public init(
    _ purpose: Purpose, of service: any OwnerService, apple: (any AppleCredentialSource)? = nil,
    passkeys: (any PasskeySource)? = nil
  ) {
    self.purpose = purpose
    self.service = service
    self.apple = apple
    self.passkeys = passkeys
  }

  /// Asks the server what it accepts. The view calls it when it appears.
  public func load() async {
    await perform { () async throws(SessionError) in
      let accepted = try await service.proofs()
      kinds = Proof.Kind.allCases.filter { accepted.contains($0) && isPossible($0) }
      // The page takes proofs that are not possible here.
      if kinds.isEmpty, !accepted.isEmpty { kinds = [.page] }
      kind = kind.flatMap { kinds.contains($0) ? $0 : nil } ?? kinds.first
      isLoaded = true
    }
  }

  private func isPossible(_ kind: Proof.Kind) -> Bool {
    switch kind {
    case .password, .passwordAndCode, .mailedCode, .page: true
    case .passkey: passkeys != nil
    case .apple: apple != nil
    }
  }

  /// Whether the form is filled in.
  public var canSubmit: Bool {
    guard isLoaded, !isWorking, !isDone, purpose == .deletion || !newPassword.isEmpty else { return false }
    return switch kind {
    // A guest has no password to change.
    case nil: purpose == .deletion
    case .password?: !password.isEmpty
    case .passwordAndCode?: !password.isEmpty && code.typedCode != nil
    case .mailedCode?: code.typedCode != nil
    case .passkey?, .apple?: true
    case .page?: false
    }
  }

  /// Mails a code to the account's address.
  public func mail() async {
    await perform { () async throws(SessionError) in
      try await service.mailProof()
      isMailed = true
    }
  }

  public func submit() async {
    guard canSubmit else { return }
    await perform { () async throws(SessionError) in
      let proof = try await proof()
      switch purpose {
      case .deletion: try await service.deleteAccount(proof: proof)
      case .passwordChange:
        try await service.changePassword(to: newPassword, endingOthers: endsOthers, proof: proof)
      }
      (isDone, password, newPassword, code) = (true, "", "", "")
    }
  }

  private func proof() async throws(SessionError) -> Proof? {
    let code = code.typedCode ?? ""
    switch kind {
    case .password?: return .password(Secret(password))
    case .passwordAndCode?: return .password(Secret(password), code: Secret(code))
    case .mailedCode?: return .mailedCode(Secret(code))
    case .apple?:
      guard let apple else { return nil }
      return .apple(try await apple.credential())
    case .passkey?:
      return passkeys.map { source in
        .passkey { options throws(SessionError) in try await source.answer(to: options, for: .signIn) }
      }
    case .page?, nil: return nil
    }
  }

  private func perform(_ body: () async throws(SessionError) -> Void) async {
    guard !isWorking else { return }
    isWorking = true
    defer { isWorking = false }
    do throws(SessionError) {
      try await body()
      failure = nil
    } catch {
      // The account has got an authenticator app meanwhile.
      if case .refused(code: "second_factor_required", _) = error, kind == .password {
        (kinds, kind) = ([.passwordAndCode], .passwordAndCode)
      }
      failure = Wording(error)
    }
  }
}

/// The functions that are the account owner's alone: of a `SessionManager`, or of a stand-in for previews and tests.
@MainActor public protocol OwnerService: AnyObject {
  /// How the owner can prove to be that; empty for a guest.
  func proofs() async throws(SessionError) -> Set<Proof.Kind>
  /// Mails a code for ``Proof/mailedCode(_:)``.
  func mailProof() async throws(SessionError)
  func changePassword(to new: String, endingOthers: Bool, proof: Proof?) async throws(SessionError)
  @discardableResult func deleteAccount(proof: Proof?) async throws(SessionError) -> SignOutReport
}

extension SessionManager: OwnerService {}
