import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The audit log of a session machine` {
  private func signedIn(policy: SessionPolicy = SessionPolicy()) -> MachineFixture {
    var fixture = MachineFixture(policy: policy)
    fixture.run(.start)
    fixture.signIn()
    return fixture
  }

  /// The entries of the audit log so far.
  private func entries(_ fixture: MachineFixture) -> [AuditEntry] {
    fixture.effects.compactMap { if case .audit(let entry) = $0 { entry } else { nil } }
  }

  @Test func `names the account in the audit log, however its session ends`() {
    for reason in [EndReason.signedOut, .revoked, .idle, .erased, .replaced] {
      var fixture = signedIn(policy: SessionPolicy(idleLimit: .seconds(900)))
      fixture.effects = []
      switch reason {
      case .revoked: fixture.run(.ended(SessionID("s1"), .revoked))
      case .idle:
        // The notice, and the end.
        fixture.fire(.limit)
        fixture.fire(.limit)
      case .erased:
        fixture.vault = nil
        fixture.run(.vaultChanged)
      case .replaced: fixture.signIn(.sample(0, session: "s2"))
      default: fixture.signOut()
      }
      let end = entries(fixture).first { $0.action == .end }
      #expect(end?.account == AccountID("ada") && end?.session == SessionID("s1"))
      #expect(end?.outcome == reason.rawValue)
    }
  }

  @Test func `names the account in the audit log of a sign-out before the vault was read`() {
    var fixture = MachineFixture(vault: signedIn().vault)
    fixture.handle(.start)
    fixture.signOut()
    #expect(entries(fixture).last?.account == AccountID("ada"))
    #expect(entries(fixture).last?.outcome == "signed_out")
  }

  @Test func `says in the audit log how the user signed in, also if that cannot be stored`() {
    for trouble in [nil, VaultError.unavailable("disk full")] {
      var fixture = MachineFixture()
      fixture.run(.start)
      fixture.vaultTrouble = trouble
      let waiter = fixture.waiter()
      fixture.handle(.signIn(waiter))
      fixture.run(.signInAnswered(waiter, .success(.sample(0)), by: .init(.passkey), fallback: SessionID("x")))
      let entry = entries(fixture).last
      #expect(entry?.action == .signIn(.passkey) && entry?.account == AccountID("ada"))
      #expect(entry?.outcome == (trouble == nil ? "ok" : "not_stored"))
    }
  }
}
