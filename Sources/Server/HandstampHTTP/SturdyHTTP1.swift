#if HTTP
import HandstampSupport
public import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1

extension HTTPServerBuilder {
  /// An HTTP/1.1 server that can be stopped at any moment.
  ///
  /// NIO's asynchronous channels crash the process if one is released without having been used, as happens to a connection
  /// accepted during shutdown. Here it is closed instead.
  public static func sturdyHTTP1(configuration: HTTP1Channel.Configuration = .init()) -> HTTPServerBuilder {
    HTTPServerBuilder { SturdyHTTP1(inner: HTTP1Channel(responder: $0, configuration: configuration)) }
  }
}

/// Hummingbird's HTTP/1.1, with connections that may be released without having been used.
struct SturdyHTTP1: ServerChildChannel {
  let inner: HTTP1Channel

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Accepted> {
    inner.setup(channel: channel, logger: logger).flatMapThrowing { value in
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(
        RequestCheck(), position: .before(try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)))
      return Accepted(value)
    }
  }

  func handle(value: Accepted, logger: Logger) async {
    value.take()
    await inner.handle(value: value.connection, logger: logger)
  }

  final class Accepted: ServerChildChannelValue {
    let connection: HTTP1Channel.Value
    private let isTaken = Locked(false)

    var channel: any Channel { connection.channel }

    init(_ connection: HTTP1Channel.Value) { self.connection = connection }

    func take() { isTaken.withLock { $0 = true } }

    deinit {
      guard !isTaken.withLock({ $0 }) else { return }
      Task { [connection] in try? await connection.executeThenClose { _, _ in } }
    }
  }
}
#endif
