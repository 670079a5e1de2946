import Foundation
public import Handstamp

extension SessionManager {
  /// A session for previews, in memory and without a network: signed in from the beginning, or signed out for `nil`. Any sign-in
  /// succeeds.
  ///
  /// ```swift
  /// #Preview { Home().environment(SessionManager.preview(signedInAs: "ada", content: Content(me: .ada))) }
  /// ```
  /// Every call of `api` fails as without a network: views take their content as a value.
  ///
  /// - Parameters:
  ///   - name: The account's ID; with a capital, its name.
  ///   - content: What the app's `load` would return.
  public static func preview(signedInAs name: String?, content: Content) -> SessionManager {
    SessionManager(
      backend: PreviewBackend(), vault: MemoryVault(name.map { VaultEntry(preview: $0) } ?? VaultEntry()),
      baseURL: URL(string: "https://preview.invalid") ?? URL(fileURLWithPath: "/"), transport: NoNetwork(),
      apiOptions: APIClient.Options(retryPolicy: RetryPolicy(attempts: 1))
    ) { _ in content }
  }

  #if DEBUG
  /// The session that a UI test asks for with a launch argument, in memory and without a network; `nil` without the argument.
  ///
  /// ```swift
  /// app.launchArguments += ["-handstamp-state", "signed-in:ada"]   // in the test; or "signed-out"
  /// ```
  /// The function exists in debug builds only, and so does the argument: the app calls it inside `#if DEBUG`, and a released app
  /// cannot be started with a session of a caller's choice.
  ///
  /// - Parameters:
  ///   - arguments: `nil` (the default) for those of the process.
  ///   - content: What the app's `load` would return.
  public static func forUITests(
    _ arguments: [String]? = nil, content: Content
  ) -> SessionManager? {
    let arguments = arguments ?? ProcessInfo.processInfo.arguments
    guard let place = arguments.firstIndex(of: "-handstamp-state"), arguments.indices.contains(place + 1) else {
      return nil
    }
    let state = arguments[place + 1]
    if state == "signed-out" { return preview(signedInAs: nil, content: content) }
    let prefix = "signed-in:"
    guard state.hasPrefix(prefix), state != prefix else { return nil }
    return preview(signedInAs: String(state.dropFirst(prefix.count)), content: content)
  }
  #endif
}

extension VaultEntry {
  /// A session that is signed in.
  fileprivate init(preview name: String) {
    let clock = SystemClock()
    self.init(
      revision: 1,
      session: StoredSession(
        id: SessionID("preview"), profile: PreviewBackend.profile(of: name), refresh: RefreshToken("preview-refresh"),
        revocation: nil, access: nil, startedAt: clock.now(), activeAt: clock.now()))
  }
}

private struct NoNetwork: Transport {
  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    throw .notConnected("a preview has no network")
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .notConnected("a preview has no network")
  }
}
