package import HandstampCore

// The error codes of the system's sign-in sheets, on every platform, so that the tests run on all of them.

extension SessionError {
  /// The session error for an `ASAuthorizationError` code.
  ///
  /// - Parameters:
  ///   - feature: what was asked for.
  ///   - isAway: whether the app was in the background.
  package init(appleAuthorization code: Int, _ feature: String = "Sign in with Apple", isAway: Bool = false) {
    switch code {
    case 1001: self = isAway ? .redirect(.unavailable(SheetWatch.words)) : .cancelled
    case 1003: self = .unsupported(feature)
    case 1002: self = .invalidResponse("unexpected response from Apple")
    // 1000, 1004, 1005 (unknown, failed, notInteractive) are reported also when the device is not signed in to iCloud.
    default: self = .requestFailed(.network(.notConnected("\(feature), error \(code)")))
    }
  }
}

extension RedirectError {
  /// The redirect error for an `ASWebAuthenticationSession` error code.
  package init(webAuthentication code: Int, isAway: Bool = false) {
    switch code {
    case 1: self = isAway ? .unavailable(SheetWatch.words) : .cancelled
    case 2, 3: self = .unavailable("there is no window to show the sign-in page over")
    default: self = .unavailable("the sign-in page ended with error \(code)")
    }
  }
}
