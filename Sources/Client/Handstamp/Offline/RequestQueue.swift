import Foundation
import HandstampCore
import HandstampSupport

/// Requests of one account that are sent in order when there is a network.
///
/// - Durable: `enqueue` returns when the request is on disk. A crash or a `kill -9` at any instant neither loses
///   nor invents a request; one whose response was lost is sent again with the same `Idempotency-Key`.
/// - Without tokens: each request gets the session's token when it is sent, and is sent only for its own account, only to the
///   account's own server.
/// - Ordered: a request without a response, or with one that decides nothing (408, 425, 429, 5xx), keeps later ones waiting,
///   and a 401 pauses them all until there is a session. Any other response, a 3xx or a 4xx, is final: the request leaves the
///   queue and the outcome is reported.
/// - Bounded and inspectable, see ``requests``, ``cancel(_:)`` and ``clear()``.
///
/// Pass ``cleanupStep(keepingWhenExpired:)`` to the controller so that a sign-out clears the queue. Use one queue per account
/// and program: a second process that opens the same file gets ``QueueError/storage(_:)``.
public actor RequestQueue {
  /// The account whose requests these are.
  package nonisolated let account: AccountID
  let api: APIClient
  private let limits: (count: Int, bytes: Int)
  private let file: SealedFile?
  let report: @Sendable (QueueOutcome) async -> Void

  private var lock: (any VaultLock)?
  private var loading: Task<Result<Content, QueueError>, Never>?
  private var isLoaded = false
  var waiting: [QueuedRequest] = []
  /// The request in flight.
  var sending: QueuedRequest.ID?
  var replaying: Task<ReplayReport, Never>?
  var wake: AsyncStream<Void>.Continuation?

  /// Creates a queue for the requests of `account`.
  ///
  /// - Parameters:
  ///   - account: the account that the requests are sent for.
  ///   - vault: keeps the requests in a file beside this vault, readable by its owner only, sealed as the vault is, under a key
  ///     derived from the vault's. With ``VaultKey/fileInVaultFolder`` it is protected by file mode only, like the vault: any
  ///     process that can read the folder can read the bodies. `nil` (the default): in memory, and lost when the program exits.
  ///   - count: the largest number of requests. A full queue accepts no requests, and never drops one that waits. Default 200.
  ///   - bytes: the largest total size of all URLs, headers and bodies. Every change writes the whole queue. Default 1 MiB.
  ///   - report: called for every request that leaves the queue by itself, in order.
  public init(
    for account: AccountID, api: APIClient, beside vault: SealedFileVault? = nil, maximumCount count: Int = 200,
    maximumBytes bytes: Int = 1 << 20,
    report: @escaping @Sendable (QueueOutcome) async -> Void = { _ in }
  ) {
    self.account = account
    self.api = api
    let limits = (count: max(0, count), bytes: max(0, bytes))
    self.limits = limits
    self.report = report
    // JSON and base64 at most double the size.
    let limit = limits.bytes * 2 + limits.count * 512 + 4096
    file = vault.map { SealedFile(beside: $0, account: account, purpose: "queue", limit: limit) }
  }

  /// Creates a queue for the requests of `account`, kept in a sealed file in the folder of the vault's locks. Its key is in a keychain
  /// item of its own, readable after the first unlock since start-up. On tvOS the system may empty the folder.
  public init(
    for account: AccountID, api: APIClient, beside vault: KeychainVault, maximumCount count: Int = 200,
    maximumBytes bytes: Int = 1 << 20,
    report: @escaping @Sendable (QueueOutcome) async -> Void = { _ in }
  ) {
    self.init(
      for: account, api: api, beside: vault.fileVault, maximumCount: count, maximumBytes: bytes, report: report)
  }

  deinit { lock?.unlock() }

  /// The requests in the queue, in order.
  public var requests: [QueuedRequest] {
    get async throws(QueueError) {
      try await load()
      return waiting
    }
  }

  /// Adds a request. It is durable when this returns.
  ///
  /// - Parameter label: the app's own label, for a list of the queue.
  /// - Throws: ``QueueError/full``; ``QueueError/invalidRequest(_:)`` if the URL is not of the account's own server or a header
  ///   contains a secret; ``QueueError/storage(_:)`` if the file cannot be written.
  @discardableResult
  public func enqueue(_ request: TransportRequest, label: String? = nil) async throws(QueueError) -> QueuedRequest {
    guard Origin(request.url) != nil, Origin(request.url) == Origin(api.baseURL.absoluteString) else {
      throw .invalidRequest("the URL is not of the account's own origin")
    }
    let secrets = ["authorization", "proxy-authorization", "cookie"]
    guard !request.headers.contains(where: { secrets.contains($0.name.lowercased()) }) else {
      throw .invalidRequest("a header contains a secret; authorization is attached when the request is sent")
    }
    var request = request
    let id: String
    if let own = request.headers.first(named: "Idempotency-Key") {
      id = own
    } else {
      id = UUID().uuidString.lowercased()
      request.headers.append(HeaderField("Idempotency-Key", id))
    }
    let new = QueuedRequest(id: id, request: request, label: label, enqueuedAt: api.controller.clock.now().wall)
    try await load()
    guard !waiting.contains(where: { $0.id == id }) else {
      throw .invalidRequest("a request with this Idempotency-Key is already queued")
    }
    guard waiting.count < limits.count, waiting.reduce(new.size, { $0 + $1.size }) <= limits.bytes else { throw .full }
    try save(waiting + [new])
    wake?.yield()
    return new
  }

  /// Adds an API call; the response is passed to `report` without decoding.
  ///
  /// - Throws: as ``enqueue(_:label:)`` for a request.
  @discardableResult
  public func enqueue(_ endpoint: some Endpoint, label: String? = nil) async throws(QueueError) -> QueuedRequest {
    let request: TransportRequest
    do throws(APIError) { request = try api.request(for: endpoint) } catch {
      throw .invalidRequest("the endpoint cannot be turned into a request")
    }
    return try await enqueue(request, label: label)
  }

  /// Removes a request. Returns `false` if it is not in the queue, or is in flight: then the server may carry it out.
  ///
  /// - Throws: ``QueueError/storage(_:)``.
  @discardableResult
  public func cancel(_ id: QueuedRequest.ID) async throws(QueueError) -> Bool {
    try await load()
    guard sending != id, waiting.contains(where: { $0.id == id }) else { return false }
    try save(waiting.filter { $0.id != id })
    return true
  }

  /// Removes all requests, unreadable ones included, and the file. A request in flight may still be carried out; its outcome is
  /// not reported.
  ///
  /// - Throws: ``QueueError/storage(_:)``.
  public func clear() async throws(QueueError) {
    if !isLoaded { try? await load() }
    waiting = []
    isLoaded = true
    do throws(VaultError) { try file?.remove() } catch { throw .storage(error) }
  }

  /// Returns a clean-up step for `SessionController` that clears the queue when a session of its account ends.
  ///
  /// - Parameter keeps: whether the queue survives a session that ends on its own (``SignOutPlan/expiry``), because the same
  ///   user wants it after signing in again. Default `true`.
  public nonisolated func cleanupStep(keepingWhenExpired keeps: Bool = true) -> CleanupStep {
    CleanupStep("request_queue", .always) { [weak self, account] ended in
      guard let self, ended.account == nil || ended.account == account else { return }
      if keeps, SignOutPlan.standard(for: ended.reason) == .expiry { return }
      try await self.clear()
    }
  }

  // MARK: The file

  func load() async throws(QueueError) {
    if isLoaded { return }
    let task = loading ?? Task { [file] in await RequestQueue.content(of: file) }
    loading = task
    let result = await task.value
    if loading == task { loading = nil }
    // Another caller has loaded or cleared the queue meanwhile.
    if isLoaded { return }
    let content = try result.get()
    lock = content.lock
    waiting = content.requests
    isLoaded = true
  }

  struct Content: Sendable {
    var lock: (any VaultLock)?
    var requests: [QueuedRequest] = []
  }

  @concurrent private static func content(of file: SealedFile?) async -> Result<Content, QueueError> {
    guard let file else { return .success(Content()) }
    do throws(VaultError) {
      guard let lock = try await file.own() else {
        return .failure(.storage(.unavailable("another program has this queue open")))
      }
      var content = Content(lock: lock)
      do throws(VaultError) {
        if let bytes = try file.read() {
          guard let stored = try? JSONDecoder().decode(StoredQueue.self, from: Data(bytes)) else { throw .corrupt }
          content.requests = stored.requests
        }
      } catch {
        guard error == .corrupt else {
          lock.unlock()
          throw error
        }
        try file.setAside()
      }
      return .success(content)
    } catch {
      return .failure(.storage(error))
    }
  }

  /// Writes before changing memory: a change that could not be written has not happened.
  func save(_ new: [QueuedRequest]) throws(QueueError) {
    if let file {
      do throws(VaultError) {
        if new.isEmpty {
          try file.remove()
        } else {
          guard let bytes = try? JSONEncoder().encode(StoredQueue(new)) else { throw .unavailable("not encodable") }
          try file.write(Array(bytes))
        }
      } catch {
        throw .storage(error)
      }
    }
    waiting = new
  }
}

