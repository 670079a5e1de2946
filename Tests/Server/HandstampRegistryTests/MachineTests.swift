import HandstampCore
import HandstampTesting
import Testing

@testable import HandstampRegistry

@Suite(.timeLimit(.minutes(10))) struct `A client with tokens of its own` {
  @Test func `has one session for all of them, until they are ended`() async throws {
    let world = try await World()
    let first = try await world.registry.countToken(ofMachine: "nightly", now: start)
    let second = try await world.registry.countToken(ofMachine: "nightly", now: after(.seconds(60)))
    #expect(first.session == second.session && second.count == 2 && second.issuedAt == after(.seconds(60)))
    let other = try await world.registry.countToken(ofMachine: "deploy", now: start)
    #expect(other.session != first.session)
    #expect(try await world.registry.machines(now: after(.seconds(60))).map(\.client) == ["nightly", "deploy"])

    let before = try await world.registry.lastEventID()
    #expect(try await world.registry.endTokens(ofMachine: "nightly", now: after(.seconds(61))) == second)
    let events = try await world.registry.events(after: before).map(\.event)
    #expect(events.map(\.session) == [first.session] && events.map(\.kind) == [.sessionRevoked])
    let next = try await world.registry.machine("nightly", now: after(.seconds(62)))
    #expect(next?.session != first.session && next?.count == 2)
    #expect(try await world.registry.machine("deploy", now: start)?.session == other.session)
    #expect(try await world.registry.endTokens(ofMachine: "unknown", now: start) == nil)
  }

  @Test func `is counted by many servers at once, and never refused for it`() async throws {
    let world = try await World()
    let sessions = try await withThrowingTaskGroup(of: SessionID.self) { group in
      for _ in 0..<200 {
        group.addTask { try await world.registry.countToken(ofMachine: "nightly", now: start).session }
      }
      return try await group.reduce(into: Set<SessionID>()) { $0.insert($1) }
    }
    #expect(sessions.count == 1)
    let machine = try #require(try await world.registry.machine("nightly", now: start))
    #expect((1...200).contains(machine.count))
  }

  @Test func `is forgotten a month after the last, and then has another session`() async throws {
    let world = try await World()
    let first = try await world.registry.countToken(ofMachine: "nightly", now: start)
    let end = start.advanced(by: MachineRecord.memory)
    #expect(try await world.registry.machine("nightly", now: end.advanced(by: .milliseconds(-1))) == first)
    #expect(try await world.registry.machine("nightly", now: end) == nil)
    #expect(try await world.registry.machines(now: end).isEmpty)
    let next = try await world.registry.countToken(ofMachine: "nightly", now: end)
    #expect(next.session != first.session && next.count == 1)
  }

  @Test func `is in the audit log once, and again from another address`() async throws {
    let world = try await World()
    for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2"] {
      _ = try await world.registry.acting(as: .server(from: address)).countToken(ofMachine: "nightly", now: start)
    }
    let entries = try await world.registry.auditedActions(limit: 100).map(\.audited)
    let own = entries.filter { $0.action == AuditedAction.Kind.machineToken.rawValue }
    #expect(own.map(\.address) == ["192.0.2.1", "192.0.2.2"])
    #expect(own.allSatisfy { $0.details == #"{"client":"nightly"}"# && $0.account == nil })
  }
}
