import Handstamp
import HandstampTesting
import HandstampVaults

extension Grant {
  /// The `generation`-th answer of a server for the session `session`.
  static func sample(_ generation: Int, session: String = "s1", life: Duration? = .seconds(600)) -> Grant {
    Grant(
      tokens: TokenSet(
        access: AccessToken("access-\(session)-\(generation)"), life: life,
        refresh: RefreshToken("refresh-\(session)-\(generation)")),
      session: SessionID(session), profile: Profile(id: AccountID("ada"), name: "Ada"),
      revocation: RevocationHandle("handle-\(session)"))
  }
}

extension ScriptedBackend {
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
