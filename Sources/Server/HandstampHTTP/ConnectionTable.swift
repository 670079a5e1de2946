#if HTTP
import Dispatch
import HandstampSupport
import NIOCore

/// The open connections of a listener: admits new ones within the limits, and ends all when the server stops.
final class ConnectionTable: Sendable {
  private struct Content: Sendable {
    var order: IdleOrder
    var connections: [Int: Connection] = [:]
    /// Requests whose response is being worked on, also of connections that are closed already.
    var working = 0
    var isDraining = false
    var isAborting = false
    /// The tasks of requests whose connection is gone.
    var abandoned: [ObjectIdentifier: Task<Void, Never>] = [:]
    var waiter: CheckedContinuation<Void, Never>?
    /// The most connections since memory was last given back.
    var peak = 0
    var isOver: Bool { isDraining && connections.isEmpty && working == 0 }
  }

  private let content: Locked<Content>
  private let count: ListenerCount.Add
  private let log: ThrottledLogger

  init(limits: (all: Int, perAddress: Int), count: @escaping ListenerCount.Add, log: ThrottledLogger) {
    content = Locked(Content(order: IdleOrder(limit: limits.all, limitPerAddress: limits.perAddress)))
    self.count = count
    self.log = log
  }

  /// Admits a connection, or returns `false`: it must be closed.
  func admit(_ connection: Connection, from address: IPAddress?) -> Bool {
    let (admission, victim, isDraining) = content.withLock { content in
      let admission = content.order.admit(address)
      guard case .admitted(let number, let closing) = admission else {
        return (admission, nil as Connection?, content.isDraining)
      }
      connection.number = number
      content.connections[number] = connection
      content.peak = max(content.peak, content.connections.count)
      return (admission, closing.flatMap { content.connections[$0] }, content.isDraining)
    }
    victim?.closeIfIdle()
    switch admission {
    case .admitted(_, let closing):
      count(.connections, 1)
      count(.openConnections, 1)
      if closing != nil {
        count(.closedIdleConnections, 1)
        log.note(.closedIdle)
      }
      if isDraining { connection.quiesce() }
      return true
    case .refused: log.note(.refusedConnection)
    case .refusedForAddress: log.note(.refusedAddress)
    }
    count(.refusedConnections, 1)
    return false
  }

  func begin(_ number: Int) { content.withLock { $0.order.begin(number) } }
  func end(_ number: Int) { content.withLock { $0.order.end(number) } }

  func remove(_ number: Int) {
    count(.openConnections, -1)
    var isFlood = false
    change { content in
      content.order.remove(number)
      content.connections[number] = nil
      let open = content.connections.count
      isFlood = content.peak - open >= ConnectionTable.flood && open <= content.peak / 4
      if isFlood { content.peak = open }
    }
    if isFlood { FreedMemory.giveBack() }
  }

  /// So many connections leave memory that is worth giving back.
  private static let flood = 500

  // MARK: Requests

  func startsWork() { content.withLock { $0.working += 1 } }

  /// - Parameter request: what ``abandon(_:of:)`` was called with, if it was; `nil` if that was for a later request.
  func endsWork(of request: ObjectIdentifier?) {
    change { content in
      content.working -= 1
      if let request { content.abandoned[request] = nil }
    }
  }

  /// The connection of a request is gone. The request is carried on, because what it began should not end halfway.
  func abandon(_ task: Task<Void, Never>, of request: ObjectIdentifier) {
    let isAborting = content.withLock { content in
      content.abandoned[request] = task
      return content.isAborting
    }
    if isAborting { task.cancel() }
  }

  // MARK: The end

  /// Ends idle connections now and the others after their response; new ones get one response.
  func drain() {
    let connections = content.withLock { content in
      content.isDraining = true
      return Array(content.connections.values)
    }
    for connection in connections { connection.quiesce() }
    change { _ in }
  }

  /// Ends all connections and requests.
  func abort() {
    let (connections, tasks) = content.withLock { content in
      content.isDraining = true
      content.isAborting = true
      return (Array(content.connections.values), Array(content.abandoned.values))
    }
    for task in tasks { task.cancel() }
    for connection in connections { connection.abort() }
    change { _ in }
  }

  /// Returns when the table drains and the last connection and request have ended. For one caller.
  func over() async {
    await withCheckedContinuation { continuation in
      let isOver = content.withLock { content in
        if !content.isOver { content.waiter = continuation }
        return content.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func change(_ body: (inout Content) -> Void) {
    let waiter = content.withLock { content -> CheckedContinuation<Void, Never>? in
      body(&content)
      guard content.isOver else { return nil }
      defer { content.waiter = nil }
      return content.waiter
    }
    waiter?.resume()
  }
}

/// Memory that was freed, but that the allocator keeps.
enum FreedMemory {
  /// Gives it back to the system, in the background. glibc gives back by itself only what lies at the end of a heap, so that a
  /// server would keep the memory of its busiest minute.
  static func giveBack() {
    guard let trim else { return }
    // After the last objects of the connections are gone, too.
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + 0.5) { _ = trim(0) }
  }

  /// `malloc_trim(3)`, which only glibc has.
  private static let trim: (@convention(c) @Sendable (Int) -> Int32)? = {
    #if canImport(Glibc)
    guard let symbol = dlsym(nil, "malloc_trim") else { return nil }
    return unsafeBitCast(symbol, to: (@convention(c) @Sendable (Int) -> Int32).self)
    #else
    return nil
    #endif
  }()
}
#endif
