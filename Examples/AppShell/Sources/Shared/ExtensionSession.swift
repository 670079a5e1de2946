import Foundation
import Handstamp

/// The app's session, as its extensions and intents use it: requests, without views and without sign-in.
///
/// The system may suspend an extension as soon as its work is done. So it holds a refresh lock only while a request is in flight;
/// otherwise it would be terminated, and the app would wait for the lock.
final class ExtensionSession {
  static let shared = ExtensionSession()

  private let session: SessionManager<Void>
  private let life: SessionLifeCycle
  private var requests = 0

  private init() {
    session = SessionManager(
      backend: Forum.server(), vault: Forum.vault(), baseURL: Forum.url,
      // No timers, which would not run in a suspended program.
      policy: .onRejection,
      // To the system's log: one line for every decision of the session.
      logger: .system(Forum.name))
    life = SessionLifeCycle(for: session)
  }

  /// - Returns: `nil` if no user is signed in: say so, and that the app signs in.
  /// - Throws: If it is not known now, or there is no network: keep showing what you have.
  func unread() async throws(APIError) -> Unread? {
    begin()
    defer { end() }
    do throws(APIError) {
      return try await session.api.get("/v1/unread")
    } catch {
      guard error.recovery == .signIn else { throw error }
      return nil
    }
  }

  /// - Returns: Whether a user is signed in, for whom the server has the post.
  func send(_ post: NewPost) async throws(APIError) -> Bool {
    begin()
    defer { end() }
    do throws(APIError) {
      try await session.api.post("/v1/posts", body: post)
      return true
    } catch {
      guard error.recovery == .signIn else { throw error }
      return false
    }
  }

  private func begin() {
    if requests == 0 { life.didEnterForeground() }
    requests += 1
  }

  private func end() {
    requests -= 1
    if requests == 0 { life.didEnterBackground() }
  }
}

/// The text of an extension for a user who is signed out. Only the app signs in.
nonisolated struct SignedOut: LocalizedError {
  var errorDescription: String? { "Open the app to sign in." }
}
