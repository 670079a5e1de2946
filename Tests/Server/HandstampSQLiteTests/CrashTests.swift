#if Server
import Foundation
import HandstampCore
import HandstampRegistry
import HandstampSQLite
import HandstampSupport
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

@Suite(.serialized, .timeLimit(.minutes(10))) struct `A SQLite store under faults` {
  @Test(arguments: 0..<10 as Range<UInt64>)
  func `killed during grouped writes loses no acknowledged write`(round: UInt64) async throws {
    let folder = try Folder()
    let path = folder.path
    // Twice on one database: the second child opens the file left by the killed one.
    for generation in 0..<2 as Range<UInt64> {
      let limit = 150 + round * 47
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, generation = generation as UInt64, limit = limit as UInt64] in
        try await writeUntilKilled(path, from: generation * 1_000_000, acknowledged: Int(limit))
      }
    }
    let acknowledged = try acknowledgements(in: path)
    #expect(acknowledged.count >= 300)
    let store = try folder.server.open().store
    let stored = try await store.events(after: .zero, account: nil, limit: 1_000_000)
    let events = Dictionary(grouping: stored, by: \.event.session).mapValues(\.count)
    var lost: [UInt64] = []
    for number in acknowledged {
      let row = try await store.session(session(number).id)
      let isThere = row?.counter == 1 && row?.revision == 1 && events[session(number).id] == 1
      if !isThere { lost.append(number) }
    }
    #expect(lost.isEmpty)
    // Unacknowledged writes are there completely or not at all.
    for row in try await store.sessions(of: ada.id) { #expect(row.counter == UInt64(row.revision)) }
  }

  @Test func `on a full disk is unavailable, loses nothing, and recovers when there is space`() async throws {
    let folder = try Folder()
    let path = folder.path
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try ServerFolder(path: path).open().store
      try await store.write([.createAccount(ada), .createSession(session(1))], events: [])
      // The kernel refuses to let any file grow beyond this limit, as a full disk would.
      signal(SIGXFSZ, SIG_IGN)
      try limitFileSize(to: 600_000)
      var written: UInt64 = 1
      var refused: RegistryStoreError?
      while refused == nil, written < 100_000 {
        do throws(RegistryStoreError) {
          try await store.write([.createSession(session(written + 1))], events: [])
          written += 1
        } catch {
          refused = error
        }
      }
      guard case .unavailable? = refused else { exit(2) }
      let all = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<50 as Range<UInt64> {
          group.addTask { (try? await store.write([.createSession(session(200_000 + number))], events: [])) == nil }
        }
        return await group.reduce(true) { $0 && $1 }
      }
      guard all, try await store.session(session(written).id) != nil else { exit(3) }
      try limitFileSize(to: nil)
      try await store.write([.createSession(session(300_000))], events: [])
      for number in 1...written {
        guard try await store.session(session(number).id) != nil else { exit(4) }
      }
      guard try await store.session(session(written + 1).id) == nil else { exit(5) }
    }
  }

  @Test func `without write permission is unavailable`() async throws {
    let folder = try Folder()
    let path = folder.path
    let store = try folder.server.open().store
    try await store.write([.createAccount(ada)], events: [])
    try store.close()
    await #expect(processExitsWith: .success) { [path = path as String] in
      try becomeNobody(owning: path)
      guard case .unavailable? = refusal(ServerFolder(path: path)) else { exit(2) }
    }
  }
}

/// Creates sessions and refreshes them from many tasks, and records the acknowledged ones, until it is killed.
func writeUntilKilled(_ path: String, from base: UInt64, acknowledged limit: Int) async throws {
  let store = try ServerFolder(path: path).open().store
  if try await store.account(ada.id) == nil { try await store.write([.createAccount(ada)], events: []) }
  let log = open(path + "/acknowledged", O_CREAT | O_APPEND | O_WRONLY, 0o600)
  let count = Locked(0)
  try await withThrowingTaskGroup(of: Void.self) { group in
    for task in 0..<64 as Range<UInt64> {
      group.addTask {
        for number in (base + task * 10_000)... {
          var row = session(number)
          try await store.write([.createSession(row)], events: [])
          row.counter = 1
          let event = RegistryEvent(kind: .sessionRevoked, account: ada.id, session: row.id, reason: .idle, at: start)
          try await store.write([.replaceSession(row, expecting: 0)], events: [event])
          // A single small append: it is written whole, and the kernel keeps it when the process dies.
          let line = "\(number)\n"
          _ = line.withCString { write(log, $0, strlen($0)) }
          // The others are in the middle of a write.
          let written = count.withLock { count in
            count += 1
            return count
          }
          if written == limit { kill(getpid(), SIGKILL) }
        }
      }
    }
    try await group.waitForAll()
  }
}

func acknowledgements(in path: String) throws -> [UInt64] {
  try String(contentsOfFile: path + "/acknowledged", encoding: .utf8).split(separator: "\n").compactMap { UInt64($0) }
}

func limitFileSize(to bytes: rlim_t?) throws {
  var limit = rlimit()
  #if canImport(Glibc)
  let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
  #else
  let resource = RLIMIT_FSIZE
  #endif
  guard getrlimit(resource, &limit) == 0 else { throw POSIXError(.EPERM) }
  limit.rlim_cur = bytes ?? limit.rlim_max
  guard setrlimit(resource, &limit) == 0 else { throw POSIXError(.EPERM) }
}

/// Removes its own permission to write the folder's files. Root may write anything, so it changes to another user.
func becomeNobody(owning path: String) throws {
  let nobody: uid_t = 65534
  let isRoot = getuid() == 0
  for name in try FileManager.default.contentsOfDirectory(atPath: path) {
    let file = path + "/" + name
    if isRoot { _ = chown(file, nobody, nobody) }
    _ = chmod(file, 0o400)
  }
  if isRoot { _ = chown(path, nobody, nobody) }
  _ = chmod(path, 0o500)
  if isRoot, setuid(nobody) != 0 { throw POSIXError(.EPERM) }
}
#endif
