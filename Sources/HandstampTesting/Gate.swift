import HandstampCore
import HandstampSupport

/// A gate at which tasks wait until it is opened.
public final class Gate: Sendable {
  private struct Content: Sendable {
    var isOpen = false
    var arrived = 0
    var waiting: [CheckedContinuation<Void, Never>] = []
    var watching: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }
  private let content = Locked(Content())

  public init() {}

  /// Waits until the gate is open; returns immediately if it is.
  public func wait() async {
    await withCheckedContinuation { continuation in
      let ready = content.withLock { content in
        content.arrived += 1
        if !content.isOpen { content.waiting.append(continuation) }
        let arrived = content.arrived
        let ready = content.watching.filter { $0.count <= arrived }.map(\.continuation)
        content.watching.removeAll { $0.count <= arrived }
        return content.isOpen ? ready + [continuation] : ready
      }
      for continuation in ready { continuation.resume() }
    }
  }

  /// Waits until `count` tasks have arrived at the gate.
  public func arrivals(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = content.withLock { content in
        if content.arrived < count { content.watching.append((count, continuation)) }
        return content.arrived >= count
      }
      if isThere { continuation.resume() }
    }
  }

  /// Opens the gate for all tasks, now and later.
  public func open() {
    let waiting = content.withLock { content in
      content.isOpen = true
      defer { content.waiting = [] }
      return content.waiting
    }
    for continuation in waiting { continuation.resume() }
  }
}
