#if Programs
import HTTPTypes
import HandstampCore
import HandstampSupport
import HandstampTesting
import Hummingbird
import NIOCore
import NIOEmbedded
import Testing

@testable import HandstampHTTP
@testable import HandstampServer

@Suite(.timeLimit(.minutes(10))) struct `Connections beyond the limit` {
  private static let request = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"

  @Test func `close the one that has been idle for longest`() async throws {
    try await TestServer.run {
      $0.listener.connections = 3
      $0.listener.connectionsPerAddress = 3
    } body: { test in
      var open: [RawSocket] = []
      // One after the other: each has an event loop of its own.
      for count in 1...3 {
        open.append(try RawSocket(test.client.base))
        #expect(await eventually { test.metrics.openConnections == count })
      }
      // The first is no longer the oldest.
      open[0].send(Self.request)
      #expect(await open[0].receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
      let new = try RawSocket(test.client.base)
      new.send(Self.request)
      #expect(await new.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
      #expect(await open[1].receive() == ("", .closed))
      #expect(!open[0].isReadable && !open[2].isReadable)
      #expect(test.metrics.closedIdleConnections == 1)
      #expect(test.metrics.refusedConnections == 0)
      #expect(test.logs.text.contains("Idle connection closed for a new one"))
    }
  }

  @Test func `are closed at once while all others have requests, which all get their answers`() async throws {
    let gate = RequestGate()
    try await TestServer.run(middlewares: [gate]) {
      $0.listener.connections = 3
    } body: { test in
      let busy = try (0..<3).map { _ in try RawSocket(test.client.base) }
      for connection in busy { connection.send(Self.request) }
      await gate.arrivals(3)
      // Together, because the log counts what comes within ten seconds.
      for refused in try (0..<5).map({ _ in try RawSocket(test.client.base) }) {
        let (answer, end) = await refused.receive()
        #expect(answer.isEmpty && end != .open)
      }
      #expect(test.metrics.refusedConnections == 5)
      #expect(test.logs.lines.count { $0.contains("Connection refused") } == 1)
      gate.open()
      for connection in busy {
        #expect(await connection.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
      }
      let next = try RawSocket(test.client.base)
      next.send(Self.request)
      #expect(await next.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
    }
  }

  @Test func `of one address close its own, and leave others alone`() async throws {
    try await TestServer.run {
      $0.listener.connectionsPerAddress = 2
    } body: { test in
      let other = try RawSocket(test.client.base, from: "127.0.0.9")
      #expect(await eventually { test.metrics.openConnections == 1 })
      var greedy: [RawSocket] = []
      for count in 1...2 {
        greedy.append(try RawSocket(test.client.base, from: "127.0.0.8"))
        #expect(await eventually { test.metrics.openConnections == count + 1 })
      }
      let third = try RawSocket(test.client.base, from: "127.0.0.8")
      #expect(await greedy[0].receive() == ("", .closed))
      #expect(!other.isReadable && !greedy[1].isReadable && !third.isReadable)
    }
  }

  @Test func `of a trusted proxy are not counted by address`() async throws {
    try await TestServer.run {
      $0.listener.connectionsPerAddress = 1
      $0.trustedProxies = TrustedProxies([AddressRange("127.0.0.8")].compactMap { $0 })
    } body: { test in
      let open = try (0..<5).map { _ in try RawSocket(test.client.base, from: "127.0.0.8") }
      #expect(await eventually { test.metrics.openConnections == 5 })
      #expect(open.allSatisfy { !$0.isReadable })
    }
  }

  @Test func `of a proxy that a reload has made trusted are not counted by address`() async throws {
    try await TestServer.run {
      $0.listener.connectionsPerAddress = 1
    } body: { test in
      var settings = test.server.configuration
      settings.trustedProxies = TrustedProxies([AddressRange("127.0.0.8")].compactMap { $0 })
      try await test.server.reload(settings, registry: test.server.registry, keys: test.keys)
      let open = try (0..<5).map { _ in try RawSocket(test.client.base, from: "127.0.0.8") }
      #expect(await eventually { test.metrics.openConnections == 5 })
      #expect(open.allSatisfy { !$0.isReadable })
    }
  }

  @Test func `that have sent half a request are idle`() async throws {
    try await TestServer.run {
      $0.listener.connections = 2
    } body: { test in
      let slow = try (0..<2).map { _ in try RawSocket(test.client.base) }
      for connection in slow { connection.send("GET /health HTTP/1.1\r\nX: ") }
      #expect(await eventually { test.metrics.openConnections == 2 })
      let honest = try RawSocket(test.client.base)
      honest.send(Self.request)
      #expect(await honest.receive(until: "ok\"}").text.hasPrefix("HTTP/1.1 200 "))
    }
  }
}

