import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A session whose profile becomes known` {
  private let session = SessionID("s1")
  private let ada = Profile(id: AccountID("ada"), name: "Ada")

  private func signedIn(as profile: Profile?) -> MachineFixture {
    var fixture = MachineFixture(cleanups: [Cleanup("store", .database)])
    fixture.run(.start)
    fixture.signIn(grant("s1", of: profile))
    return fixture
  }

  private func grant(_ session: String, of profile: Profile?) -> TokenResponse {
    var grant = TokenResponse.sample(0, session: session)
    grant.profile = profile
    return grant
  }

  private func identify(
    _ fixture: inout MachineFixture, as profile: Profile, _ session: SessionID? = nil
  ) -> Result<SessionMachine.CommandOutcome, SessionError>? {
    let waiter = fixture.waiter()
    fixture.run(.identified(waiter, session ?? self.session, profile))
    return fixture.outcomes[waiter]
  }

  private func profile(of state: SessionState?) -> Profile? {
    if case .signedIn(let facts) = state { facts.profile } else { nil }
  }

  @Test func `shows and stores it, and its corrections`() throws {
    var fixture = signedIn(as: nil)
    for profile in [ada, Profile(id: ada.id, name: "Ada Lovelace")] {
      guard case .success(.signedIn(let facts)) = identify(&fixture, as: profile) else {
        throw SessionError.cancelled
      }
      #expect(facts.profile == profile)
      #expect(self.profile(of: fixture.states.last) == profile)
      #expect(fixture.vault?.session?.profile == profile)
    }
    // The same one again is no news.
    let (count, revision) = (fixture.states.count, fixture.vault?.revision)
    guard case .success = identify(&fixture, as: Profile(id: ada.id, name: "Ada Lovelace")) else {
      throw SessionError.cancelled
    }
    #expect(fixture.states.count == count && fixture.vault?.revision == revision)
  }

  @Test func `is not given to another account`() {
    var fixture = signedIn(as: ada)
    let outcome = identify(&fixture, as: Profile(id: AccountID("bob"), name: "Bob"))
    #expect(outcome == .failure(.refused(code: "other_account", detail: "the profile is another account's")))
    #expect(fixture.vault?.session?.profile == ada && profile(of: fixture.states.last) == ada)
  }

  @Test func `gets none once it has ended, or been replaced by another program`() {
    var fixture = signedIn(as: nil)
    _ = fixture.apply(.begin(VaultSamples.session("s2")))
    #expect(identify(&fixture, as: ada) == .failure(.cancelled))
    #expect(fixture.machine.session == SessionID("s2"))
    fixture.signOut()
    #expect(identify(&fixture, as: ada, SessionID("s2")) == .failure(.cancelled))
    #expect(fixture.vault?.session == nil)
  }

  @Test func `goes on without it if the vault cannot be written`() {
    var fixture = signedIn(as: nil)
    fixture.vaultTrouble = .full("no space left on device")
    #expect(identify(&fixture, as: ada) == .failure(.storage(.full("no space left on device"))))
    #expect(profile(of: fixture.states.last) == nil && fixture.machine.session == session)
  }

  /// The user's data would be erased at the next launch, or at the next sign-out.
  @Test func `keeps the data of its user, whose previous session was to be cleaned up after`() {
    var fixture = signedIn(as: ada)
    fixture.signOut(.signedOut, .everything)
    fixture.clean(succeeding: false)
    let waiter = fixture.waiter()
    fixture.handle(.signIn(waiter))
    fixture.run(
      .signInAnswered(waiter, .success(grant("s2", of: nil)), by: .init(.form), fallback: SessionID("fallback")))
    fixture.clean(succeeding: false)
    #expect(fixture.machine.session == SessionID("s2"))
    #expect(fixture.vault?.tombstones.last?.steps == ["store"])
    guard case .success = identify(&fixture, as: ada, SessionID("s2")) else {
      Issue.record("no profile")
      return
    }
    #expect(fixture.vault?.tombstones.allSatisfy { $0.steps.isEmpty } == true)
    #expect(fixture.machine.cleanups.pending.isEmpty)
  }
}
