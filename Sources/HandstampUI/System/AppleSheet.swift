#if canImport(AuthenticationServices) && !os(watchOS)
public import HandstampCore
public import AuthenticationServices
import Foundation
public import Handstamp

/// Apple's sheet.
public struct AppleSheet: AppleCredentialSource {
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  /// - Parameter anchor: the window over which the sheet is shown.
  public init(anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) { self.anchor = anchor }

  /// Over the window in front; an app's extension, which has none, names one.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public init() { self.init(anchor: WindowAnchor.front) }

  @concurrent public func request(nonceHash: String) async throws(SessionError) -> AppleCredential {
    let (answers, continuation) = AsyncStream.makeStream(of: Result<AppleCredential, SessionError>.self)
    let question = await AppleQuestion(nonceHash, anchor: anchor) { result in
      continuation.yield(result)
      continuation.finish()
    }
    await question.ask()
    // Ends without an answer when its task is cancelled.
    for await answer in answers { return try answer.get() }
    await question.takeBack()
    throw .cancelled
  }
}

@MainActor private final class AppleQuestion: NSObject, ASAuthorizationControllerDelegate {
  private let controller: ASAuthorizationController
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor
  private let answer: @Sendable (Result<AppleCredential, SessionError>) -> Void

  init(
    _ nonceHash: String, anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor,
    _ answer: @escaping @Sendable (Result<AppleCredential, SessionError>) -> Void
  ) {
    let request = ASAuthorizationAppleIDProvider().createRequest()
    request.requestedScopes = [.fullName, .email]
    request.nonce = nonceHash
    controller = ASAuthorizationController(authorizationRequests: [request])
    self.anchor = anchor
    self.answer = answer
    super.init()
    controller.delegate = self
    #if !os(tvOS)
    controller.presentationContextProvider = self
    #endif
  }

  func ask() { controller.performRequests() }

  func takeBack() {
    // Before tvOS 18 it cannot be taken back: the sheet stays, and what it answers is nobody's.
    if #available(tvOS 18, *) { controller.cancel() }
  }

  func authorizationController(
    controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
  ) {
    guard let credential = authorization.credential as? ASAuthorizationAppleIDCredential,
      let token = credential.identityToken
    else { return answer(.failure(.invalidAnswer("Apple gave no identity token"))) }
    let name = credential.fullName.map {
      [$0.givenName, $0.familyName].compactMap { $0 }.joined(separator: " ")
    }
    answer(
      .success(AppleCredential(idToken: Secret(bytes: Array(token)), name: name?.isEmpty == false ? name : nil)))
  }

  func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
    answer(.failure(SessionError(appleAuthorization: (error as NSError).code)))
  }
}

#if !os(tvOS)
extension AppleQuestion: ASAuthorizationControllerPresentationContextProviding {
  func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor { anchor() }
}
#endif
#else
package import HandstampCore
#endif

extension SessionError {
  /// What an `ASAuthorizationError` means, by its code.
  package init(appleAuthorization code: Int) {
    switch code {
    case 1001: self = .cancelled
    case 1003: self = .unsupported("Sign in with Apple")
    case 1002: self = .invalidAnswer("Apple's answer makes no sense")
    // unknown, failed, notInteractive: also when nobody is signed in to iCloud on the device.
    case 1000, 1004, 1005: self = .unreachable(retryAfter: nil)
    default: self = .unreachable(retryAfter: nil)
    }
  }
}
