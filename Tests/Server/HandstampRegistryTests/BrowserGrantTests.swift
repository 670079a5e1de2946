import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

/// The grants of a user's browser: its session, and the codes that it has allowed. An end of all sessions and a new
/// password end these as well.
@Suite(.timeLimit(.minutes(10))) struct `What a browser was given` {
  private struct Given {
    let world: World
    let browser: BrowserSession
    let code: OneTimeToken
    let device: OneTimeToken

    init(_ world: World) async throws {
      self.world = world
      browser = try await world.registry.beginBrowserSession(
        by: .password(of: world.ada), on: .browser("browser"), now: start)
      let user = try #require(try await world.registry.browserSession(browser.cookie, now: start))
      code = try await world.registry.issueCode(.sample, by: user, now: start)
      let codes = try await world.registry.beginDevice(
        DeviceGrant(client: "tv", clientName: "TV", scope: ""), now: start)
      #expect(try await world.registry.answerDevice(showing: codes.user, by: user, allows: true, now: start))
      device = codes.device
    }

    func isSignedIn() async throws -> Bool {
      try await world.registry.browserSession(browser.cookie, now: start) != nil
    }

    /// Whether either code begins a session.
    func begins() async throws -> [Bool] {
      let claim = CodeClaim.sample
      let code = try await world.registry.redeemCode(code.secret, claim, now: start)
      let device = try await world.registry.redeemDevice(device.secret, client: "tv", now: start)
      func isSession(_ outcome: CodeOutcome) -> Bool { if case .signedIn = outcome { true } else { false } }
      return [isSession(code), isSession(device)]
    }
  }

  @Test func `begins sessions`() async throws {
    let given = try await Given(World())
    #expect(try await given.isSignedIn())
    #expect(try await given.begins() == [true, true])
  }

  @Test(arguments: [GrantRefusal.invalidScope, .invalidTarget])
  func `is refused with the reason that its narrowing gave, and is not used up`(refusal: GrantRefusal) async throws {
    let given = try await Given(World())
    let registry = given.world.registry
    let narrow: GrantNarrowing = { _ throws(GrantRefusal) in throw refusal }
    var claim = CodeClaim.sample
    claim.key = rotationKey(1)
    let code = given.code.secret
    #expect(try await registry.redeemCode(code, claim, now: start, narrow: narrow) == .notGranted(refusal))
    let device = try await registry.redeemDevice(given.device.secret, client: "tv", now: start, narrow: narrow)
    #expect(device == .notGranted(refusal))
    let begun = try await registry.redeemCode(code, claim, now: start)
    #expect(try await registry.redeemCode(code, claim, now: start, narrow: narrow) == .notGranted(refusal))
    guard case .signedIn(let first, _) = begun,
      case .signedIn(let again, _) = try await registry.redeemCode(code, claim, now: start),
      case .signedIn = try await registry.redeemDevice(given.device.secret, client: "tv", now: start)
    else { throw Unexpected(begun) }
    #expect(again.row.id == first.row.id && again.isRepeated)
  }

  enum Event: CaseIterable { case endAll, endOthers, newPassword, reset, elsewhere }

  @Test(arguments: Event.allCases) func `ends with the sessions of its account`(event: Event) async throws {
    let world = try await World()
    let given = try await Given(world)
    let registry = world.registry
    switch event {
    case .endAll: _ = try await registry.endAll(of: world.ada.id, now: start)
    case .endOthers:
      let kept = try await world.signIn("phone", world.ada)
      _ = try await registry.endAll(of: world.ada.id, except: kept.row.id, now: start)
    case .newPassword:
      _ = try await registry.setPassword(
        of: world.ada, hash: Secret("new"), keeping: nil, now: start)
    case .reset:
      let token = try await registry.issueResetCode(of: world.ada, now: start)
      _ = try await registry.resetPassword(with: token, hash: Secret("new"), now: start)
    case .elsewhere: _ = try await registry.credentialsChanged(of: world.ada.id, now: start)
    }
    #expect(try await !given.isSignedIn())
    #expect(try await given.begins() == [false, false])
    #expect(try await registry.sessions(of: world.ada.id, now: start).count == (event == .endOthers ? 1 : 0))
  }

  @Test func `cannot be extended by a request that was on its way`() async throws {
    let world = try await World()
    let registry = world.registry
    for event in [Event.endAll, .elsewhere] {
      let browser = try await registry.beginBrowserSession(
        by: .password(of: try #require(try await registry.account(world.ada.id))), on: .browser("browser"), now: start)
      let user = try #require(try await registry.browserSession(browser.cookie, now: start))
      let codes = try await registry.beginDevice(DeviceGrant(client: "tv", clientName: "TV", scope: ""), now: start)
      if event == .endAll {
        _ = try await registry.endAll(of: world.ada.id, now: start)
      } else {
        _ = try await registry.credentialsChanged(of: world.ada.id, now: start)
      }
      await #expect(throws: RegistryError.accountChanged) {
        try await registry.issueCode(.sample, by: user, now: start)
      }
      let isAnswered = try? await registry.answerDevice(showing: codes.user, by: user, allows: true, now: start)
      #expect(isAnswered != true)
    }
    await #expect(throws: RegistryError.accountChanged) {
      try await registry.beginBrowserSession(by: .password(of: world.ada), on: .browser("browser"), now: start)
    }
  }

  /// A sign-in that was checked against the old password, or a code, may begin its session just before the new password.
  @Test func `begins no session that outlasts a new password, whatever comes first`() async throws {
    for number in 0..<100 {
      let world = try await World()
      let given = try await Given(world)
      async let codes: [Bool]? = try? given.begins()
      async let late: NewSession? = try? world.signIn("late", world.ada)
      let outcome = try await world.registry.setPassword(
        of: world.ada, hash: Secret("new"), keeping: nil, endingOthers: true, now: start)
      _ = await (codes, late)
      let left = try await world.registry.sessions(of: world.ada.id, now: start)
      #expect(left.isEmpty, "round \(number), after \(outcome.count) ended")
    }
  }

  @Test func `is a theft if its code comes twice, and the owner is told`() async throws {
    let world = try await World()
    var registry = world.registry
    registry.notices = [.tokenTheft]
    let given = try await Given(world)
    let claim = CodeClaim.sample
    _ = try await registry.redeemCode(given.code.secret, claim, now: start)
    #expect(try await registry.redeemCode(given.code.secret, claim, now: start) == .late)
    #expect(try await registry.store.items(.mail, subject: world.ada.id.rawValue).isEmpty, "it may be a reload")
    let again = try await registry.redeemCode(given.code.secret, claim, endsRepeated: true, now: start)
    guard case .replayed(let outcome) = again else {
      Issue.record("not noticed")
      return
    }
    #expect(outcome.count == 1)
    #expect(try await registry.store.items(.mail, subject: world.ada.id.rawValue).count == 1)
    let actions = try await registry.store.auditedActions(after: 0, about: nil, limit: 10)
    #expect(actions.map(\.audited.action).last == AuditedAction.Kind.theftDetected.rawValue)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A device that was thrown out` {
  private let now = start.advanced(by: .seconds(60))

  private func isKnown(_ world: World, _ device: String) async throws -> [Bool] {
    [
      try await world.registry.knows(DeviceID(device), of: world.ada.id, now: now),
      try await !world.registry.isNews(DeviceID(device), of: world.ada.id, now: now),
    ]
  }

  @Test func `is no longer known`() async throws {
    let world = try await World()
    let phone = try await world.signIn("phone", world.ada)
    let name = phone.row.device.id.rawValue
    #expect(try await isKnown(world, name) == [true, true])
    _ = try await world.registry.end(phone.row.id, of: world.ada.id, now: start)
    #expect(try await isKnown(world, name) == [false, false])
  }

  @Test func `together with all others keeps its count of guesses, and its return is news`() async throws {
    let world = try await World()
    let phone = try await world.signIn("phone", world.ada)
    let name = phone.row.device.id.rawValue
    _ = try await world.registry.endAll(of: world.ada.id, now: start)
    #expect(try await isKnown(world, name) == [true, false])
    _ = try await world.signIn("phone", world.ada)
    #expect(try await isKnown(world, name) == [true, true])
  }

  @Test func `by its own user stays known`() async throws {
    let world = try await World()
    let phone = try await world.signIn("phone", world.ada)
    _ = try await world.registry.end(phone.row.id, of: world.ada.id, reason: .signedOut, now: start)
    #expect(try await isKnown(world, phone.row.device.id.rawValue) == [true, true])
  }

  /// A stranger may have begun the guest's account, and asked for a mail to the address of the one who confirmed it.
  @Test func `with the guest that it was is not known to the full account`() async throws {
    let world = try await World()
    let guest = try await world.registry.signUp(
      email: nil, username: "", passwordHash: nil,
      SessionStart(device: DeviceInfo(id: DeviceID("stranger"), name: "s", platform: "")), now: start)
    let email = try #require(EmailAddress("eve@example.org"))
    let own = DeviceInfo(id: DeviceID("own"), name: "o", platform: "")
    _ = try await world.registry.upgrade(
      guest.account, to: .password(email, hash: Secret("h")), username: "Eve", SessionStart(device: own), now: start)
    #expect(try await !world.registry.knows(DeviceID("stranger"), of: guest.account.id, now: now))
    #expect(try await world.registry.knows(own.id, of: guest.account.id, now: now))
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The owner of a session of another client` {
  private func notices(isElsewhere: Bool) async throws -> Int {
    let world = try await World()
    var registry = world.registry
    registry.notices = [.newDevice]
    let browser = try await world.registry.beginBrowserSession(
      by: .password(of: world.ada), on: .browser("browser"), now: start)
    let user = try #require(try await registry.browserSession(browser.cookie, now: start))
    for number in 0..<3 {
      let now = start.advanced(by: .seconds(number))
      if isElsewhere {
        let codes = try await registry.beginDevice(DeviceGrant(client: "tv", clientName: "TV", scope: ""), now: now)
        #expect(try await registry.answerDevice(showing: codes.user, by: user, allows: true, now: now))
        _ = try await registry.redeemDevice(codes.device.secret, client: "tv", now: now)
      } else {
        let code = try await registry.issueCode(
          .sample, by: user, now: now)
        _ = try await registry.redeemCode(
          code.secret,
          CodeClaim.sample, now: now)
      }
    }
    let sessions = try await registry.sessions(of: world.ada.id, now: start).filter { $0.client != nil }
    #expect(sessions.count == 3)
    // Its ID is public, so it must not be that of a known device.
    #expect(try await !registry.knows(DeviceID("client app"), of: world.ada.id, now: start))
    return try await registry.store.items(.mail, subject: world.ada.id.rawValue).count
  }

  @Test func `is told again of one that was thrown out`() async throws {
    let world = try await World()
    var registry = world.registry
    registry.notices = [.newDevice]
    func begin() async throws -> SessionID {
      let browser = try await registry.beginBrowserSession(
        by: .password(of: world.ada), on: .browser("browser"), now: start)
      let user = try #require(try await registry.browserSession(browser.cookie, now: start))
      let code = try await registry.issueCode(
        .sample, by: user, now: start)
      let claim = CodeClaim.sample
      guard case .signedIn(let new, _) = try await registry.redeemCode(code.secret, claim, now: start) else {
        throw CancellationError()
      }
      return new.row.id
    }
    func mails() async throws -> Int {
      try await registry.store.items(.mail, subject: world.ada.id.rawValue).count
    }
    _ = try await world.registry.beginBrowserSession(by: .password(of: world.ada), on: .browser("browser"), now: start)
    let first = try await begin()
    _ = try await begin()
    #expect(try await mails() == 1)
    _ = try await registry.end(first, of: world.ada.id, now: start)
    _ = try await begin()
    #expect(try await mails() == 2)
  }

  @Test func `is told of each on another device, and of the first in a browser`() async throws {
    #expect(try await notices(isElsewhere: true) == 3)
    #expect(try await notices(isElsewhere: false) == 1)
  }
}

extension CodeGrant {
  /// The challenge is that of the claim's verifier (RFC 7636 section 4.2).
  fileprivate static let sample = CodeGrant(
    client: "app", clientName: "App", redirectURI: "app:/", challenge: "7w_YNF9DSfIdPf_pRjSq646_kPr-2-o9NAl16JGghdM",
    scope: "")
}

extension CodeClaim {
  static let sample = CodeClaim(
    client: "app", redirectURI: "app:/", verifier: Secret(String(repeating: "v", count: 43)))
}

extension DeviceInfo {
  static func browser(_ id: String) -> DeviceInfo { DeviceInfo(id: DeviceID(id), name: "A browser", platform: "web") }
}
