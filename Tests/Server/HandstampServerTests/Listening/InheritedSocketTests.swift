#if Programs
import Foundation
import HandstampSupport
import HandstampTesting
import Testing

@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `A socket that outlives the server` {
  private static let request = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"

  /// Sends requests until `total` were counted, each connection as long as the server keeps it. Returns what went wrong.
  private static func load(_ base: String, _ sent: Locked<Int>, total: Int) async -> [String] {
    var failures: [String] = []
    while sent.withLock({ $0 < total }) {
      guard let client = try? RawSocket(base) else {
        failures.append("refused")
        continue
      }
      while sent.withLock({ sent in
        sent += 1
        return sent <= total
      }) {
        client.send(request)
        let (answer, end) = await client.receive(until: "ok\"}")
        guard answer.hasPrefix("HTTP/1.1 200 "), answer.hasSuffix("ok\"}") else {
          failures.append("\(end): \(answer.prefix(20))")
          break
        }
        if answer.lowercased().contains("connection: close") { break }
      }
    }
    return failures
  }

  @Test func `loses no request across restarts`() async throws {
    let socket = try ListeningSocket()
    try await TestServer.run {
      // Longer than a loaded machine keeps a client from sending its next request.
      $0.listener.idleGrace = .seconds(240)
      $0.shutdownLimit = .seconds(600)
    } body: { test in
      let (sent, finished, total) = (Locked(0), Locked(0), 3000)
      let failures = try await withThrowingTaskGroup(of: [String].self) { group in
        for _ in 0..<6 {
          group.addTask {
            defer { finished.withLock { $0 += 1 } }
            return await Self.load("http://127.0.0.1:\(socket.port)", sent, total: total)
          }
        }
        group.addTask {
          for restart in 1...5 {
            let running = try await test.server.start(on: .descriptor(socket.copy()))
            _ = await eventually { sent.withLock { $0 >= total * restart / 5 } }
            try await running.stop()
          }
          // The last requests may have been counted while no server ran.
          let running = try await test.server.start(on: .descriptor(socket.copy()))
          _ = await eventually { finished.withLock { $0 == 6 } }
          try await running.stop()
          return []
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      #expect(failures.isEmpty)
      #expect(sent.withLock { $0 } >= total)
    }
  }

  @Test func `serves one request of each connection that it has accepted, and then says that it ends`() async throws {
    let socket = try ListeningSocket()
    try await TestServer.run {
      $0.listener.idleGrace = .seconds(240)
      $0.shutdownLimit = .seconds(600)
    } body: { test in
      let running = try await test.server.start(on: .descriptor(socket.copy()))
      let new = try RawSocket("http://127.0.0.1:\(socket.port)")
      let used = try RawSocket("http://127.0.0.1:\(socket.port)")
      used.send(Self.request)
      #expect(await used.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
      #expect(await eventually { test.metrics.openConnections == 2 })
      async let stopping: Void = running.stop()
      #expect(await eventually { test.logs.text.contains("Stopped accepting connections") })
      let waiting = try RawSocket("http://127.0.0.1:\(socket.port)")
      for client in [new, used] {
        client.send(Self.request)
        let (answer, end) = await client.receive()
        #expect(answer.hasPrefix("HTTP/1.1 200 "))
        #expect(answer.lowercased().contains("connection: close\r\n"))
        #expect(end == .closed)
      }
      try await stopping
      // It waited for the next server.
      waiting.send(Self.request)
      let next = try await test.server.start(on: .descriptor(socket.copy()))
      #expect(await waiting.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
      // Otherwise the end waits for another request of it, as long as the grace is.
      waiting.finish()
      try await next.stop()
    }
  }

  @Test(arguments: [
    (["LISTEN_PID": "42", "LISTEN_FDS": "2"], [3, 4]), (["LISTEN_PID": "41", "LISTEN_FDS": "2"], []),
    (["LISTEN_PID": "42"], []), (["LISTEN_FDS": "1"], []), (["LISTEN_PID": "42", "LISTEN_FDS": "0"], []),
    (["LISTEN_PID": "42", "LISTEN_FDS": "-1"], []), (["LISTEN_PID": "42", "LISTEN_FDS": "99999"], []),
    (["LISTEN_PID": "x", "LISTEN_FDS": "1"], []),
  ]) func `is for the process that the variables name`(environment: [String: String], descriptors: [Int32]) {
    #expect(ListeningAddress.inherited(by: 42, environment: environment) == descriptors.map { .descriptor($0) })
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The service manager` {
  @Test(arguments: [true, false]) func `is told when the server is ready, and when it stops`(isAbstract: Bool)
    async throws
  {
    try await Tool.inFolder { folder in
      let name = isAbstract ? "@handstamp-\(UUID().uuidString)" : folder + "/notify"
      let manager = try NotificationSocket(name)
      let notifier = ServiceNotifier(environment: ["NOTIFY_SOCKET": name])
      try await TestServer.run { test in
        let running = try await test.server.start(on: .host("127.0.0.1", port: 0), notifier: notifier)
        #expect(await manager.next() == "READY=1")
        try await running.stop()
        #expect(await manager.next() == "STOPPING=1")
        notifier.reloading()
        #expect(await manager.next()?.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") == true)
      }
    }
  }

  @Test(arguments: ["", "relative", "/nowhere/notify", "/long"])
  func `may be missing`(name: String) {
    let name = name == "/long" ? "/" + String(repeating: "x", count: 200) : name
    let notifier = ServiceNotifier(environment: name.isEmpty ? [:] : ["NOTIFY_SOCKET": name])
    #expect(throws: Never.self) { notifier.ready() }
  }
}
#endif
