#if Server
public import Hummingbird
public import NIOCore

/// The context of one request.
public struct ServerContext: RequestContext {
  public var coreContext: CoreRequestContextStorage
  /// The connection. Tests and demos close it to lose a response on the wire.
  public let channel: any Channel

  public init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}
#endif
