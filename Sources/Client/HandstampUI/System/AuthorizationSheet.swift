#if canImport(AuthenticationServices) && !os(watchOS)
import AuthenticationServices
import Foundation
import Handstamp

/// A sheet of the system that asks the user for a credential.
enum AuthorizationSheet {
  /// Shows the sheet, and returns what `read` makes of its credential. A cancelled task closes it.
  ///
  /// - Parameters:
  ///   - feature: what is asked for, in errors.
  ///   - isOffer: whether to show it above the keyboard, instead of a sheet, and wait until the user takes it.
  ///   - read: returns `nil` for a credential that was not asked for.
  @concurrent static func answer<Answer: Sendable>(
    over anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor, named feature: String,
    isOffer: Bool = false,
    asking request: @escaping @MainActor @Sendable () -> ASAuthorizationRequest,
    reading read: @escaping @MainActor @Sendable (any ASAuthorizationCredential) -> Answer?
  ) async throws(SessionError) -> Answer {
    let (answers, continuation) = AsyncStream.makeStream(of: Result<Answer, SessionError>.self)
    let watch = SheetWatch.ofApp
    let question = await AuthorizationQuestion(request, anchor: anchor) { credential in
      let answer = read(credential)
      continuation.yield(answer.map { .success($0) } ?? .failure(.invalidResponse("no credential: \(feature)")))
      continuation.finish()
    } failed: { code in
      continuation.yield(.failure(SessionError(appleAuthorization: code, feature, isAway: watch?.isAway == true)))
      continuation.finish()
    }
    await question.ask(isOffer: isOffer)
    // The stream ends without an answer when the task is cancelled.
    for await answer in answers { return try answer.get() }
    await question.takeBack()
    throw .cancelled
  }
}

@MainActor private final class AuthorizationQuestion: NSObject, ASAuthorizationControllerDelegate {
  private let controller: ASAuthorizationController
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor
  private let answered: @MainActor (any ASAuthorizationCredential) -> Void
  private let failed: @MainActor (_ code: Int) -> Void

  init(
    _ request: @MainActor () -> ASAuthorizationRequest,
    anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor,
    answered: @escaping @MainActor (any ASAuthorizationCredential) -> Void,
    failed: @escaping @MainActor (_ code: Int) -> Void
  ) {
    controller = ASAuthorizationController(authorizationRequests: [request()])
    self.anchor = anchor
    self.answered = answered
    self.failed = failed
    super.init()
    controller.delegate = self
    #if !os(tvOS)
    controller.presentationContextProvider = self
    #endif
  }

  func ask(isOffer: Bool) {
    #if os(macOS) || os(tvOS) || targetEnvironment(macCatalyst)
    controller.performRequests()
    #else
    if isOffer { controller.performAutoFillAssistedRequests() } else { controller.performRequests() }
    #endif
  }

  func takeBack() {
    // Before tvOS 18 the request cannot be cancelled: the sheet stays, and its answer is ignored.
    if #available(tvOS 18, *) { controller.cancel() }
  }

  func authorizationController(
    controller: ASAuthorizationController, didCompleteWithAuthorization authorization: ASAuthorization
  ) { answered(authorization.credential) }

  func authorizationController(controller: ASAuthorizationController, didCompleteWithError error: any Error) {
    failed((error as NSError).code)
  }
}

#if !os(tvOS)
extension AuthorizationQuestion: ASAuthorizationControllerPresentationContextProviding {
  func presentationAnchor(for controller: ASAuthorizationController) -> ASPresentationAnchor { anchor() }
}
#endif
#endif
