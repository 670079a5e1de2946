import Foundation
import Handstamp
import HandstampCookies
import HandstampData
import HandstampTesting
import Testing

@testable import ForumReader

/// A reader, its forum, and a typing user.
struct Scene {
  let site = Site()
  let clock = ManualClock()
  let console: Typist
  let client: ForumClient
  let open: OpenStore
  private let place: Place

  init(isInteractive: Bool = true) throws {
    let place = try Place()
    self.place = place
    console = Typist(isInteractive: isInteractive)
    let open = OpenStore(open: { [clock] in try $0.forumStore(clock) }) {
      StorePlace(folder: place.folder.appendingPathComponent($0.rawValue))
    }
    self.open = open
    let backend = CookieBackend(.forum(Site.url), transport: site, clock: clock)
    let controller = SessionController(
      backend: backend, vault: MemoryVault(), policy: .onRejection, clock: clock,
      cleanups: [CleanupStep("database", .database) { ended in try open.remove(of: ended.account) }])
    client = ForumClient(controller: controller, backend: backend, transport: site)
  }

  /// Runs until the user leaves.
  func start() -> Task<Void, any Error> {
    Task { [client, open, console] in try await Reader(client, open, console: console).run() }
  }

  var ada: ForumStore { get throws { try open.store(of: AccountID("42")) } }
  var zoë: ForumStore { get throws { try open.store(of: AccountID("7")) } }

  func signIn(_ name: String, _ id: Int) {
    let index = "<body data-user=\(id)><b id=loggedinusername>\(name)</b>"
    site.answer("account.php", index, headers: [HeaderField("Set-Cookie", "bbuserid=of-\(id); path=/")])
    console.type(name)
    console.type("password")
  }

  /// Starts the reader, signs in `ada`, and waits for the list of forums.
  func arrive() async -> Task<Void, any Error> {
    site.answer("index.php", Sample.index)
    let running = start()
    signIn("ada", 42)
    await console.sees("2. Engines & Looms")
    return running
  }

  /// Waits until all earlier events have been handled.
  func catchUp() async {
    console.type("offline")
    await console.sees("offline: nothing is fetched")
    console.type("help")
    await console.sees("a number opens")
  }

  func leave(_ running: Task<Void, any Error>) async throws {
    console.type("q")
    try await running.value
  }
}

/// A console for tests to type on and to read.
// Unchecked: all access is under the lock.
final class Typist: Console, @unchecked Sendable {
  let isInteractive: Bool
  private let lock = NSLock()
  private var typed: [String] = []
  private var waiting: CheckedContinuation<String?, Never>?
  private var lines: [String] = []
  private var looking: [(text: String, CheckedContinuation<Void, Never>)] = []

  init(isInteractive: Bool) { self.isInteractive = isInteractive }

  /// The output so far.
  var said: String { lock.withLock { lines.joined(separator: "\n") } }

  func type(_ line: String) {
    lock.lock()
    lines.append("> " + line)
    let given = waiting
    waiting = nil
    if given == nil { typed.append(line) }
    lock.unlock()
    given?.resume(returning: line)
  }

  /// Waits until the text is printed after the last line typed.
  func sees(_ text: String, at place: SourceLocation = #_sourceLocation) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        lock.lock()
        let isSaid = lines[(lines.lastIndex { $0.hasPrefix("> ") } ?? 0)...].contains { $0.contains(text) }
        // The handler below may have run already.
        let isWaiting = !isSaid && !Task.isCancelled
        if isWaiting { looking.append((text, continuation)) }
        lock.unlock()
        if !isWaiting { continuation.resume() }
      }
    } onCancel: {
      // The test has timed out.
      Issue.record("never printed: \(text); output:\n\(said)", sourceLocation: place)
      lock.lock()
      let looking = looking
      self.looking = []
      lock.unlock()
      for (_, continuation) in looking { continuation.resume() }
    }
  }

  func say(_ text: String) {
    lock.lock()
    lines.append(text)
    let found = looking.filter { text.contains($0.text) }
    looking.removeAll { text.contains($0.text) }
    lock.unlock()
    for (_, continuation) in found { continuation.resume() }
  }

  func line(_ prompt: String, secretly: Bool) async -> String? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        lock.lock()
        let line = Task.isCancelled || typed.isEmpty ? nil : typed.removeFirst()
        let isWaiting = line == nil && !Task.isCancelled
        if isWaiting { waiting = continuation }
        lock.unlock()
        if !isWaiting { continuation.resume(returning: line) }
      }
    } onCancel: {
      lock.lock()
      let given = waiting
      waiting = nil
      lock.unlock()
      given?.resume(returning: nil)
    }
  }

  func repeatPrompt() {}
}
