public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Something that an app clears away when a session ends.
///
/// It is done behind the fence, after the tombstone is written and the end is published; a program that dies before it is
/// done does it at its next launch. So it may be done twice, and must be harmless then.
public struct CleanupStep: Sendable {
  public let cleanup: Cleanup
  let run: @Sendable (EndedSession) async throws -> Void

  /// - Parameters:
  ///   - name: stands in the vault until the step is done; keep it the same between releases.
  ///   - scope: which sign-out plans include it.
  public init(
    _ name: String, _ scope: CleanupScope, run: @escaping @Sendable (EndedSession) async throws -> Void
  ) {
    cleanup = Cleanup(name, scope)
    self.run = run
  }
}

extension CleanupStep {
  /// Removes a folder, or a file, with all that is in it. That there is none is fine.
  public static func removal(of url: URL, _ name: String, _ scope: CleanupScope) -> CleanupStep {
    CleanupStep(name, scope) { _ in
      do { try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile {}
    }
  }

  /// Empties a URL cache.
  public static func urlCache(_ cache: @escaping @Sendable () -> URLCache = { .shared }) -> CleanupStep {
    CleanupStep("url_cache", .requestCache) { _ in cache().removeAllCachedResponses() }
  }

  /// Removes the cookies that would be sent to `url` from the process-wide jar.
  public static func cookies(of url: URL) -> CleanupStep {
    CleanupStep("cookies", .cookies) { _ in
      let jar = HTTPCookieStorage.shared
      for cookie in jar.cookies(for: url) ?? [] { jar.deleteCookie(cookie) }
    }
  }

  /// Cancels everything that a `URLSession` of the app carries, such as transfers in the background: their requests hold a
  /// token of the session that ended.
  public static func transfers(of session: @escaping @Sendable () -> URLSession) -> CleanupStep {
    CleanupStep("transfers", .always) { _ in
      await withCheckedContinuation { done in
        session().getAllTasks { tasks in
          for task in tasks { task.cancel() }
          done.resume()
        }
      }
    }
  }

  /// Removes the preferences whose keys begin with `prefix`, such as `account.`.
  public static func preferences(prefix: String, suite: String? = nil) -> CleanupStep {
    CleanupStep("preferences", .preferences) { _ in
      guard let preferences = suite.map({ UserDefaults(suiteName: $0) }) ?? .standard else { return }
      for key in preferences.dictionaryRepresentation().keys where key.hasPrefix(prefix) {
        preferences.removeObject(forKey: key)
      }
    }
  }
}

/// What became of clean-up steps, by their names.
public struct CleanupReport: Sendable, Hashable {
  public var cleared: [String] = []
  /// The step and the type of its error. It is tried again, also at the next launch.
  public var failed: [String: String] = [:]
  /// Still under way when the wait was over.
  public var unfinished: [String] = []

  public init() {}
}
