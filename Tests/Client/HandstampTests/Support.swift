import Handstamp
import HandstampSupport
import HandstampTesting

extension ScriptedBackend {
  /// Rotates at every call, after the gate has opened.
  static func held(by gate: Gate) -> ScriptedBackend {
    ScriptedBackend { call, _, _ in
      await gate.wait()
      return .granted(.sample(call))
    }
  }

  /// Rotates at every call.
  static func rotating(life: Duration = .seconds(600)) -> ScriptedBackend {
    ScriptedBackend { call, _, _ in .granted(.sample(call, life: life)) }
  }
}

extension AccessToken {
  var text: String { secret.withExposed { $0 } }
}

/// A policy without timers, for tests that advance the clock themselves.
let quiet = SessionPolicy(
  refresh: RefreshPolicy(usesTimer: false), retry: RetryPolicy(attempts: 1, base: .zero))

/// The same without the least age of a token that is refreshed: the tests refresh at once.
let eager = SessionPolicy(
  refresh: RefreshPolicy(usesTimer: false, minimumAge: .zero), retry: RetryPolicy(attempts: 1, base: .zero))

/// Waits for the first state that `isWanted`, and returns it.
@discardableResult
func first(
  _ states: SessionStates, where isWanted: (SessionState) -> Bool
) async -> SessionState? {
  for await state in states where isWanted(state) { return state }
  return nil
}

extension SessionState {
  var isSignedIn: Bool { if case .signedIn = self { true } else { false } }
  var isSignedOut: Bool { if case .signedOut = self { true } else { false } }
  var upcomingEnd: UpcomingEnd? { if case .signedIn(let facts) = self { facts.upcomingEnd } else { nil } }
}

/// An audit log in memory.
final class ListAuditLog: AuditLog {
  private let list = Locked<[AuditEntry]>([])
  var entries: [AuditEntry] { list.withLock { $0 } }
  @concurrent func record(_ entry: AuditEntry) async { list.withLock { $0.append(entry) } }

  /// What the log says of sign-ins: method, outcome, and account or address.
  var signIns: [String] {
    entries.compactMap { entry in
      guard case .signIn(let method) = entry.action else { return nil }
      return "\(method) \(entry.outcome) \(entry.account?.rawValue ?? entry.address ?? "-")"
    }
  }
}
