import HandstampCore
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A borrowed browser` {
  private static let day: Int64 = 86_400

  /// Sessions of every kind that begins by a browser: of clients that end with any browser, that may stay, and that speak no OpenID
  /// Connect, and of a device whose code was allowed there.
  private func clients(of desk: Desk) async throws -> [SessionRow] {
    let grant = DeviceGrant(client: "tv", clientName: "TV", scope: "openid offline_access")
    let codes = try await desk.registry.beginDevice(grant, now: start)
    #expect(try await desk.registry.answerDevice(showing: codes.user, by: desk.user, allows: true, now: start))
    let outcome = try await desk.registry.redeemDevice(codes.device.secret, client: "tv", now: start)
    guard case .signedIn(let new, _) = outcome else { throw Desk.Refused(outcome: outcome) }
    return [
      try await desk.signIn(), try await desk.signIn("mail", scope: "openid offline_access"),
      try await desk.signIn("tool", scope: "profile"), new.row,
    ]
  }

  @Test func `is signed in for an hour, and 15 min without a request, unless the operator allows less`() async throws {
    for (idle, absolute, most, longest) in [
      (nil, nil, 900, 3600), (14 * Self.day, 90 * Self.day, 900, 3600), (100, 1000, 100, 1000),
    ] as [(Int64?, Int64?, Int64, Int64)] {
      var limits = RegistryLimits()
      limits.browserIdleLimit = idle.map { .seconds($0) }
      limits.browserAbsoluteLimit = absolute.map { .seconds($0) }
      let row = try await Desk(World(limits: limits), "browser", .ephemeral).user.row
      #expect(row.isBorrowed && row.idleLimit == .seconds(most))
      #expect(row.absoluteExpiry == start.advanced(by: .seconds(longest)))
    }
    for (pause, requests) in [(840, 4), (899, 4), (900, 0)] as [(Int64, Int64)] {
      let desk = try await Desk(World(), "browser", .ephemeral)
      var count: Int64 = 0
      while count < 10 {
        let now = start.advanced(by: .seconds(pause * (count + 1)))
        guard let user = try await desk.registry.browserSession(desk.browser.cookie, now: now) else { break }
        try await desk.registry.touch(user.row, now: now)
        count += 1
      }
      #expect(count == requests, "every \(pause) s")
    }
  }

  enum End: CaseIterable { case idle, signOut, isLeft, ownAfterAll }

  @Test(arguments: End.allCases) func `takes everything along that began by it, and clients hear of it`(
    end: End
  ) async throws {
    let desk = try await Desk(World(), "browser", end == .ownAfterAll ? .persistent : .ephemeral)
    let (registry, world) = (desk.registry, desk.world)
    let clients = try await clients(of: desk)
    switch end {
    case .idle:
      let ended = try await registry.expire(now: start.advanced(by: .seconds(900)))
      let reasons: [EndReason?] = [.idle] + Array(repeating: .expired, count: clients.count)
      #expect(ended.map(\.end?.reason) == reasons)
    case .signOut: _ = try await registry.end(desk.user.row.id, of: desk.account, reason: .signedOut, now: start)
    case .isLeft:
      let bob = try await registry.openAccount(email: nil, username: "Bob", passwordHash: nil, now: start)
      let next = try await registry.beginBrowserSession(
        by: .password(of: bob), on: .browser("next"), leaving: desk.user.row.id, now: start)
      _ = try await registry.browserSession(next.cookie, now: start)
    case .ownAfterAll:
      // The user says only now that the browser is another person's.
      let next = try await Desk(world, "next", .ephemeral, leaving: desk.user.row.id)
      _ = try await registry.browserSession(next.browser.cookie, now: start)
      #expect(try await next.isLive(next.user.row))
      for row in [desk.user.row, clients[0]] { #expect(try await !desk.isLive(row)) }
      #expect(try await !registry.knows(DeviceID("browser"), of: desk.account, now: start))
      return
    }
    for client in clients {
      #expect(try await !desk.isLive(client), "\(client.client?.id ?? "")")
      #expect(client.absoluteExpiry == desk.user.row.absoluteExpiry)
    }
    #expect(Set(try await desk.logouts("site", "mail", "tv", "tool")) == Set([0, 1, 3].map { clients[$0].id }))
  }

  @Test func `takes them along if it has to make room for another session`() async throws {
    let desk = try await Desk(World(limits: RegistryLimits(maxSessions: 2)), "browser", .ephemeral)
    _ = try await desk.registry.browserSession(desk.browser.cookie, now: start)
    let client = try await desk.signIn("mail", scope: "openid offline_access")
    let later = start.advanced(by: .seconds(120))
    _ = try await desk.registry.recordFirstUse(of: client, now: later)
    let used = try #require(try await desk.registry.storedSession(client.id))
    try await desk.registry.touch(used, now: later)
    let phone = try await desk.world.signIn("phone", now: later)
    let ended = try await desk.registry.recordFirstUse(of: phone.row, now: later)
    #expect(Set(ended.map(\.id)) == [desk.user.row.id, client.id])
    #expect(try await desk.logouts("mail") == [client.id])
  }

  @Test func `lets nothing begin once it has ended, and is no device that the account knows`() async throws {
    var limits = RegistryLimits()
    limits.browserIdleLimit = .seconds(30)
    for (persistence, isKnown) in [(SessionPersistence.persistent, true), (.ephemeral, false)] {
      let desk = try await Desk(World(limits: limits), "browser", persistence)
      let codes = try await desk.registry.beginDevice(
        DeviceGrant(client: "tv", clientName: "TV", scope: ""), now: start)
      #expect(try await desk.registry.answerDevice(showing: codes.user, by: desk.user, allows: true, now: start))
      let code = try await desk.registry.issueCode(.to("tool", "profile"), by: desk.user, now: start)
      let late = start.advanced(by: .seconds(31))
      let tool = try await desk.registry.redeemCode(code.secret, .of("tool"), now: late)
      let device = try await desk.registry.redeemDevice(codes.device.secret, client: "tv", now: late)
      if isKnown {
        guard case .signedIn = tool, case .signedIn = device else { throw Desk.Refused(outcome: device) }
      } else {
        #expect(tool == .invalid && device == .denied)
      }
      _ = try await desk.registry.expire(now: late)
      #expect(try await desk.registry.knows(DeviceID("browser"), of: desk.account, now: late) == isKnown)
    }
  }

  /// A form that was sent twice: two sessions of one browser, of which only the second is used. The first never was.
  @Test func `ends its clients once, with the last of its sessions`() async throws {
    let world = try await World()
    _ = try await Desk(world, "browser", .ephemeral)
    let desk = try await Desk(world, "browser", .ephemeral)
    let registry = desk.registry
    let seen = start.advanced(by: .seconds(600))
    let used = try #require(try await registry.browserSession(desk.browser.cookie, now: seen))
    try await registry.touch(used.row, now: seen)
    let client = try await desk.signIn("mail", scope: "openid offline_access")
    #expect(try await registry.expire(now: start.advanced(by: .seconds(900))).count == 1)
    #expect(try await desk.isLive(client))
    let ended = try await registry.expire(now: start.advanced(by: .seconds(1500)))
    #expect(Set(ended.map(\.id)) == [desk.user.row.id, client.id] && ended.count == 2)
  }

  @Test func `ends its clients once, with two sessions that end together`() async throws {
    let world = try await World()
    _ = try await Desk(world, "browser", .ephemeral)
    let desk = try await Desk(world, "browser", .ephemeral)
    let client = try await desk.signIn("mail", scope: "openid offline_access")
    let ended = try await desk.registry.expire(now: start.advanced(by: .seconds(900)))
    #expect(ended.count == 3)
    #expect(try await !desk.isLive(client))
    #expect(try await desk.logouts("mail") == [client.id])
  }

  /// An app that stores nothing says so, and that is all that the server makes of it. Of another client, the operator's limit counts.
  @Test func `is not an app that stores nothing, which ends by a day without use, and never by its age`() async throws {
    for (limits, idle) in [
      (RegistryLimits(), Self.day), (RegistryLimits(idleLimit: .seconds(60)), 60),
      (RegistryLimits(ephemeralIdleLimit: .seconds(7)), 7), (RegistryLimits(ephemeralIdleLimit: nil), 90 * Self.day),
    ] as [(RegistryLimits, Int64)] {
      let world = try await World(limits: limits)
      let phone = DeviceInfo(id: DeviceID("phone"), name: "", platform: "")
      let new = try await world.registry.createSession(
        by: .password(of: world.ada), SessionStart(device: phone, .ephemeral), now: start)
      #expect(!new.row.isBorrowed && new.row.idleLimit == .seconds(idle) && new.row.absoluteExpiry == nil)
      #expect(try await world.registry.knows(phone.id, of: world.ada.id, now: start))
      var claim = CodeClaim.of("tool")
      claim.persistence = .ephemeral
      let desk = try await Desk(world)
      let code = try await world.registry.issueCode(.to("tool", "profile"), by: desk.user, now: start)
      let outcome = try await world.registry.redeemCode(code.secret, claim, now: start)
      guard case .signedIn(let tool, _) = outcome else { throw Desk.Refused(outcome: outcome) }
      #expect(tool.row.idleLimit == .seconds(idle))
      #expect(tool.row.absoluteExpiry == start.advanced(by: .seconds(365 * Self.day)))
    }
  }
}
