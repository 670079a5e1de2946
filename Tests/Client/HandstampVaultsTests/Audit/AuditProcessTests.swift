import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct `An audit log of several processes` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test func `has every process's entries once, in one chain`() async throws {
    let children = try (0..<6).map { try Child(home.vaults, "audit", "12", "process \($0)") }
    for child in children { #expect(Int(try await child.end()) != nil) }
    let trail = try await home.audit().trail()
    #expect(trail.isIntact)
    let counts = Dictionary(grouping: trail.entries, by: \.outcome).mapValues(\.count)
    #expect(counts.values.allSatisfy { $0 == 12 })
    #expect(counts.count == 6)
  }

  @Test func `is never broken by a killed process`() async throws {
    for round in 0..<12 {
      let children = try (0..<3).map { try Child(home.vaults, "audit", "100000", "round \(round) process \($0)") }
      await othersFirst { (try? home.bytes(home.log).count) ?? 0 > 500 * (round % 5) }
      for child in children { await child.kill() }
      let verdict = try await home.audit().trail().verdict
      guard case .intact = verdict else {
        Issue.record("round \(round): \(verdict)")
        return
      }
    }
    #expect(Int(try await Child(home.vaults, "audit", "1", "the end").end()) != nil)
  }

  @Test(.enabled("needs strace and permission to trace") { await Strace.isUsable() })
  func `is never broken by a kill at any system call, rotation included`() async throws {
    // So full that the next entries cause a rotation.
    _ = try await Child(home.vaults, "audit", "46", "before").end()
    var kept: [String: [UInt8]] = [:]
    for name in home.names() { kept[name] = try home.bytes(name) }
    #expect(!home.names().contains(home.log + "-older"))
    var kills = 0
    for call in ["write", "fsync", "renameat", "flock", "openat"] {
      for number in 1... {
        for name in home.names() { try home.remove(name) }
        for (name, bytes) in kept {
          try home.write(bytes, to: name)
          try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(home.vaults)/\(name)")
        }
        let child = try Strace.probe(
          [home.vaults, "audit", "6", "killed"], inject: "\(call):signal=SIGKILL:when=\(number)")
        let output = try await child.end()
        let before = try await home.audit().trail()
        #expect(before.verdict == .intact(newer: UInt64(before.lines.count)), "\(call) \(number)")
        #expect(Int(try await Child(home.vaults, "audit", "3", "after").end()) != nil)
        let after = try await home.audit().trail()
        #expect(after.isIntact, "\(call) \(number): \(after.verdict)")
        #expect(after.entries.suffix(3).map(\.outcome) == ["after", "after", "after"])
        if Int(output) != nil {
          #expect(home.names().contains(home.log + "-older"))
          break
        }
        kills += 1
        try #require(kills < 400)
      }
    }
    #expect(kills > 20)
  }

  @Test(
    .enabled("needs strace and permission to trace") { await Strace.isUsable() },
    arguments: [("write:error=ENOSPC", "full: "), ("fsync:error=EIO", "unavailable: ")])
  func `on a failing disk blocks no session, and stays intact`(inject: String, error: String) async throws {
    _ = try await Child(home.vaults, "audit", "2", "before").end()
    let path = "\(home.vaults)/\(home.log)"
    let child = try Strace.probe([home.vaults, "audit", "1", "failing"], inject: "\(inject):when=1", path: path)
    let output = try await child.end()
    #expect(output.hasPrefix(error), "\(output)")
    // Nothing of the failed entry remains, and the next writer finds an intact log.
    #expect(try await home.audit().trail().verdict == .intact(newer: 2))
    #expect(try await Child(home.vaults, "audit", "1", "after").end() == "3")
  }
}

extension AuditTrail {
  var isIntact: Bool { if case .intact = verdict { true } else { false } }

  /// The recorded entries, without the log's entries about itself.
  var entries: [AuditEntry] { lines.compactMap { $0?.entry }.filter { $0.action != .log } }
}
