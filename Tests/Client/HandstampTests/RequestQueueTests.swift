import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import Handstamp

@Suite(.timeLimit(.minutes(10))) final class `A queue of requests` {
  private let clock = ManualClock()
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("queue-\(UUID().uuidString)")
  private let account = AccountID("ada")
  /// The server's response; `nil` means that the network is unavailable.
  private let status = Locked<Int?>(200)
  private let seen = Locked<[TransportRequest]>([])
  private let gate = Locked<Gate?>(nil)

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func api(session: String = "s1") async throws -> APIClient {
    let controller = SessionController(
      backend: ScriptedBackend.rotating(), vault: MemoryVault(), policy: quiet, clock: clock)
    try await controller.signIn { .sample(0, session: session) }
    clock.advance(by: .seconds(60))
    let transport = StubTransport { [status, seen, gate] request throws(TransportError) in
      await gate.withLock { $0 }?.wait()
      guard let status = status.withLock({ $0 }) else { throw .connectionLost("no network") }
      seen.withLock { $0.append(request) }
      return TransportResponse(status: status, headers: [HeaderField("Retry-After", "9")], body: Array("{}".utf8))
    }
    return APIClient(baseURL: base, controller: controller, transport: transport)
  }

  private func queue(
    _ api: APIClient, maximumCount: Int = 200, maximumBytes: Int = 1 << 20, stored: Bool = true,
    report: @escaping @Sendable (QueueOutcome) async -> Void = { _ in }
  ) -> RequestQueue {
    let vault = SealedFileVault(folder: folder.path, account: account)
    return RequestQueue(
      for: account, api: api, beside: stored ? vault : nil, maximumCount: maximumCount, maximumBytes: maximumBytes,
      report: report)
  }

  /// Opens the queue's file again. A thread that has served the previous queue may hold its lock for a moment longer.
  private func reopened(_ api: APIClient) async throws -> RequestQueue { try await reopened { queue(api) } }

  private func reopened(_ open: () -> RequestQueue) async throws -> RequestQueue {
    while true {
      let queue = open()
      do throws(QueueError) {
        _ = try await queue.requests
        return queue
      } catch {
        guard case .storage(.unavailable(_)) = error else { throw error }
      }
      await othersFirst()
    }
  }

  private func post(_ text: String) -> TransportRequest {
    TransportRequest(method: "POST", url: base.absoluteString + "/notes", body: Array(text.utf8))
  }

  private var bodies: [String] { seen.withLock { $0.map { String(decoding: $0.body, as: UTF8.self) } } }

  @Test func `sends offline requests in order, with one key each and a current token`()
    async throws
  {
    let api = try await api()
    let queue = queue(api)
    status.withLock { $0 = nil }
    for text in ["a", "b", "c"] { try await queue.enqueue(post(text), label: text) }
    #expect(await queue.replay().stop == .unreachable(retryAfter: nil))
    #expect(try await queue.requests.map(\.attempts) == [1, 0, 0])
    status.withLock { $0 = 503 }
    #expect(await queue.replay().stop == .unreachable(retryAfter: .seconds(9)))
    status.withLock { $0 = 201 }
    let ids = try await queue.requests.map(\.id)
    let report = await queue.replay()
    #expect(report.sent == ids)
    #expect(report.stop == nil)
    #expect(bodies == ["a", "a", "b", "c"])
    let requests = seen.withLock { $0 }
    #expect(requests.map { $0.headers.first(named: "Idempotency-Key") } == [ids[0]] + ids)
    #expect(requests.allSatisfy { $0.headers.first(named: "Authorization") == "Bearer access-s1-0" })
    #expect(try await queue.requests.isEmpty)
  }

  @Test func `survives a restart, and is encrypted`() async throws {
    let api = try await api()
    var first: RequestQueue? = queue(api)
    try await first?.enqueue(post("a private note"), label: "note")
    let before = try await first?.requests
    // A second queue at the same time would send everything twice.
    await #expect(throws: QueueError.self) { try await self.queue(api).requests }
    first = nil
    let second = try await reopened(api)
    #expect(try await second.requests == before)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let path = folder.appendingPathComponent(name).path
      let content = FileManager.default.contents(atPath: path) ?? Data()
      #expect(content.range(of: Data("private".utf8)) == nil)
      #expect(content.range(of: Data("access-".utf8)) == nil)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      if name.contains(".queue") { #expect(mode == 0o600) }
    }
    #expect(await second.replay().sent.count == 1)
    #expect(bodies == ["a private note"])
  }

  @Test func `beside a keychain vault is encrypted, waits before the first unlock, and is never lost with its key`()
    async throws
  {
    let api = try await api()
    let device = EmulatedKeychain.Device()
    func open() -> RequestQueue {
      let vault = KeychainVault(EmulatedKeychain(device), service: "forum", account: account, folder: folder.path)
      return RequestQueue(for: account, api: api, beside: vault)
    }
    var queue: RequestQueue? = open()
    try await queue?.enqueue(post("a private note"))
    queue = nil
    let path = folder.path
    let names = try FileManager.default.contentsOfDirectory(atPath: path)
    let file = try #require(names.first { $0.hasSuffix(".queue") })
    let sealed = FileManager.default.contents(atPath: "\(path)/\(file)") ?? Data()
    #expect(!sealed.isEmpty && sealed.range(of: Data("private".utf8)) == nil)
    let keys = device.items.filter { $0.data.count == 32 }.map(\.key)
    #expect(keys.count == 1)

    device.set(.beforeFirstUnlock)
    let early = open()
    await #expect(throws: QueueError.storage(.locked)) { try await early.requests }
    // While the screen is locked, the queue goes on.
    device.set(.locked)
    queue = try await reopened(open)
    #expect(await queue?.replay().sent.count == 1)
    #expect(bodies == ["a private note"])
    try await queue?.enqueue(post("b"))
    queue = nil

    device.set(.unlocked)
    device.change { items in items.removeAll { keys.contains($0.key) } }
    let lost = await #expect(throws: QueueError.self) { _ = try await self.reopened(open) }
    guard case .storage(.wrongKey) = lost else {
      Issue.record("\(String(describing: lost))")
      return
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: path).contains(file))
    #expect(!device.items.contains { keys.contains($0.key) })
  }

  @Test func `never holds a token, or a request to another origin`() async throws {
    let queue = queue(try await api())
    for name in ["Authorization", "cookie", "Proxy-Authorization"] {
      var request = post("a")
      request.headers.append(HeaderField(name, "secret"))
      await #expect(throws: QueueError.self) { try await queue.enqueue(request) }
    }
    for url in ["https://evil.example/", "", "http" + base.absoluteString.dropFirst(5)] {
      await #expect(throws: QueueError.self) { try await queue.enqueue(TransportRequest(method: "POST", url: url)) }
    }
    #expect(try await queue.requests.isEmpty)
  }

  @Test(arguments: [300, 400, 403, 404, 409, 410, 413, 422])
  func `drops permanently refused requests, notifies the app, and continues`(refusal: Int) async throws {
    let told = Locked<[String]>([])
    let queue = queue(try await api()) { outcome in
      if case .refused(let request, let response) = outcome {
        told.withLock { $0.append("\(request.label ?? "") \(response?.status ?? 0)") }
      }
    }
    try await queue.enqueue(post("a"), label: "a")
    try await queue.enqueue(post("b"), label: "b")
    status.withLock { $0 = refusal }
    #expect(await queue.replay().refused.count == 2)
    #expect(told.withLock { $0 } == ["a \(refusal)", "b \(refusal)"])
  }

  @Test(arguments: [408, 425, 429, 500, 503])
  func `keeps an undecided request, and all requests behind it`(status: Int) async throws {
    let queue = queue(try await api(), stored: false)
    for text in ["a", "b"] { try await queue.enqueue(post(text)) }
    self.status.withLock { $0 = status }
    let report = await queue.replay()
    #expect(report.stop == .unreachable(retryAfter: .seconds(9)))
    #expect(bodies == ["a"])
    #expect(try await queue.requests.count == 2)
  }

  @Test func `pauses if the token is refused`() async throws {
    let queue = queue(try await api(), stored: false)
    try await queue.enqueue(post("a"))
    status.withLock { $0 = 401 }
    #expect(await queue.replay().stop == .paused(.tokenRejected))
    #expect(try await queue.requests.count == 1)
  }

  @Test func `sends nothing for another account, nor without one`() async throws {
    let api = try await api()
    let queue = queue(api, stored: false)
    try await queue.enqueue(post("a"))
    await api.controller.signOut()
    #expect(await queue.replay().stop == .otherAccount)
    try await api.controller.signIn {
      var grant = TokenResponse.sample(0, session: "s2")
      grant.profile = Profile(id: AccountID("grace"), name: "Grace")
      return grant
    }
    #expect(await queue.replay().stop == .otherAccount)
    #expect(bodies.isEmpty)
    try await api.controller.signIn { .sample(0, session: "s3") }
    #expect(await queue.replay().sent.count == 1)
    #expect(seen.withLock { $0.first?.headers.first(named: "Authorization") } == "Bearer access-s3-0")
  }

  @Test func `is bounded, and never drops old requests for new ones`() async throws {
    let queue = queue(try await api(), maximumCount: 3, maximumBytes: 1000, stored: false)
    await #expect(throws: QueueError.full) { try await queue.enqueue(post(String(repeating: "x", count: 1000))) }
    for _ in 0..<3 { try await queue.enqueue(post("a")) }
    await #expect(throws: QueueError.full) { try await queue.enqueue(post("b")) }
    #expect(try await queue.requests.map { String(decoding: $0.request.body, as: UTF8.self) } == ["a", "a", "a"])
  }

  @Test func `can be listed, edited and cleared, durably`() async throws {
    let api = try await api()
    var queue: RequestQueue? = queue(api)
    var ids: [String] = []
    for text in ["a", "b", "c"] { ids.append(try await queue?.enqueue(post(text), label: text).id ?? "") }
    #expect(try await queue?.cancel(ids[1]) == true)
    #expect(try await queue?.cancel(ids[1]) == false)
    queue = nil
    queue = try await reopened(api)
    #expect(try await queue?.requests.map(\.label) == ["a", "c"])
    try await queue?.clear()
    queue = nil
    #expect(try await reopened(api).requests.isEmpty)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.hasSuffix(".queue") })
  }

  @Test func `reports no request that was in flight when it was cleared`() async throws {
    let told = Locked(0)
    let queue = queue(try await api(), stored: false) { _ in told.withLock { $0 += 1 } }
    let held = Gate()
    gate.withLock { $0 = held }
    let first = try await queue.enqueue(post("a"))
    let replay = Task { await queue.replay() }
    await held.arrivals(1)
    #expect(try await queue.cancel(first.id) == false)
    try await queue.clear()
    held.open()
    #expect(await replay.value.sent.isEmpty)
    #expect(told.withLock { $0 } == 0)
  }

  @Test func `sets a damaged file aside instead of deleting it`() async throws {
    let api = try await api()
    var queue: RequestQueue? = queue(api)
    try await queue?.enqueue(post("a"))
    queue = nil
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let name = try #require(names.first { $0.hasSuffix(".queue") })
    let url = folder.appendingPathComponent(name)
    var bytes = try Data(contentsOf: url)
    bytes[bytes.count - 1] ^= 1
    try bytes.write(to: url)
    queue = try await reopened(api)
    #expect(try await queue?.requests.isEmpty == true)
    #expect(FileManager.default.contents(atPath: url.path + "-corrupt-1") == bytes)
    try await queue?.enqueue(post("b"))
    queue = nil
    // An unfinished file is not in the way.
    try Data("torn".utf8).write(to: URL(fileURLWithPath: url.path + "-new"))
    queue = try await reopened(api)
    #expect(try await queue?.requests.count == 1)
    try await queue?.enqueue(post("c"))
    try await queue?.clear()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".queue-") }.isEmpty)
  }

  @Test func `runs by itself: for new requests, after a failure, and at a sign-in`() async throws {
    let api = try await api()
    let (sent, tell) = AsyncStream.makeStream(of: String.self)
    let queue = queue(api, stored: false) { outcome in
      if case .sent(let request, _) = outcome { tell.yield(String(decoding: request.request.body, as: UTF8.self)) }
    }
    var outcomes = sent.makeAsyncIterator()
    let running = Task { await queue.run() }
    try await queue.enqueue(post("a"))
    #expect(await outcomes.next() == "a")
    status.withLock { $0 = nil }
    try await queue.enqueue(post("b"))
    await clock.sleepers(1)
    status.withLock { $0 = 200 }
    clock.advance(by: .seconds(2))
    #expect(await outcomes.next() == "b")
    await api.controller.signOut()
    try await queue.enqueue(post("c"))
    try await api.controller.signIn { .sample(0, session: "s2") }
    #expect(await outcomes.next() == "c")
    running.cancel()
    await running.value
  }
}
