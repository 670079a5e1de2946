import HandstampCore
import HandstampSupport

/// A lock of a vault among the tasks of one process; first come, first served.
final class MemoryFlight: Sendable {
  private struct State {
    var held = false
    var next: UInt64 = 0
    var queue: [(id: UInt64, waiter: CheckedContinuation<Bool, Never>)] = []
  }

  private let state = Locked(State())
  private let clock: any Clock<Duration>

  init(clock: any Clock<Duration>) { self.clock = clock }

  func lock(within limit: Duration) async -> (any VaultLock)? {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    let got = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let isFree = state.withLock { state in
          if !state.held {
            state.held = true
            return true
          }
          if limit > .zero { state.queue.append((id, waiter)) }
          return false
        }
        if isFree { return waiter.resume(returning: true) }
        guard limit > .zero else { return waiter.resume(returning: false) }
        // After queueing: a cancellation that came earlier found no waiter to remove.
        if Task.isCancelled { return giveUp(id) }
        Task.detached { [weak self, clock] in
          try? await clock.sleep(for: limit)
          self?.giveUp(id)
        }
      }
    } onCancel: {
      giveUp(id)
    }
    return got ? HeldLock { self.unlock() } : nil
  }

  /// Stops the wait; no effect if `id` is not waiting.
  private func giveUp(_ id: UInt64) {
    let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard let index = state.queue.firstIndex(where: { $0.id == id }) else { return nil }
      return state.queue.remove(at: index).waiter
    }
    waiter?.resume(returning: false)
  }

  private func unlock() {
    let heir = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard !state.queue.isEmpty else {
        state.held = false
        return nil
      }
      return state.queue.removeFirst().waiter
    }
    heir?.resume(returning: true)
  }
}
