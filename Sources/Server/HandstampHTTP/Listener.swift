#if HTTP
import HandstampSupport
package import HummingbirdCore
package import Logging
package import NIOCore
import NIOPosix
import ServiceLifecycle

/// The one HTTP server of this package, for the session server, the page of its metrics, the gate and the agent: accepts connections,
/// and serves them until it shuts down. Everything else in its folder is reached through it, and knows nothing of sessions.
package struct Listener: Service, CustomStringConvertible {
  private let addresses: [ListeningAddress]
  private let host: ExchangeHost
  package let identity: TLSIdentity?
  private let descriptors: Int
  private let limits: (all: Int, perAddress: Int)
  private let notifier: ServiceNotifier
  private let onReady: @Sendable (_ port: Int) async -> Void
  private let group: MultiThreadedEventLoopGroup
  private static let single = MultiThreadedEventLoopGroup(numberOfThreads: 1)

  /// - Parameters:
  ///   - isApart: whether it shares no thread with the others, and answers in time however busy they are.
  ///   - promptPaths: the paths whose requests compute little: they run on the event loop of their connection.
  ///   - count: counts connections and their failures; by default nothing does.
  ///   - notifier: tells the service manager when the listener accepts connections, and when it stops.
  ///   - onReady: called once, with the port of the first address (0 for a Unix domain socket), when it accepts connections.
  ///   - respond: called for each request, when its body is complete or will not be, with its connection or stream. Errors are answered
  ///     500 without a body.
  package init(
    on addresses: [ListeningAddress], options: ListenerOptions, isApart: Bool = false,
    promptPaths: Set<Substring> = [], count: @escaping ListenerCount.Add = { _, _ in }, logger: Logger,
    notifier: ServiceNotifier = .silent, onReady: @escaping @Sendable (_ port: Int) async -> Void,
    respond: @escaping @Sendable (Request, any Channel) async throws -> Response
  ) throws(ListenError) {
    for case .descriptor(let descriptor) in addresses where BoundSocket(descriptor) == nil {
      throw .notListening(.descriptor(descriptor))
    }
    self.addresses = addresses
    group = isApart ? Listener.single : .singleton
    self.notifier = notifier
    self.onReady = onReady
    identity = try options.tls.map { files throws(ListenError) in
      try TLSIdentity(files, count: count, logger: logger)
    }
    descriptors = DescriptorLimit.raise()
    limits = options.connectionLimits(descriptors: descriptors)
    let log = ThrottledLogger(logger)
    host = ExchangeHost(
      options: options, respond: respond, table: ConnectionTable(limits: limits, count: count, log: log),
      tasks: RequestTasks(on: group, prompt: promptPaths), count: count, log: log, logger: logger)
  }

  /// The name of the service in logs.
  package var description: String { "Listener" }

  package func run() async throws {
    let channels = try await bound()
    // Not before: a server that cannot start says only why.
    host.logger.info(
      "Connection limits",
      metadata: [
        "handstamp.descriptors": "\(descriptors)", "handstamp.connections": "\(limits.all)",
        "handstamp.per_address": "\(limits.perAddress)",
      ])
    for channel in channels {
      // Nothing is left to accept with; the server ends instead of being silent.
      channel.closeFuture.whenComplete { [host] _ in host.table.drain() }
    }
    await onReady(channels.first?.localAddress?.port ?? 0)
    if !Task.isCancelled { notifier.ready() }
    let following = Task { [identity] in await identity?.follow() }
    let telling = Task { [host] in
      while (try? await Task.sleep(for: ThrottledLogger.interval)) != nil { host.log.tellRest() }
    }
    await withTaskCancellationHandler {
      await withGracefulShutdownHandler {
        await host.table.over()
      } onGracefulShutdown: {
        notifier.stopping()
        Task { await stop(channels) }
      }
    } onCancel: {
      for channel in channels { channel.close(promise: nil) }
      host.table.abort()
    }
    following.cancel()
    telling.cancel()
    host.log.tellRest(isEnd: true)
    // A Unix domain socket is removed with its channel; by then it must not be that of the next server.
    for channel in channels {
      channel.close(promise: nil)
      try? await channel.closeFuture.get()
    }
  }

  /// Stops accepting. A connection that was accepted is served, so that a client cannot tell a restart from a busy moment.
  private func stop(_ channels: [any Channel]) async {
    for channel in channels {
      try? await channel.eventLoop.submit {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      }.get()
    }
    // Connections that the channels have accepted are on their way to other event loops.
    for loop in group.makeIterator() { try? await loop.submit {}.get() }
    for channel in channels { try? await channel.eventLoop.submit {}.get() }
    host.logger.info("Stopped accepting connections")
    host.table.drain()
    for channel in channels { try? await channel.close().get() }
  }

  private func bound() async throws(ListenError) -> [any Channel] {
    var channels: [any Channel] = []
    for address in addresses {
      do throws(ListenError) {
        channels.append(try await bound(to: address))
      } catch {
        for channel in channels { try? await channel.close().get() }
        throw error
      }
    }
    return channels
  }

  private func bound(to address: ListeningAddress) async throws(ListenError) -> any Channel {
    let bootstrap = bootstrap(for: address)
    do {
      switch address {
      case .host(let host, let port): return try await bootstrap.bind(host: host, port: port).get()
      case .unixSocket(let path):
        return try await bootstrap.bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
      case .descriptor(let descriptor):
        BoundSocket.protect(descriptor)
        return try await bootstrap.withBoundSocket(descriptor).get()
      }
    } catch let error as IOError {
      throw .address(address, cause: String(cString: strerror(error.errnoCode)))
    } catch {
      throw .address(address, cause: "\(error)")
    }
  }

  private func bootstrap(for address: ListeningAddress) -> ServerBootstrap {
    let pipeline = ConnectionPipeline(host: host)
    let grace = host.options.idleGrace ?? (address.isInherited ? .seconds(1) : .zero)
    let (host, identity) = (host, identity)
    let acceptsAtOnce = ListenerOptions.acceptsAtOnce(of: limits.all, descriptors: descriptors)
    return ServerBootstrap(group: group)
      // After an outage all clients come at once. One that finds no place tries again after seconds, and costs more than one that waits.
      .serverChannelOption(.backlog, value: 4096)
      .serverChannelOption(.maxMessagesPerRead, value: acceptsAtOnce)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AcceptWatch(count: host.count, log: host.log))
        }
      }
      .childChannelOption(.allowRemoteHalfClosure, value: true)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let connection = Connection(channel: channel, table: host.table, options: host.options, grace: grace)
          let address = IPAddress(channel.remoteAddress).flatMap {
            host.options.proxies().contains($0) ? nil : $0.network
          }
          // The bootstrap closes a connection whose set-up fails.
          guard host.table.admit(connection, from: address) else { throw CancellationError() }
          // Also of a channel that is closed before it was ever active.
          channel.closeFuture.whenComplete { _ in host.table.remove(connection.number) }
          try channel.pipeline.syncOperations.addHandler(connection)
          try pipeline.add(to: channel, of: connection, with: identity?.context)
        }
      }
  }
}

