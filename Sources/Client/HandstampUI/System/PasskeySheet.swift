#if canImport(AuthenticationServices) && !os(watchOS)
public import AuthenticationServices
import Foundation
import Handstamp
public import HandstampCore
import HandstampSupport

/// The system's passkeys. The app needs the associated domain `webcredentials:` with the server's passkey domain.
///
/// | request | where |
/// |---|---|
/// | ``PasskeyRequest/signIn``, ``PasskeyRequest/add`` | iOS, macOS, tvOS |
/// | ``PasskeyRequest/offer`` | iOS |
/// | ``PasskeyRequest/upgrade`` | iOS 18, macOS 15 |
/// | ``report(_:)`` | iOS 26.2, macOS 26.2 |
public struct PasskeySheet: PasskeySource {
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  /// - Parameter anchor: The window over which the sheet is shown.
  public init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

  /// Shows the sheet over the front window. App extensions must pass a window instead.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public init() { self.init(anchor: WindowAnchor.front) }

  @concurrent public func answer(
    to options: [UInt8], for request: PasskeyRequest
  ) async throws(SessionError) -> [UInt8] {
    switch request {
    case .signIn: return try await signIn(PasskeyQuestion(options: options), isOffer: false)
    case .offer:
      #if os(macOS) || os(tvOS) || targetEnvironment(macCatalyst)
      throw .unsupported("passkeys at the keyboard")
      #else
      return try await signIn(PasskeyQuestion(options: options), isOffer: true)
      #endif
    case .add: return try await add(NewPasskeyQuestion(options: options), isUpgrade: false)
    case .upgrade: return try await add(NewPasskeyQuestion(options: options), isUpgrade: true)
    }
  }

  private func signIn(_ question: PasskeyQuestion, isOffer: Bool) async throws(SessionError) -> [UInt8] {
    let answer: PasskeyAnswer = try await AuthorizationSheet.answer(over: anchor, named: "passkeys", isOffer: isOffer) {
      let provider = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: question.domain)
      let request = provider.createCredentialAssertionRequest(challenge: Data(question.challenge))
      request.userVerificationPreference = .required
      request.allowedCredentials = question.allowed.map {
        ASAuthorizationPlatformPublicKeyCredentialDescriptor(credentialID: Data($0))
      }
      return request
    } reading: { credential in
      guard let passkey = credential as? ASAuthorizationPlatformPublicKeyCredentialAssertion,
        let data = passkey.rawAuthenticatorData, let signature = passkey.signature, let user = passkey.userID
      else { return nil }
      return PasskeyAnswer(
        id: Array(passkey.credentialID), clientData: Array(passkey.rawClientDataJSON), authenticatorData: Array(data),
        signature: Array(signature), userHandle: Array(user))
    }
    return answer.json
  }

  private func add(_ question: NewPasskeyQuestion, isUpgrade: Bool) async throws(SessionError) -> [UInt8] {
    if isUpgrade {
      #if os(tvOS)
      throw .unsupported("passkeys without a sheet")
      #else
      guard #available(iOS 18, macOS 15, visionOS 2, *) else { throw .unsupported("passkeys without a sheet") }
      #endif
    }
    let answer: PasskeyAnswer = try await AuthorizationSheet.answer(over: anchor, named: "passkeys") {
      let provider = ASAuthorizationPlatformPublicKeyCredentialProvider(relyingPartyIdentifier: question.domain)
      let (challenge, name, user) = (Data(question.challenge), question.userName, Data(question.user))
      let request: ASAuthorizationPlatformPublicKeyCredentialRegistrationRequest
      #if os(tvOS)
      request = provider.createCredentialRegistrationRequest(challenge: challenge, name: name, userID: user)
      #else
      if #available(iOS 18, macOS 15, visionOS 2, *) {
        request = provider.createCredentialRegistrationRequest(
          challenge: challenge, name: name, userID: user, requestStyle: isUpgrade ? .conditional : .standard)
      } else {
        request = provider.createCredentialRegistrationRequest(challenge: challenge, name: name, userID: user)
      }
      if #available(iOS 17.4, visionOS 1.1, *) {
        request.excludedCredentials = question.excluded.map {
          ASAuthorizationPlatformPublicKeyCredentialDescriptor(credentialID: Data($0))
        }
      }
      #endif
      request.userVerificationPreference = .required
      return request
    } reading: { credential in
      guard let passkey = credential as? ASAuthorizationPlatformPublicKeyCredentialRegistration,
        let attestation = passkey.rawAttestationObject
      else { return nil }
      return PasskeyAnswer(
        id: Array(passkey.credentialID), clientData: Array(passkey.rawClientDataJSON), attestation: Array(attestation))
    }
    return answer.json
  }

  @concurrent public func report(_ signal: PasskeySignal) async {
    #if !os(tvOS)
    guard #available(iOS 26.2, macOS 26.2, visionOS 26.2, *) else { return }
    let manager = ASCredentialDataManager()
    switch signal {
    case .unknown(let id, let domain):
      guard let id = Base64URL.decode(id) else { return }
      try? await manager.reportUnknownPublicKeyCredential(relyingPartyIdentifier: domain, credentialID: Data(id))
    case .accepted(let list):
      try? await manager.reportAllAcceptedPublicKeyCredentials(
        relyingPartyIdentifier: list.domain, userHandle: Data(list.user),
        acceptedCredentialIDs: list.passkeys.compactMap { Base64URL.decode($0.id).map { Data($0) } })
    }
    #endif
  }
}
#endif
