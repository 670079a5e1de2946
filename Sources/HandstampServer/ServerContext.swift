#if Server
public import Hummingbird
public import NIOCore

/// What travels with one request.
public struct ServerContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The connection: a test or a demonstration may close it to lose an answer on the wire.
  public let channel: any Channel

  public init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
#endif