/// Sends the requests in the queue.
extension RequestQueue {
  /// Sends the requests in order until the queue is empty or a request has to wait. Concurrent callers get the same report.
  @discardableResult
  public func replay() async -> ReplayReport {
    if let replaying { return await replaying.value }
    let task = Task { await self.sendAll() }
    replaying = task
    return await task.value
  }

  /// Replays at once, whenever a request is added, when a user signs in, and after a failure with the back-off of `retry`.
  /// Returns when its task is cancelled. Run it once; when the network comes back, call ``replay()``.
  public func run(retry: RetryPolicy = RetryPolicy(base: .seconds(1), cap: .seconds(300))) async {
    let (wakes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    wake = continuation
    let watching = Task { [controller = api.controller] in
      for await state in controller.states { if case .signedIn = state { continuation.yield() } }
    }
    continuation.yield()
    var failures = 0
    var timer: Task<Void, Never>?
    for await _ in wakes {
      timer?.cancel()
      guard case .unreachable(let retryAfter)? = await replay().stop else {
        failures = 0
        continue
      }
      failures += 1
      let wait = retry.delay(afterAttempt: failures, entropy: .random(in: .min ... .max), retryAfter: retryAfter)
      timer = Task { [clock = api.controller.clock] in
        if (try? await clock.sleep(for: wait)) != nil { continuation.yield() }
      }
    }
    timer?.cancel()
    watching.cancel()
    wake = nil
  }

  private func sendAll() async -> ReplayReport {
    defer { replaying = nil }
    var result = ReplayReport()
    do throws(QueueError) { try await load() } catch {
      if case .storage(let trouble) = error { result.stop = .storage(trouble) }
      return result
    }
    while let next = waiting.first {
      // The generation before the state: if it is unchanged when the request is sent, so is the account.
      let generation = api.controller.requests.generation
      guard case .signedIn(let facts) = api.controller.state, facts.profile?.id == account else {
        result.stop = .otherAccount
        return result
      }
      sending = next.id
      let response: Result<TransportResponse, APIError>
      do throws(APIError) {
        response = .success(
          try await api.response(
            to: next.request, requiresAuth: true, retryPolicy: RetryPolicy(attempts: 1), in: generation))
      } catch {
        response = .failure(error)
      }
      sending = nil
      // Cleared meanwhile: the response is discarded.
      guard waiting.first?.id == next.id else { continue }
      switch Verdict(response, now: api.controller.clock.now().wall) {
      case .stop(let stop):
        waiting[0].attempts += 1
        result.stop = stop
        return result
      case .sent(let response):
        result.sent.append(next.id)
        forgetFirst(&result)
        await report(.sent(next, response))
      case .refused(let response):
        result.refused.append(next.id)
        forgetFirst(&result)
        await report(.refused(next, response))
      }
      if result.stop != nil { return result }
    }
    return result
  }

  /// Removes a request whose removal cannot be written from memory; after a restart it would be sent again, with the same key.
  private func forgetFirst(_ result: inout ReplayReport) {
    let rest = Array(waiting.dropFirst())
    do throws(QueueError) { try save(rest) } catch {
      waiting = rest
      if case .storage(let trouble) = error { result.stop = .storage(trouble) }
    }
  }
}

/// The effect of a response on a queued request.
private enum Verdict {
  case sent(TransportResponse)
  case refused(TransportResponse?)
  case stop(ReplayReport.Stop)

  init(_ response: Result<TransportResponse, APIError>, now: UnixTime) {
    switch response {
    case .success(let response):
      switch response.status {
      case 200..<300: self = .sent(response)
      case 300..<500 where !response.isTransientFailure && response.status != 401: self = .refused(response)
      default: self = .stop(.unreachable(retryAfter: response.retryDelay(at: now)))
      }
    case .failure(.session(.requestFailed(_, let retryAfter))): self = .stop(.unreachable(retryAfter: retryAfter))
    case .failure(.session(let error)): self = .stop(.paused(error))
    case .failure(.network(.tooLarge)), .failure(.network(.invalidRequest)), .failure(.invalidRequest):
      self = .refused(nil)
    case .failure: self = .stop(.unreachable(retryAfter: nil))
    }
  }
}
