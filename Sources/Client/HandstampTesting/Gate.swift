/// A gate at which tasks wait until it is opened. A cancelled task waits no longer.
public final class Gate: Sendable {
  private struct State: Sendable {
    var isOpen = false
    var arrived = 0
  }
  private let state = Watched(State())

  public init() {}

  /// Waits until the gate is open; returns immediately if it is.
  public func wait() async {
    state.change { $0.arrived += 1 }
    await state.wait { $0.isOpen }
  }

  /// Waits until `count` tasks have arrived at the gate.
  public func arrivals(_ count: Int) async {
    await state.wait { $0.arrived >= count }
  }

  /// Opens the gate for all tasks, now and later.
  public func open() {
    state.change { $0.isOpen = true }
  }
}
