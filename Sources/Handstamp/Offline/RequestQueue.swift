import Foundation
import HandstampCore
public import HandstampVaults

/// Where a ``RequestQueue`` keeps what waits.
@nonexhaustive
public enum QueueStorage: Sendable {
  /// In memory: what waits is gone with the program.
  case memory
  /// In a file beside a vault, for its owner alone, sealed with AES-GCM under a key derived from the vault's. With
  /// ``VaultKey/fileBeside`` it is protected by file mode only, as the vault is: who can read the folder reads the bodies.
  case sealed(beside: SealedFileVault)
}

/// Requests of one account that are sent when there is a network, in the order in which they came.
///
/// - Taken in is what is durable: ``enqueue(_:label:)`` returns when the request is on the disk. A crash or a `kill -9` at
///   any instant loses none and invents none; one whose answer was lost is sent again with the same `Idempotency-Key`.
/// - No token is ever in it. Each request gets the session's token when it is sent, and goes out for its own account alone,
///   to the account's own server alone.
/// - The order holds: a request that gets no answer, or one that decides nothing (408, 425, 429, 5xx), keeps those behind it
///   waiting, and a 401 pauses them all until there is a session. Any other answer, a 3xx or a 4xx, is final: the request
///   leaves the queue and the app is told.
/// - It is bounded, and can be looked into, see ``requests``, ``cancel(_:)`` and ``clear()``.
///
/// At a sign-out it is to be dropped: hand ``cleanupStep()`` to the controller. One queue per account and program: a second
/// process that opens the same file is told ``QueueError/storage(_:)``.
public actor RequestQueue {
  public nonisolated let account: AccountID
  let api: APIClient
  private let limits: QueueLimits
  private let file: SealedFile?
  let report: @Sendable (QueueOutcome) async -> Void

  private var lock: (any FlightLock)?
  private var loading: Task<Result<Content, QueueError>, Never>?
  private var isLoaded = false
  var waiting: [QueuedRequest] = []
  /// The one that is in the air.
  var sending: QueuedRequest.ID?
  var replaying: Task<ReplayReport, Never>?
  var wake: AsyncStream<Void>.Continuation?

  /// - Parameters:
  ///   - account: whose requests these are; for nobody else are they sent.
  ///   - report: told of every request that leaves the queue by itself, in order.
  public init(
    for account: AccountID, api: APIClient, storage: QueueStorage = .memory, limits: QueueLimits = QueueLimits(),
    report: @escaping @Sendable (QueueOutcome) async -> Void = { _ in }
  ) {
    self.account = account
    self.api = api
    self.limits = limits
    self.report = report
    switch storage {
    case .memory: file = nil
    case .sealed(let vault):
      // JSON and base64 make at most twice as much of it.
      file = SealedFile(
        beside: vault, account: account, purpose: "queue", limit: limits.bytes * 2 + limits.count * 512 + 4096)
    }
  }

  deinit { lock?.unlock() }

  /// What waits, in order.
  public var requests: [QueuedRequest] {
    get async throws(QueueError) {
      try await load()
      return waiting
    }
  }

  /// Takes a request in. It is durable when this returns.
  ///
  /// - Parameter label: the app's own word for what it is, for a list of what waits.
  /// - Throws: ``QueueError/full``; ``QueueError/invalidRequest(_:)`` for an address that is not of the account's own server
  ///   and for headers that carry secrets.
  @discardableResult
  public func enqueue(_ request: TransportRequest, label: String? = nil) async throws(QueueError) -> QueuedRequest {
    guard Origin(request.url) != nil, Origin(request.url) == Origin(api.baseURL.absoluteString) else {
      throw .invalidRequest("the address is not of the account's own origin")
    }
    let secrets = ["authorization", "proxy-authorization", "cookie"]
    guard !request.headers.contains(where: { secrets.contains($0.name.lowercased()) }) else {
      throw .invalidRequest("a header that carries a secret: authorization is attached when the request is sent")
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
    guard !waiting.contains(where: { $0.id == id }) else { throw .invalidRequest("its Idempotency-Key waits already") }
    guard waiting.count < limits.count, waiting.reduce(new.size, { $0 + $1.size }) <= limits.bytes else { throw .full }
    try save(waiting + [new])
    wake?.yield()
    return new
  }

  /// Takes a call in; its response is handed to `report` as it comes.
  @discardableResult
  public func enqueue(_ endpoint: some Endpoint, label: String? = nil) async throws(QueueError) -> QueuedRequest {
    let request: TransportRequest
    do throws(APIError) { request = try api.request(for: endpoint) } catch {
      throw .invalidRequest("the endpoint makes no request")
    }
    return try await enqueue(request, label: label)
  }

  /// Takes a request out, for good. False when it does not wait, or is in the air: then the server may carry it out.
  @discardableResult
  public func cancel(_ id: QueuedRequest.ID) async throws(QueueError) -> Bool {
    try await load()
    guard sending != id, waiting.contains(where: { $0.id == id }) else { return false }
    try save(waiting.filter { $0.id != id })
    return true
  }

  /// Drops everything, also what cannot be read, and the file with it. What is in the air may still be carried out; nobody is
  /// told of it.
  public func clear() async throws(QueueError) {
    if !isLoaded { try? await load() }
    waiting = []
    isLoaded = true
    do throws(VaultTrouble) { try file?.remove() } catch { throw .storage(error) }
  }

  /// Clears the queue when a session of its account ends; for `SessionController`'s clean-up. A session that ends by itself
  /// (``SignOutPlan/expiry``) keeps it, because the same person finds it again after signing in.
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
    // Whoever waited for the same, or cleared the queue, was first.
    if isLoaded { return }
    let content = try result.get()
    lock = content.lock
    waiting = content.requests
    isLoaded = true
  }

  struct Content: Sendable {
    var lock: (any FlightLock)?
    var requests: [QueuedRequest] = []
  }

  @concurrent private static func content(of file: SealedFile?) async -> Result<Content, QueueError> {
    guard let file else { return .success(Content()) }
    do throws(VaultTrouble) {
      guard let lock = try await file.own() else {
        return .failure(.storage(.unavailable("another program has this queue open")))
      }
      let bytes: [UInt8]?
      do throws(VaultTrouble) { bytes = try file.read() } catch {
        guard error == .corrupt else {
          lock.unlock()
          throw error
        }
        try file.setAside()
        return .success(Content(lock: lock))
      }
      guard let bytes else { return .success(Content(lock: lock)) }
      guard let stored = try? JSONDecoder().decode(StoredQueue.self, from: Data(bytes)) else {
        try file.setAside()
        return .success(Content(lock: lock))
      }
      return .success(Content(lock: lock, requests: stored.requests))
    } catch {
      return .failure(.storage(error))
    }
  }

  /// Writes first: what could not be written has not happened.
  func save(_ new: [QueuedRequest]) throws(QueueError) {
    if let file {
      do throws(VaultTrouble) {
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
