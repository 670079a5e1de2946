import HandstampCore
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A sign-in at a server that reuses session IDs` {
  private let now = Moment(boot: 1, uptime: .seconds(5), wall: UnixTime(seconds: 5))

  private func session(_ handle: String) -> StoredSession {
    StoredSession(
      id: SessionID("sso"), profile: nil, refresh: RefreshToken(handle), revocation: RevocationHandle(handle),
      access: nil, startedAt: now, activeAt: now)
  }

  private func entry(_ edits: VaultEdit...) -> VaultEntry {
    edits.reduce(into: VaultEntry()) { entry, edit in
      if case .write(let new) = edit.applied(to: entry) { entry = new }
    }
  }

  @Test func `keeps a pending revocation with another handle, under an ID of its own`() {
    let signOut = VaultEdit.signOut(.signedOut, at: now)
    let again = entry(.begin(session("one")), signOut, .begin(session("two")))
    #expect(again.session?.id == SessionID("sso"))
    #expect(again.tombstones.map(\.revocation) == [RevocationHandle("one")])
    #expect(again.tombstones.map(\.session) != [SessionID("sso")])

    // Each further session adds one, and none is lost.
    let last = entry(
      .begin(session("one")), signOut, .begin(session("two")), signOut, .begin(session("three")), signOut)
    #expect(last.tombstones.compactMap(\.revocation) == ["one", "two", "three"].map { RevocationHandle($0) })
    #expect(Set(last.tombstones.map(\.session)).count == 3)
  }

  @Test func `leaves nothing of a sign-in behind if it is signed out before its response`() {
    let signIn = PendingSignIn(for: "sign-in", at: now.wall)
    let signOut = VaultEdit.signOut(.signedOut, at: now)
    #expect(entry(.begin(session("one")), signOut, .prepareSignIn(signIn)).signIn != nil)
    #expect(entry(.begin(session("one")), signOut, .prepareSignIn(signIn), signOut).signIn == nil)
    // One that is written late spares what began after it.
    let late = VaultEdit.signOut(.signedOut, at: now, isLate: true)
    let later = PendingSignIn(for: "sign-in", at: now.wall.advanced(by: .seconds(1)))
    for before in [[], [VaultEdit.begin(session("one"))]] {
      let edits = before + [.prepareSignIn(later), late]
      let left = edits.reduce(into: VaultEntry()) { entry, edit in
        if case .write(let new) = edit.applied(to: entry) { entry = new }
      }
      #expect(left.signIn == later && left.session == nil)
    }
    #expect(entry(.begin(session("one")), .prepareSignIn(signIn), late).signIn == nil)
  }

  @Test func `has no pending revocation with its own handle`() {
    let again = entry(.begin(session("one")), .signOut(.signedOut, at: now), .begin(session("one")))
    #expect(again.tombstones.isEmpty)
  }

  @Test func `revokes the previous session while the next one is in use`() {
    var fixture = MachineFixture(policy: SessionPolicy(), supportsRotationKeys: true)
    fixture.run(.start)
    fixture.signIn(.sample(0, session: "sso"))
    fixture.signOut()
    // The server was not reached.
    fixture.effects = []
    var next = TokenResponse.sample(1, session: "sso")
    next.revocation = RevocationHandle("two")
    fixture.signIn(next)
    #expect(fixture.machine.session == SessionID("sso"))
    let sent = fixture.effects.compactMap { effect -> RevocationHandle? in
      if case .revoke(_, let handle) = effect { handle } else { nil }
    }
    #expect(sent == [RevocationHandle("handle-sso")])
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A sign-in at a server that names no one` {
  private let now = Moment(boot: 1, uptime: .seconds(5), wall: UnixTime(seconds: 5))
  private let issuer = "https://api.example.org"

  private func session(_ id: String, of account: String) -> StoredSession {
    StoredSession(
      id: SessionID(id), profile: Profile(id: AccountID(account), name: account), refresh: RefreshToken(id),
      revocation: nil, access: nil, startedAt: now, activeAt: now, issuer: issuer)
  }

  private func steps(after previous: StoredSession, _ edits: VaultEdit...) -> [String] {
    edits.reduce(into: VaultEntry(session: previous)) { entry, edit in
      if case .write(let new) = edit.applied(to: entry) { entry = new }
    }.tombstones.flatMap(\.steps)
  }

  /// Two people at one device have one account ID there: the server's.
  @Test func `is taken for another person's`() {
    let next = session("two", of: issuer)
    #expect(steps(after: session("one", of: issuer), .begin(next, steps: ["store"])) == ["store"])
    #expect(
      steps(after: session("one", of: issuer), .signOut(.signedOut, at: now, steps: ["store"]), .begin(next))
        == ["store"])
  }

  @Test func `keeps the data of one who is named`() {
    let next = session("two", of: "ada")
    #expect(steps(after: session("one", of: "ada"), .begin(next, steps: ["store"])).isEmpty)
    #expect(
      steps(after: session("one", of: "ada"), .signOut(.signedOut, at: now, steps: ["store"]), .begin(next))
        .isEmpty)
  }
}
