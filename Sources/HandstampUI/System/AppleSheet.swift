#if canImport(AuthenticationServices) && !os(watchOS)
public import HandstampCore
public import AuthenticationServices
import Foundation
import Handstamp

/// Apple's sign-in sheet.
public struct AppleSheet: AppleCredentialSource {
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  /// - Parameter anchor: The window over which the sheet is shown.
  public init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

  /// Shows the sheet over the front window. App extensions must pass a window instead.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public init() { self.init(anchor: WindowAnchor.front) }

  @concurrent public func request(nonceHash: String) async throws(SessionError) -> AppleCredential {
    try await AuthorizationSheet.answer(over: anchor, named: "Sign in with Apple") {
      let request = ASAuthorizationAppleIDProvider().createRequest()
      request.requestedScopes = [.fullName, .email]
      request.nonce = nonceHash
      return request
    } reading: { credential in
      guard let credential = credential as? ASAuthorizationAppleIDCredential, let token = credential.identityToken
      else { return nil }
      let name = credential.fullName.map { [$0.givenName, $0.familyName].compactMap { $0 }.joined(separator: " ") }
      return AppleCredential(idToken: Secret(bytes: Array(token)), name: name?.isEmpty == false ? name : nil)
    }
  }
}
#endif
