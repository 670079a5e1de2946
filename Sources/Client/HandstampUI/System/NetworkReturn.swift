/// Decides when the network is back: at the first path that is usable after one that was not.
package struct NetworkPaths: Sendable {
  private var wasGone = false

  package init() {}

  /// Takes note of the current path, and returns whether the network is back with it.
  package mutating func isBack(isUsable: Bool) -> Bool {
    defer { wasGone = !isUsable }
    return wasGone && isUsable
  }
}

#if canImport(Network)
import Dispatch
import Network

/// Observes the network for as long as it lives.
@MainActor final class NetworkReturn {
  private let monitor = NWPathMonitor()
  private var paths = NetworkPaths()

  /// - Parameter didReturn: Called when the network is back after it was gone.
  init(_ didReturn: @escaping @MainActor @Sendable () -> Void) {
    monitor.pathUpdateHandler = { [weak self] path in
      let isUsable = path.status == .satisfied
      // The monitor calls on the queue that it was started with.
      MainActor.assumeIsolated {
        if let self, self.paths.isBack(isUsable: isUsable) { didReturn() }
      }
    }
    monitor.start(queue: .main)
  }

  deinit { monitor.cancel() }
}
#endif