/// Reports failures to accept a connection, and pauses after each. Stops accepting when the channel is to quiesce.
///
/// swift-nio's `AcceptBackoffHandler` delays the next read only: the one that has failed stays pending, and is repeated at once for as
/// long as a connection waits.
final class AcceptWatch: ChannelInboundHandler {
  typealias InboundIn = any Channel
  private let count: ListenerCount.Add
  private let log: ThrottledLogger
  /// Ends the last pause.
  private var resumption: Scheduled<Void>?
  private var isQuiescing = false

  init(count: @escaping ListenerCount.Add, log: ThrottledLogger) {
    self.count = count
    self.log = log
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let error = error as? IOError else { return context.fireErrorCaught(error) }
    count(.acceptFailures, 1)
    log.note(.acceptFailed, cause: String(cString: strerror(error.errnoCode)))
    let channel = context.channel
    _ = channel.setOption(.autoRead, value: false)
    resumption?.cancel()
    guard !isQuiescing else { return }
    resumption = context.eventLoop.scheduleTask(in: TimeAmount(ListenerOptions.acceptPause)) {
      _ = channel.setOption(.autoRead, value: true)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // It ends here: the bootstrap would close the channel, with the connections that it has accepted and not handed over.
    guard event is ChannelShouldQuiesceEvent else { return context.fireUserInboundEventTriggered(event) }
    isQuiescing = true
    resumption?.cancel()
    _ = context.channel.setOption(.autoRead, value: false)
  }
}

/// The process's limit of open files.
enum DescriptorLimit {
  /// The soft limit, which applies.
  static var current: Int { limit.map { Int(clamping: $0.rlim_cur) } ?? 256 }

  /// Raises the soft limit to the hard limit, and returns what applies then.
  static func raise() -> Int {
    guard var limit, limit.rlim_cur < limit.rlim_max else { return current }
    limit.rlim_cur = limit.rlim_max
    #if canImport(Darwin)
    // More than OPEN_MAX is refused there, whatever the hard limit says.
    limit.rlim_cur = min(limit.rlim_cur, 10_240)
    #endif
    #if canImport(Glibc)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
    _ = setrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return current
  }

  private static var limit: rlimit? {
    var limit = rlimit()
    #if canImport(Glibc)
    let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    #else
    let result = getrlimit(RLIMIT_NOFILE, &limit)
    #endif
    return result == 0 ? limit : nil
  }
}
#endif
