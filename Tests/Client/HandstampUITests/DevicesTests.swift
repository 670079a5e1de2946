import Handstamp
import HandstampSupport
import HandstampTesting
import HandstampUI
import Testing

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The list of devices` {
  private static func device(_ id: String, isCurrent: Bool = false) -> DeviceSession {
    DeviceSession(
      id: SessionID(id), isCurrent: isCurrent, name: id, platform: "iOS", startedAt: UnixTime(milliseconds: 0),
      lastSeenAt: UnixTime(milliseconds: 1))
  }
  let service = ScriptedDevices([device("phone"), device("mac", isCurrent: true), device("tv")])

  @Test func `shows this device first`() async throws {
    let model = DevicesModel(service)
    #expect(!model.isLoaded && model.devices.isEmpty)
    await model.load()
    #expect(model.devices.map(\.name) == ["mac", "phone", "tv"] && model.isLoaded && model.failure == nil)
    #expect(model.others.map(\.name) == ["phone", "tv"])
  }

  @Test func `follows changes made elsewhere`() async throws {
    let model = DevicesModel(service)
    let following = Task { await model.follow() }
    await observed { model.isLoaded }
    service.content.withLock { _ = $0.list.removeFirst() }
    service.change.yield()
    await observed { model.devices.count == 2 }
    service.change.finish()
    await following.value
    #expect(model.devices.map(\.name) == ["mac", "tv"] && model.failure == nil)
  }

  @Test func `signs out one device, once, and not this one`() async throws {
    let model = DevicesModel(service)
    await model.load()
    let gate = Gate()
    service.content.withLock { $0.gate = gate }
    let phone = try #require(model.others.first)
    let ending = Task { await model.end(phone) }
    await observed { model.ending == [phone.id] }
    #expect(!model.canEnd(phone))
    gate.open()
    await ending.value
    #expect(model.devices.map(\.name) == ["mac", "tv"] && model.ending.isEmpty)
    let this = try #require(model.devices.first)
    #expect(!model.canEnd(this))
    await model.end(this)
    #expect(model.devices.map(\.name) == ["mac", "tv"])
  }

  @Test func `shows what belongs together as one, and signs it out together`() async throws {
    service.content.withLock { content in
      for place in [0, 2] { content.list[place].group = content.list[0].id }
    }
    let model = DevicesModel(service)
    await model.load()
    #expect(model.groups.map { $0.map(\.name) } == [["mac"], ["phone", "tv"]])
    await model.end(model.groups[1])
    #expect(model.devices.map(\.name) == ["mac"] && model.ending.isEmpty)
  }

  @Test func `signs out one of those that belong together alone`() async throws {
    service.content.withLock { content in
      for place in [0, 2] { content.list[place].group = content.list[0].id }
    }
    let model = DevicesModel(service)
    await model.load()
    await model.end(try #require(model.groups[1].first))
    #expect(model.groups.map { $0.map(\.name) } == [["mac"], ["tv"]])
  }

  @Test func `signs out all others`() async throws {
    let model = DevicesModel(service)
    #expect(!model.canEndOthers)
    await model.load()
    #expect(model.canEndOthers)
    let gate = Gate()
    service.content.withLock { $0.gate = gate }
    let ending = Task { await model.endOthers() }
    await observed { model.isEndingOthers }
    #expect(!model.canEndOthers)
    gate.open()
    await ending.value
    #expect(model.devices.map(\.name) == ["mac"] && !model.isEndingOthers && !model.canEndOthers)
  }

  @Test func `asks for the password if the server does, and repeats what was refused`() async throws {
    let model = DevicesModel(service)
    await model.load()
    service.content.withLock {
      $0.error = .refused(code: "reauthentication_required", detail: nil)
      $0.password = Secret("right")
    }
    let phone = try #require(model.others.first)
    await model.end(phone)
    #expect(model.needsPassword && model.failure == nil && model.devices.count == 3)
    await model.confirm(password: "wrong")
    #expect(model.needsPassword && model.failure?.word == .errorWrongCredentials)
    await model.confirm(password: "right")
    #expect(!model.needsPassword && model.failure == nil)
    #expect(model.devices.map(\.name) == ["mac", "tv"])

    service.content.withLock { $0.error = .refused(code: "reauthentication_required", detail: nil) }
    await model.endOthers()
    #expect(model.needsPassword)
    model.dismissPassword()
    await model.confirm(password: "right")
    #expect(!model.needsPassword && model.devices.count == 2, "nothing is repeated after the user declined")
  }

  @Test func `keeps showing the last list while the server is unreachable`() async throws {
    let model = DevicesModel(service)
    service.content.withLock { $0.error = .requestFailed(.network(.timedOut)) }
    await model.load()
    #expect(!model.isLoaded && model.failure?.word == .errorUnreachable)
    service.content.withLock { $0.error = nil }
    await model.load()
    #expect(model.isLoaded && model.failure == nil)
    service.content.withLock { $0.error = .requestFailed(.network(.timedOut), retryAfter: .milliseconds(1500)) }
    let phone = try #require(model.others.first)
    await model.end(phone)
    #expect(model.devices.count == 3 && model.ending.isEmpty)
    #expect(model.failure == Wording(.errorUnreachableFor, "2", recovery: .retry(after: .milliseconds(1500))))
    await model.endOthers()
    #expect(model.devices.count == 3 && !model.isEndingOthers)
  }

  @Test func `does not replace a newer list with an older one`() async throws {
    let model = DevicesModel(service)
    let gate = Gate()
    service.content.withLock { $0.gate = gate }
    let late = Task { await model.load() }
    await gate.arrivals(1)
    service.content.withLock { content in
      content.gate = nil
      content.list.removeLast()
    }
    await model.load()
    #expect(model.devices.count == 2)
    gate.open()
    await late.value
    #expect(model.devices.count == 2)
  }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The list of accounts` {
  let service = ScriptedAccounts()
  private let ada = ListedAccount(id: "ada", name: "Ada", addedAt: UnixTime(milliseconds: 0))
  private let bob = ListedAccount(id: "bob", name: "Bob", addedAt: UnixTime(milliseconds: 1))

  @Test func `distinguishes loading, empty, failed and loaded`() {
    let model = AccountSwitcherModel(service)
    #expect(model.state == .loading)
    service.storageError = .locked
    #expect(model.state == .failed(Wording(.errorLocked, recovery: .unlockDevice)))
    service.storageError = nil
    service.isLoaded = true
    #expect(model.state == .empty)
    service.accounts = [ada]
    service.storageError = .locked
    #expect(model.state == .accounts && model.accounts == [ada])
  }

  @Test func `switches and removes accounts`() async throws {
    service.accounts = [ada, bob]
    service.activeID = "ada"
    let model = AccountSwitcherModel(service)
    #expect(model.isActive(ada) && !model.isActive(bob))
    await model.activate(bob)
    #expect(model.isActive(bob) && model.failure == nil && model.busy.isEmpty)
    await model.remove(bob)
    #expect(model.accounts == [ada] && !model.isActive(ada))
  }

  @Test func `runs one operation per account at a time, and shows it`() async throws {
    service.accounts = [ada, bob]
    let model = AccountSwitcherModel(service)
    let gate = Gate()
    service.gate = gate
    let switching = Task { await model.activate(bob) }
    await observed { model.busy == ["bob"] }
    await model.remove(bob)
    #expect(service.accounts.count == 2)
    gate.open()
    await switching.value
    #expect(model.isActive(bob) && model.busy.isEmpty)
  }

  @Test func `shows a failure until the next attempt`() async throws {
    service.accounts = [ada]
    let model = AccountSwitcherModel(service)
    service.error = .storage(.unavailable("x"))
    await model.activate(ada)
    #expect(model.failure?.word == .errorStorage && !model.isActive(ada) && model.busy.isEmpty)
    await model.remove(ada)
    #expect(model.accounts == [ada] && model.failure?.word == .errorStorage)
    service.error = nil
    await model.activate(ada)
    #expect(model.failure == nil && model.isActive(ada))
  }

  @Test func `reflects the app's accounts`() async throws {
    let accounts = Accounts<Int>(store: MemoryAccountsStore()) { _ in
      SessionManager(backend: NoAccounts(), vault: MemoryVault(), baseURL: base) { _ in 0 }
    }
    let model = AccountSwitcherModel(accounts)
    await observed { model.state == .empty }
    let id = try await accounts.add { try await NoAccounts().signIn(email: "", password: Secret(""), code: nil) }
    #expect(model.accounts.map(\.id) == [id])
    let account = try #require(model.accounts.first)
    #expect(model.isActive(account))
    await model.remove(account)
    #expect(model.state == .empty && accounts.activeID == nil)
  }
}
