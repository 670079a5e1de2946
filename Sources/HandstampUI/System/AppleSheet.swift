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
    let (answers, continuation) = AsyncStream.makeStream(of: Result<AppleCredential, SessionError>.self)
    let question = await AppleQuestion(nonceHash, anchor: anchor) { result in
      continuation.yield(result)
      continuation.finish()
    }
    await question.ask()
    // The stream ends without an answer when the task is cancelled.
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
    // Before tvOS 18 the request cannot be cancelled: the sheet stays, and its answer is ignored.
    if #available(tvOS 18, *) { controller.cancel() }
  }

  func authorizationController(
    controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
  ) {
    guard let credential = authorization.credential as? ASAuthorizationAppleIDCredential,
      let token = credential.identityToken
    else { return answer(.failure(.invalidResponse("Apple returned no identity token"))) }
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
#endif
