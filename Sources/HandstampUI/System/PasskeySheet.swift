#if canImport(AuthenticationServices) && !os(watchOS)
public import HandstampCore
public import AuthenticationServices
import Foundation
import Handstamp

/// The system's sheet for passkeys. The app needs the associated domain `webcredentials:` with the server's passkey domain.
public struct PasskeySheet: PasskeySource {
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  /// - Parameter anchor: The window over which the sheet is shown.
  public init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

  /// Shows the sheet over the front window. App extensions must pass a window instead.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public init() { self.init(anchor: WindowAnchor.front) }

  @concurrent public func answer(to options: [UInt8]) async throws(SessionError) -> [UInt8] {
    let question = try PasskeyQuestion(options: options)
    let answer: PasskeyAnswer = try await AuthorizationSheet.answer(over: anchor, named: "passkeys") {
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
}
#endif
