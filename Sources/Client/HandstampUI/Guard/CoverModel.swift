public import Handstamp
public import Observation

/// Decides whether an app's content is covered: while its presence lock is closed, and while the app is not in front, as in the
/// app switcher.
///
/// The content is covered at first. A view calls ``follow()`` for as long as it is shown, ``enter(_:)`` with each phase of its
/// scene, and ``unlock()`` from the button of its cover.
@MainActor @Observable
public final class CoverModel {
  /// The reason why the content is covered.
  public enum Cover: Sendable, Hashable {
    /// The app is not in front. There is nothing to do.
    case away
    /// The lock is closed: ``CoverModel/unlock()`` asks the user.
    case locked
    /// The user is being asked.
    case confirming
  }

  /// Whether the app is in front.
  public enum Phase: Sendable, Hashable {
    case active
    /// Visible, but not in use: in the app switcher, or behind a question of the system.
    case inactive
    case background
  }

  /// Why the user's presence was not confirmed; `nil` before, and after a cancellation.
  public private(set) var failure: Wording?
  @ObservationIgnored private let lock: PresenceLock
  private var phase = Phase.inactive
  private var state: PresenceState
  /// The user has confirmed their presence since the app was last in the background. Of a lock that never opens.
  private var isConfirmed = false
  private var isToAsk = true

  /// Creates the model of a lock. One that asks for every use counts as open once its user has unlocked the cover, until the
  /// app enters the background.
  public init(_ lock: PresenceLock) {
    self.lock = lock
    state = lock.state
  }

  /// The cover now; `nil` if the content is visible.
  public var cover: Cover? {
    if isLocked, state == .confirming { return .confirming }
    guard phase == .active else { return .away }
    return isLocked ? .locked : nil
  }

  /// Whether to call ``unlock()`` now, without a button: once after the launch and after each return from the background. Not
  /// again after the user has declined.
  public var asksByItself: Bool { isToAsk && cover == .locked }

  /// Whether the device cannot confirm the user's presence at all, so that only a sign-out leads on.
  public var isStuck: Bool { failure.map { $0.recovery == nil || $0.recovery == .signIn } ?? false }

  var isLocked: Bool { lock.neverOpens ? !isConfirmed : state != .open }

  /// Follows the lock until the task is cancelled.
  public func follow() async {
    for await new in lock.states {
      if new == .confirming { isToAsk = false }
      update()
    }
  }

  /// The app has entered a phase. Call it for the first one, too.
  public func enter(_ phase: Phase) {
    if phase == .background {
      isToAsk = true
      isConfirmed = false
      failure = nil
    }
    // The lock may have closed while the app was suspended, which `states` tells later.
    update()
    self.phase = phase
  }

  /// Asks the user to confirm their presence. Returns when they have answered; ``failure`` is the reason if they did not
  /// confirm it.
  public func unlock() async {
    isToAsk = false
    failure = nil
    do throws(PresenceError) {
      try await lock.unlock()
      isConfirmed = true
    } catch {
      failure = Wording(error)
    }
    update()
  }

  private func update() {
    state = lock.state
    if state == .open { failure = nil }
  }
}
