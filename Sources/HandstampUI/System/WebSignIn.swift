#if canImport(AuthenticationServices) && !os(watchOS)
public import HandstampCore
public import AuthenticationServices
import Foundation

/// Shows a server's sign-in page in the system's browser sheet, which shares no memory with the app.
public struct WebSignIn: RedirectReceiver {
  /// Whether the browser session is private. If so, existing sign-ins in the browser are not available either.
  public var isEphemeral: Bool
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  /// - Parameter anchor: The window over which the sheet is shown.
  public init(isEphemeral: Bool = false, anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor) {
    self.isEphemeral = isEphemeral
    self.anchor = anchor
  }

  /// Shows the sheet over the front window. App extensions must pass a window instead.
  @available(iOSApplicationExtension, unavailable)
  @available(tvOSApplicationExtension, unavailable)
  @available(visionOSApplicationExtension, unavailable)
  public init(isEphemeral: Bool = false) {
    self.init(isEphemeral: isEphemeral, anchor: WindowAnchor.front)
  }

  @concurrent public func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret {
    guard let url = URL(string: authorizationURL), url.scheme == "https" || url.scheme == "http" else {
      throw .unavailable("the URL of the sign-in page is invalid")
    }
    let (answers, continuation) = AsyncStream.makeStream(of: Result<Secret, RedirectError>.self)
    let sheet = await WebSheet(url, callbackScheme, isEphemeral: isEphemeral, anchor: anchor) { result in
      continuation.yield(result)
      continuation.finish()
    }
    guard await sheet.show() else { throw .unavailable("the sign-in page cannot be shown now") }
    // The stream ends without an answer when the task is cancelled.
    for await answer in answers { return try answer.get() }
    await sheet.close()
    throw .cancelled
  }
}

@MainActor private final class WebSheet: NSObject {
  private let session: ASWebAuthenticationSession
  private let anchor: @MainActor @Sendable () -> ASPresentationAnchor

  init(
    _ url: URL, _ scheme: String, isEphemeral: Bool,
    anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor,
    _ answer: @escaping @Sendable (Result<Secret, RedirectError>) -> Void
  ) {
    self.anchor = anchor
    session = ASWebAuthenticationSession(url: url, callbackURLScheme: scheme) { @Sendable callback, error in
      if let callback {
        answer(.success(Secret(callback.absoluteString)))
      } else {
        answer(.failure(RedirectError(webAuthentication: error.map { ($0 as NSError).code } ?? 0)))
      }
    }
    super.init()
    #if !os(tvOS)
    session.prefersEphemeralWebBrowserSession = isEphemeral
    session.presentationContextProvider = self
    #endif
  }

  func show() -> Bool { session.start() }
  func close() { session.cancel() }
}

#if !os(tvOS)
extension WebSheet: ASWebAuthenticationPresentationContextProviding {
  func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { anchor() }
}
#endif
#endif
