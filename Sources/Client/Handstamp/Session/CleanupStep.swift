public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// A step that erases an app's data when a session ends.
///
/// It runs after the end is published; if the program exits before it is done, it runs at the next launch. So it may
/// run twice, and must be harmless then.
public struct CleanupStep: Sendable {
  package var cleanup: Cleanup
  /// Whether other accounts of the same server use the same data, which stays while one of them is signed in.
  var isShared = false
  let run: @Sendable (EndedSession) async throws -> Void

  /// Creates a step.
  ///
  /// - Parameters:
  ///   - name: stored in the vault until the step is done; keep it the same between releases. Of several steps with the same
  ///     name, such as two ``cookies(of:)``, the second is stored as `name 2`, and so on: keep their order, too.
  ///   - scope: decides which sign-out plans include the step.
  ///   - run: erases the data. If it throws, the step is retried, see ``CleanupReport/failed``.
  public init(
    _ name: String, _ scope: CleanupScope, run: @escaping @Sendable (EndedSession) async throws -> Void
  ) {
    cleanup = Cleanup(name, scope)
    self.run = run
  }
}

extension [CleanupStep] {
  /// The steps, with a number after a name that an earlier step has, so that each runs.
  var withUniqueNames: [CleanupStep] {
    var names: Set<String> = []
    return map { step in
      var (step, name, number) = (step, step.cleanup.name, 2)
      while !names.insert(name).inserted {
        name = "\(step.cleanup.name) \(number)"
        number += 1
      }
      step.cleanup.name = name
      return step
    }
  }

  /// Removes an account's data from the device, each kind at the sign-outs whose plan includes it.
  static func removals(in folder: AccountFolder) -> [CleanupStep] {
    [
      .removal(of: folder.database, in: folder, "account_database", .database),
      .removal(of: folder.downloads, in: folder, "account_downloads", .downloads),
      .removal(of: folder.images, in: folder, "account_images", .imageCache),
    ]
  }
}

extension CleanupStep {
  fileprivate static func removal(
    of path: String, in folder: AccountFolder, _ name: String, _ scope: CleanupScope
  ) -> CleanupStep {
    CleanupStep(name, scope) { _ in
      try remove(URL(fileURLWithPath: path, isDirectory: true))
      // Fails unless it is empty: the last step that finds something removes it.
      rmdir(folder.path)
    }
  }

  /// Removes a folder with its content, or a file. Succeeds if there is none.
  public static func removal(of url: URL, _ name: String, _ scope: CleanupScope) -> CleanupStep {
    CleanupStep(name, scope) { _ in try remove(url) }
  }

  private static func remove(_ url: URL) throws {
    // A database that is still open may create files of its own meanwhile, which stops the removal of its folder.
    for attempt in 1... {
      do { return try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile { return } catch {
        if attempt == 100 { throw error }
      }
    }
  }

  /// Empties a URL cache.
  public static func urlCache(_ cache: @escaping @Sendable () -> URLCache = { .shared }) -> CleanupStep {
    CleanupStep("url_cache", .requestCache) { _ in cache().removeAllCachedResponses() }
  }

  /// Removes the cookies that would be sent to `url` from the process-wide cookie storage.
  public static func cookies(of url: URL) -> CleanupStep {
    CleanupStep("cookies", .cookies) { _ in
      let jar = HTTPCookieStorage.shared
      for cookie in jar.cookies(for: url) ?? [] { jar.deleteCookie(cookie) }
    }
  }

  /// Cancels all tasks of one of the app's `URLSession`s, such as background transfers: their requests carry a token of the
  /// ended session.
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
      removePreferences(of: preferences, prefix: prefix)
    }
  }

  static func removePreferences(of preferences: UserDefaults, prefix: String) {
    for key in preferences.dictionaryRepresentation().keys where key.hasPrefix(prefix) {
      preferences.removeObject(forKey: key)
    }
  }
}

/// The results of clean-up steps, by name.
public struct CleanupReport: Sendable, Hashable {
  /// The steps that succeeded.
  public var cleared: [String] = []
  /// The steps that failed, with the types of their errors. After a sign-out they are retried, up to ``RetryPolicy/attempts``
  /// times in a row, then by ``SessionController/retryPendingWork()`` and at the next launch; after
  /// ``SessionController/runCleanups(_:)`` they are not.
  public var failed: [String: String] = [:]
  /// The steps that were still running when the wait ended.
  public var unfinished: [String] = []
  /// The steps that erased nothing, because another account of the same server is signed in in this process and uses the same data.
  public var kept: [String] = []

  package init() {}

  mutating func add(_ result: CleanupResult, of step: String) {
    switch result {
    case .cleared: cleared.append(step)
    case .kept: kept.append(step)
    case .failed(let type): failed[step] = type
    }
  }
}

enum CleanupResult: Sendable {
  case cleared, kept
  /// With the type of the error.
  case failed(String)
}
