#if canImport(AuthenticationServices) && !os(watchOS)
public import AuthenticationServices
import Foundation
import Handstamp
public import HandstampCore

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

  @concurrent public func request(_ nonce: AppleNonce) async throws(SessionError) -> AppleCredential {
    try await AuthorizationSheet.answer(over: anchor, named: "Sign in with Apple") {
      let request = ASAuthorizationAppleIDProvider().createRequest()
      request.requestedScopes = [.fullName, .email]
      request.nonce = nonce.hash
      return request
    } reading: { credential in
      guard let credential = credential as? ASAuthorizationAppleIDCredential, let token = credential.identityToken
      else { return nil }
      let name = credential.fullName.map { [$0.givenName, $0.familyName].compactMap { $0 }.joined(separator: " ") }
      return AppleCredential(
        idToken: Secret(bytes: Array(token)), nonce: nonce.raw, name: name?.isEmpty == false ? name : nil,
        authorizationCode: credential.authorizationCode.map { Secret(bytes: Array($0)) }, user: credential.user)
    }
  }

  /// Returns whether a user's credential may still be used here: not after the user has taken the app off the list in the settings of
  /// the device. `true` if Apple does not say now. ``AuthGuardView`` asks at each launch; an app with views of its own keeps
  /// ``AppleCredential/user``, and signs out if it may not.
  public static func isValid(_ user: String) async -> Bool {
    let state = try? await ASAuthorizationAppleIDProvider().credentialState(forUserID: user)
    // Not found: another Apple account is in use on the device.
    return state != .revoked
  }
}
#endif
