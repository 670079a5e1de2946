import Handstamp
import HandstampTesting
import HandstampVaults

extension ScriptedBackend {
  /// Rotates at every call, once the gate is open.
  static func held(by gate: Gate) -> ScriptedBackend {
    ScriptedBackend { call, _, _ in
      await gate.wait()
      return .success(.sample(call))
    }
  }

  /// Rotates at every call.
  static func rotating(life: Duration = .seconds(600)) -> ScriptedBackend {
    ScriptedBackend { call, _, _ in .success(.sample(call, life: life)) }
  }
}

extension AccessToken {
  var text: String { secret.withExposed { $0 } }
}

/// A policy without timers, for tests that move the clock themselves.
let quiet = SessionPolicy(
  refresh: RefreshPolicy(aheadOfExpiry: false), retry: RetryPolicy(attempts: 1, base: .zero))

/// The first state that `isWanted`; waits for it.
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
}
