import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(10))) struct `What a sign-out clears` {
  @discardableResult
  private func signOut(_ step: CleanupStep, _ plan: SignOutPlan = .standard) async throws -> SignOutReport {
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock(), cleanups: [step])
    try await session.signIn { .sample(0) }
    let report = await session.signOut(plan)
    #expect(report.failed.isEmpty)
    return report
  }

  @Test func `are cached responses`() async throws {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
    let url = try #require(URL(string: "https://example.org/me"))
    let request = URLRequest(url: url)
    let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
    cache.storeCachedResponse(CachedURLResponse(response: response, data: Data("ada".utf8)), for: request)
    #expect(cache.cachedResponse(for: request) != nil)
    let report = try await signOut(.urlCache { cache })
    #expect(report.cleanup.cleared == ["url_cache"])
    #expect(cache.cachedResponse(for: request) == nil)
  }

  @Test func `is cleared by each of several steps with one name`() async throws {
    let ran = Locked<[Int]>([])
    let steps = (1...3).map { number in CleanupStep("cache", .always) { _ in ran.withLock { $0.append(number) } } }
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: ManualClock(), cleanups: steps)
    try await session.signIn { .sample(0) }
    let report = await session.signOut()
    #expect(Set(report.cleanup.cleared) == ["cache", "cache 2", "cache 3"])
    #expect(ran.withLock { $0.sorted() } == [1, 2, 3])
  }

  @Test func `are only the cookies of that address`() async throws {
    let jar = HTTPCookieStorage.shared
    let names = ["one", "two"].map { "\($0)-\(UUID().uuidString).example" }
    let urls = try names.map { try #require(URL(string: "https://\($0)/")) }
    for (url, name) in zip(urls, names) {
      jar.setCookie(
        try #require(HTTPCookie(properties: [.name: "session", .value: "v", .domain: name, .path: "/", .secure: true])))
      #expect(jar.cookies(for: url)?.count == 1)
    }
    try await signOut(.cookies(of: urls[0]))
    #expect(jar.cookies(for: urls[0]) == [])
    #expect(jar.cookies(for: urls[1])?.count == 1)
    for cookie in jar.cookies(for: urls[1]) ?? [] { jar.deleteCookie(cookie) }
  }

  @Test func `are only the preferences with that prefix`() async throws {
    let suite = "org.handstamp.test-\(UUID().uuidString)"
    let preferences = try #require(UserDefaults(suiteName: suite))
    defer { preferences.removePersistentDomain(forName: suite) }
    preferences.set("dark", forKey: "account.theme")
    preferences.set(true, forKey: "onboarded")
    try await signOut(.preferences(prefix: "account.", suite: suite))
    let left = try #require(UserDefaults(suiteName: suite))
    #expect(left.string(forKey: "account.theme") == nil)
    #expect(left.bool(forKey: "onboarded"))
  }

  @Test func `are files if the plan says so, missing ones included`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("cleanup-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try Data("page".utf8).write(to: folder.appendingPathComponent("page"))
    let step = CleanupStep.removal(of: folder, "downloads", .downloads)
    #expect(try await signOut(step).cleanup.cleared.isEmpty)
    #expect(FileManager.default.fileExists(atPath: folder.path))
    for _ in 0..<2 { #expect(try await signOut(step, .everything).cleanup.cleared == ["downloads"]) }
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  @Test func `are transfers in flight`() async throws {
    let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
    let server = try LoopbackServer { connection in
      arrival.finish()
      _ = connection.hasGone(within: .seconds(600))
    }
    let transfers = URLSession(configuration: .ephemeral)
    let (ends, end) = AsyncStream.makeStream(of: URLError.Code?.self)
    let url = try #require(URL(string: server.url))
    transfers.dataTask(with: url) { _, _, error in end.yield((error as? URLError)?.code) }.resume()
    for await _ in arrived {}
    try await signOut(.transfers { transfers })
    for await code in ends {
      #expect(code == .cancelled)
      break
    }
    transfers.invalidateAndCancel()
  }
}
