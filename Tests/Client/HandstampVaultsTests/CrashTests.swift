import Foundation
import Handstamp
import HandstampTesting
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A vault whose writer is killed` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test(arguments: SealedFileVault.WriteStep.allCases)
  func `reads as before or after the write, at every step`(step: SealedFileVault.WriteStep) async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    let before = try await Child(home.vaults, "read").end()
    let child = try Child(home.vaults, "begin", "s2", environment: ["VAULT_PROBE_KILL": step.rawValue])
    #expect(try await child.end().isEmpty)
    #expect(child.wasKilled)
    let isReplaced = step == .replaced || step == .durable
    #expect(try await Child(home.vaults, "read").end() == (isReplaced ? "2 s2 [\"s1\"]" : before))
    // The locks are free, and no temporary files are left.
    let next = try await Child(home.vaults, "begin", "s3").end()
    #expect(next.hasPrefix("done \(isReplaced ? 3 : 2) s3"), "\(next)")
    #expect(home.names(ending: ".partial").isEmpty)
  }

  @Test(arguments: SealedFileVault.WriteStep.allCases)
  func `is absent or complete if it was the first write`(step: SealedFileVault.WriteStep) async throws {
    let child = try Child(home.vaults, "begin", "s1", environment: ["VAULT_PROBE_KILL": step.rawValue])
    #expect(try await child.end().isEmpty)
    #expect(child.wasKilled)
    let isReplaced = step == .replaced || step == .durable
    #expect(try await Child(home.vaults, "read").end() == (isReplaced ? "1 s1 []" : "absent"))
    #expect(try await Child(home.vaults, "begin", "s1").end() == (isReplaced ? "done 2 s1 []" : "done 1 s1 []"))
  }

  @Test(.enabled("needs strace and permission to trace") { await Strace.isUsable() })
  func `is absent or complete if it was the first write, at every system call`() async throws {
    try await killAtEveryCall(["begin", "s1"], prepare: { _ in }, allowed: ["absent", "1 s1 []"])
  }

  @Test(.enabled("needs strace and permission to trace") { await Strace.isUsable() })
  func `reads as before or after the write, at every system call`() async throws {
    try await killAtEveryCall(["signout"], prepare: begin, allowed: ["1 s1 []", "2 - [\"s1\"]"])
  }

  @Test(.enabled("needs strace and permission to trace") { await Strace.isUsable() })
  func `is never absent while a damaged one is replaced, at every system call`() async throws {
    try await killAtEveryCall(
      ["begin", "s2"],
      prepare: { home in
        try await begin(home)
        try home.write([1, 2, 3], to: try #require(home.names(ending: ".vault").first))
      }, allowed: ["corrupt", "1 s2 []"])
  }

  /// Kills the probe just before each of its system calls in turn.
  private func killAtEveryCall(
    _ command: [String], prepare: (NewFolder) async throws -> Void, allowed: Set<String>
  ) async throws {
    var seen: Set<String> = []
    var kills = 0
    for call in ["mkdir", "flock", "fchmod", "pwrite64", "fsync", "linkat", "renameat", "unlinkat"] {
      for number in 1... {
        let home = try NewFolder()
        try await prepare(home)
        let child = try Strace.probe([home.vaults] + command, inject: "\(call):signal=SIGKILL:when=\(number)")
        let output = try await child.end()
        let reading = try await Child(home.vaults, "read").end()
        #expect(allowed.contains(reading), "\(call) \(number): \(reading)")
        seen.insert(reading)
        let next = try await Child(home.vaults, "begin", "s9").end()
        #expect(next.contains(" s9 "), "\(call) \(number): \(next)")
        #expect(home.names(ending: ".partial").isEmpty)
        // There are fewer such calls.
        if output.hasPrefix("done") { break }
        kills += 1
        try #require(kills < 100)
      }
    }
    #expect(seen == allowed)
    #expect(kills > 5)
  }

  private func begin(_ home: NewFolder) async throws { _ = try await Child(home.vaults, "begin", "s1").end() }
}

@Suite(
  .serialized, .enabled("needs strace and permission to trace") { await Strace.isUsable() }, .timeLimit(.minutes(10)))
struct `A vault and its system calls` {
  let home: NewFolder

  init() throws { home = try NewFolder() }

  @Test func `reach the disk in order before a write is reported`() async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    #expect(
      try await trace(["prepare", "s1", "7"]) == [
        "flock store.lock", "pwrite64 vault.partial", "fsync vault.partial", "renameat vault.partial", "fsync folder",
        "flock store.lock", "write done",
      ])
  }

  @Test func `put the key on disk before the first vault`() async throws {
    let calls = try await trace(["begin", "s1"]).filter { !$0.contains("CACHEDIR") && !$0.hasPrefix("flock") }
    #expect(
      calls.drop { !$0.contains("key") } == [
        "pwrite64 key.partial", "fsync key.partial", "linkat key.partial", "fsync folder", "pwrite64 vault.partial",
        "fsync vault.partial", "renameat vault.partial", "pwrite64 vault.partial", "fsync vault.partial",
        "renameat vault.partial", "fsync folder", "write done",
      ])
  }

  @Test func `reserve space for the tokens before an attempt is recorded`() async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    try home.remove(try #require(home.names(ending: ".room").first))
    #expect(
      try await trace(["attempt", "s1"]) == [
        "flock store.lock", "pwrite64 vault.partial", "fsync vault.partial", "renameat vault.partial",
        "pwrite64 vault.partial", "fsync vault.partial", "renameat vault.partial", "fsync folder", "flock store.lock",
        "write done",
      ])
  }

  @Test func `sync another process's key write before it is read`() async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    #expect(try await trace(["read"]) == ["write 1"])
    _ = try await Child(home.vaults, "prepare", "s1", "7").end()
    #expect(try await trace(["read"]) == ["fsync folder", "write 2"])
    let second = try await trace(["prepare", "s1", "8"])
    #expect(second == ["fsync folder", "flock store.lock", "flock store.lock", "write done"])
  }

  @Test(arguments: [
    ("pwrite64", 1, "ENOSPC", "full: disk full"), ("pwrite64", 1, "EIO", "unavailable: input or output error"),
    ("fsync", 1, "EIO", "unavailable: input or output error"), ("renameat", 1, "ENOSPC", "full: disk full"),
    ("flock", 1, "ENOLCK", "unavailable: the file system lacks"),
    ("fsync", 2, "EIO", "unavailable: input or output error"),
  ])
  func `that fail are reported, and leave the old entry in place`(call: (String, Int, String, String)) async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    let child = try Strace.probe(
      [home.vaults, "prepare", "s1", "7"], inject: "\(call.0):error=\(call.2):when=\(call.1)")
    let output = try await child.end()
    #expect(output.hasPrefix("failed \(call.3)"), "\(output)")
    // Only the last one comes after the file was replaced: a power failure may lose that write, and the error says so.
    #expect(try await Child(home.vaults, "read").end() == (call.1 == 2 ? "2 s1 []" : "1 s1 []"))
    #expect(home.names(ending: ".partial").isEmpty)
  }

  @Test func `that fail after a sign-out was written keep it, and report it as not durable`() async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    let output = try await Strace.probe([home.vaults, "signout"], inject: "fsync:error=EIO:when=2").end()
    #expect(output.hasPrefix("failed unavailable: input or output error"), "\(output)")
    #expect(try await Child(home.vaults, "read").end() == "2 - [\"s1\"]")
  }

  @Test(arguments: ["pwrite64:error=EIO:when=1", "fsync:error=EIO:when=1", "renameat:error=ENOSPC:when=1"])
  func `that fail before a sign-out is written let it use its reserved space`(inject: String) async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    let output = try await Strace.probe([home.vaults, "signout"], inject: inject).end()
    #expect(output == "done 2 - [\"s1\"]")
    #expect(try await Child(home.vaults, "read").end() == "2 - [\"s1\"]")
    #expect(home.names(ending: ".room").isEmpty && home.names(ending: ".partial").isEmpty)
  }

  @Test(arguments: [
    ("pwrite64:error=EIO", "unavailable"), ("fsync:error=EIO", "unavailable"), ("renameat:error=ENOSPC", "full"),
  ])
  func `that always fail leave no secret after a sign-out, and report it as not durable`(
    inject: String, error: String
  ) async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    let output = try await Strace.probe([home.vaults, "signout"], inject: inject).end()
    #expect(output.hasPrefix("failed \(error): "), "\(output)")
    let left = [".vault", ".room", ".partial"].flatMap { home.names(ending: $0) }
    #expect(left.isEmpty, "\(left)")
    #expect(try await Child(home.vaults, "begin", "s2").end().hasPrefix("done "))
  }

  @Test func `that are interrupted by a signal are repeated`() async throws {
    _ = try await Child(home.vaults, "begin", "s1").end()
    for call in ["pwrite64", "fsync", "renameat", "flock"] {
      let child = try Strace.probe([home.vaults, "touch", "s1", "1"], inject: "\(call):error=EINTR:when=1")
      let output = try await child.end()
      #expect(output.hasPrefix("done "), "\(call): \(output)")
    }
  }

  /// The relevant calls, abbreviated.
  private func trace(_ command: [String]) async throws -> [String] {
    let log = "\(home.path)/trace"
    _ = try await Strace.probe([home.vaults] + command, log: log).end()
    let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
    return lines.compactMap { line -> String? in
      let call = line.drop { $0.isNumber || $0 == " " }
      guard let name = call.split(separator: "(").first, !call.hasPrefix("<"), !call.hasPrefix("+") else { return nil }
      if name == "write" {
        guard let text = call.split(separator: "\"").dropFirst().first, call.hasPrefix("write(1<") else { return nil }
        return "write \(text.prefix { $0 != " " })"
      }
      if call.contains("vault.key.") { return "\(name) key.partial" }
      if call.contains(".partial") { return "\(name) vault.partial" }
      if call.contains("/store.lock") { return "\(name) store.lock" }
      if call.contains("CACHEDIR") { return "\(name) CACHEDIR.TAG" }
      return call.contains("/vault>") ? "\(name) folder" : nil
    }
  }
}

/// The probe under strace, which shows its system calls, makes them fail, or kills it there.
enum Strace {
  static func isUsable() async -> Bool { await Child.succeeds("strace", "-f", "-o", "/dev/null", "true") }

  /// With a path, only calls on that file.
  static func probe(_ arguments: [String], inject: String, path: String? = nil) throws -> Child {
    let only = path.map { ["-P", $0] } ?? []
    return try Child(
      ["strace", "-f", "-q", "-o", "/dev/null"] + only + ["-e", "inject=\(inject)", Child.probe] + arguments)
  }

  /// With the paths of file descriptors.
  static func probe(_ arguments: [String], log: String) throws -> Child {
    let calls = "trace=pwrite64,fsync,renameat,linkat,flock,write"
    return try Child(["strace", "-f", "-q", "-y", "-s", "16", "-o", log, "-e", calls, Child.probe] + arguments)
  }
}