/// Holds requests until it is opened.
final class RequestGate: MiddlewareProtocol, Sendable {
  private let gate = Gate()

  func arrivals(_ count: Int) async { await gate.arrivals(count) }
  func open() { gate.open() }

  func handle(
    _ input: Request, context: ServerContext,
    next: @concurrent (Request, ServerContext) async throws -> Response
  ) async throws -> Response {
    await gate.wait()
    return try await next(input, context)
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The order of idle connections` {
  private struct Model {
    var idle: [Int] = []
    var busy: Set<Int> = []
    var leaving: Set<Int> = []
    var addresses: [Int: IPAddress?] = [:]
    func count(_ address: IPAddress?) -> Int {
      (idle + Array(busy)).count { addresses[$0] == .some(address) }
    }
  }

  @Test(arguments: 0..<50 as Range<UInt64>) func `is that of a plain list`(seed: UInt64) throws {
    var random = SeededGenerator(seed)
    let hosts: [IPAddress?] = [nil, IPAddress("10.0.0.1"), IPAddress("10.0.0.2"), IPAddress("2001:db8::1")]
    var order = IdleOrder(limit: 8, limitPerAddress: 4)
    var model = Model()
    for _ in 0..<400 {
      let all = model.idle + model.busy.sorted() + model.leaving.sorted()
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let address = hosts.randomElement(using: &random) ?? nil
        var closing: Int?
        var expected: IdleOrder.Admission?
        if address != nil, model.count(address) >= 4 {
          if let oldest = model.idle.first(where: { model.addresses[$0] == .some(address) }) {
            closing = oldest
          } else {
            expected = .refusedForAddress
          }
        } else if model.idle.count + model.busy.count >= 8 {
          if let oldest = model.idle.first { closing = oldest } else { expected = .refused }
        }
        let admission = order.admit(address)
        if let expected {
          #expect(admission == expected)
          continue
        }
        guard case .admitted(let number, closing) = admission else {
          Issue.record("\(admission), expected to close \(closing ?? -1)")
          return
        }
        #expect(!all.contains(number))
        if let closing {
          model.idle.removeAll { $0 == closing }
          model.leaving.insert(closing)
        }
        model.idle.append(number)
        model.addresses[number] = .some(address)
      case 1:
        guard let number = all.randomElement(using: &random) else { continue }
        order.begin(number)
        model.idle.removeAll { $0 == number }
        model.leaving.remove(number)
        model.busy.insert(number)
      case 2:
        guard let number = all.randomElement(using: &random) else { continue }
        order.end(number)
        if model.busy.remove(number) != nil { model.idle.append(number) }
      default:
        guard let number = all.randomElement(using: &random) else { continue }
        order.remove(number)
        model.idle.removeAll { $0 == number }
        model.busy.remove(number)
        model.leaving.remove(number)
        model.addresses[number] = nil
      }
      #expect(order.count == model.idle.count + model.busy.count)
    }
  }

  private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
      return value ^ (value >> 31)
    }
  }
}

@Suite(.timeLimit(.minutes(10))) struct `A failure to accept a connection` {
  /// The loop would repeat the accept that has failed for as long as the channel reads by itself.
  @Test func `is reported and counted, and stops the channel from reading for a pause`() async throws {
    let (metrics, logs) = (ServerMetrics(), LogCapture())
    let channel = EmbeddedChannel(handlers: [
      AcceptWatch(count: { metrics.add($1, to: $0) }, log: ThrottledLogger(logs.logger))
    ])
    var isReading: Bool? {
      channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
    }
    for _ in 0..<100 { channel.pipeline.fireErrorCaught(IOError(errnoCode: EMFILE, reason: "accept")) }
    #expect(isReading == false)
    #expect(metrics.snapshot.acceptFailures == 100)
    #expect(logs.lines.count == 1)
    #expect(logs.text.contains("Accepting connections failed"))
    channel.embeddedEventLoop.advanceTime(by: TimeAmount(ListenerOptions.acceptPause) - .nanoseconds(1))
    #expect(isReading == false)
    channel.embeddedEventLoop.advanceTime(by: .nanoseconds(1))
    #expect(isReading == true)
    _ = try? channel.finish()
  }

  @Test(arguments: [true, false])
  func `has the channel read no more once it is to quiesce, before or after`(isBefore: Bool) throws {
    let channel = EmbeddedChannel(
      handlers: [AcceptWatch(count: { _, _ in }, log: ThrottledLogger(LogCapture().logger))])
    var isReading: Bool? {
      channel.options.last { $0.option is ChannelOptions.Types.AutoReadOption }?.value as? Bool
    }
    let failure = IOError(errnoCode: EMFILE, reason: "accept")
    if isBefore { channel.pipeline.fireErrorCaught(failure) }
    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    #expect(isReading == false)
    if !isBefore { channel.pipeline.fireErrorCaught(failure) }
    channel.embeddedEventLoop.advanceTime(by: TimeAmount(ListenerOptions.acceptPause))
    #expect(isReading == false)
    _ = try? channel.finish()
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The log of a flood` {
  @Test func `has a line at first, and one with the count every ten seconds`() {
    let logs = LogCapture()
    let time = Locked(UnixTime(seconds: 1_800_000_000))
    let log = ThrottledLogger(logs.logger, now: { time.withLock { $0 } })
    for _ in 0..<1000 { log.note(.refusedConnection) }
    #expect(logs.lines.count == 1)
    #expect(logs.entries.first?.metadata["handstamp.count"] == "1")
    func advance(by duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
    advance(by: ThrottledLogger.interval - .milliseconds(1))
    log.tellRest()
    log.note(.refusedConnection)
    log.note(.acceptFailed, cause: "Too many open files")
    #expect(logs.lines.count == 2, "another event has its own line")
    advance(by: .milliseconds(1))
    log.note(.refusedConnection)
    #expect(logs.lines.count == 3)
    #expect(logs.entries.last?.metadata["handstamp.count"] == "1001")
    // The last events are told as well, and at the end without a wait.
    for _ in 0..<5 { log.note(.refusedConnection) }
    advance(by: ThrottledLogger.interval)
    log.tellRest()
    #expect(logs.entries.last?.metadata["handstamp.count"] == "5")
    for _ in 0..<3 { log.note(.acceptFailed) }
    log.tellRest(isEnd: true)
    #expect(logs.entries.last?.metadata["handstamp.count"] == "2")
    log.tellRest(isEnd: true)
    #expect(logs.lines.count == 6)
  }

  @Test func `limits follow the descriptors of the process`() {
    var options = ListenerOptions()
    #expect(options.connectionLimits(descriptors: 256) == (160, 20))
    #expect(options.connectionLimits(descriptors: 20) == (16, 16))
    #expect(options.connectionLimits(descriptors: 1 << 20) == (32_768, 4096))
    #expect(ListenerOptions.acceptsAtOnce(of: 32_768, descriptors: 1 << 20) == 256)
    #expect(ListenerOptions.acceptsAtOnce(of: 900, descriptors: 1024) == 28)
    #expect(ListenerOptions.acceptsAtOnce(of: 928, descriptors: 1024) == 4)
    options.connections = 10
    #expect(options.connectionLimits(descriptors: 1024) == (10, 10))
    // As an agent asks for: never more than there are descriptors.
    options.connections = 256
    #expect(options.connectionLimits(descriptors: 1024) == (256, 32))
    #expect(options.connectionLimits(descriptors: 200) == (104, 16))
    #expect(options.connectionLimits(descriptors: 20) == (16, 16))
  }
}
#endif
