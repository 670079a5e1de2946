#if canImport(AuthenticationServices) && !os(watchOS)
public import HandstampCore
public import AuthenticationServices
import Foundation

/// Shows a server's sign-in page, or the page that signs out of the browser, in the system's browser sheet, which shares no memory
/// with the app.
///
/// The redirect URI has a scheme of the app's own, or is an `https` URL of a website that lists the app under *Associated Domains*
/// (`webcredentials:`), which no other app can capture: see ``redirectURI(https:else:)``.
public struct WebSignIn: RedirectReceiver {
  /// Whether the browser session is private. Then existing sign-ins in the browser are not available, and none remains in it. A
  /// shared one signs in without a password where the browser is signed in, until the user signs out there.
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

  /// Returns the redirect URI for this system: `https` from iOS 17.4, macOS 14.4 and visionOS 1.1 on, and otherwise the one with
  /// the app's own scheme. Both are registered at the server.
  public static func redirectURI(https: String, else custom: String) -> String {
    #if !os(tvOS)
    if #available(iOS 17.4, macOS 14.4, visionOS 1.1, *) { return https }
    #endif
    return custom
  }

  @concurrent public func receive(
    from authorizationURL: String, callbackScheme: String
  ) async throws(RedirectError) -> Secret {
    guard let url = URL(string: authorizationURL), url.scheme == "https" || url.scheme == "http" else {
      throw .unavailable("the URL of the sign-in page is invalid")
    }
    let expected = try WebCallback(callbackScheme, page: authorizationURL)
    let (answers, continuation) = AsyncStream.makeStream(of: Result<Secret, RedirectError>.self)
    let sheet = await WebSheet(url, expected, isEphemeral: isEphemeral, anchor: anchor) { result in
      continuation.yield(result)
      continuation.finish()
    }
    guard let sheet else { throw .unavailable("this system cannot return to the app from an https URL") }
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

  /// - Returns: `nil` if the system cannot wait for that redirect.
  init?(
    _ url: URL, _ expected: WebCallback, isEphemeral: Bool,
    anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor,
    _ answer: @escaping @Sendable (Result<Secret, RedirectError>) -> Void
  ) {
    self.anchor = anchor
    let watch = SheetWatch.ofApp
    let completion: @Sendable (URL?, (any Error)?) -> Void = { callback, error in
      if let callback {
        answer(.success(Secret(callback.absoluteString)))
      } else {
        let code = error.map { ($0 as NSError).code } ?? 0
        answer(.failure(RedirectError(webAuthentication: code, isAway: watch?.isAway == true)))
      }
    }
    switch expected {
    case .scheme(let scheme):
      session = ASWebAuthenticationSession(url: url, callbackURLScheme: scheme, completionHandler: completion)
    case .https(let host, let path):
      #if os(tvOS)
      return nil
      #else
      guard #available(iOS 17.4, macOS 14.4, visionOS 1.1, *) else { return nil }
      session = ASWebAuthenticationSession(
        url: url, callback: .https(host: host, path: path), completionHandler: completion)
      #endif
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
