#if Server
public import Hummingbird
public import NIOCore

/// A request context that can hold the session of a request. An app that adds the server's routes to its own router conforms
/// its context to it, or uses ``ServerContext``.
public protocol SessionRequestContext: RequestContext {
  /// The session of the request; `nil` unless a ``SessionMiddleware`` has admitted it.
  var session: AuthenticatedSession? { get set }
  /// The connection. An event stream closes it if the reader no longer accepts data.
  var channel: any Channel { get }
}

/// The context of one request, for apps that need no more than ``SessionRequestContext`` requires.
public struct ServerContext: SessionRequestContext {
  public var coreContext: CoreRequestContextStorage
  public var session: AuthenticatedSession?
  /// The connection. Tests and demos close it to lose a response on the wire.
  public let channel: any Channel

  public init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }
}

/// The context of a request on a protected route: it always has a session.
public struct SignedInContext<Parent: SessionRequestContext>: ChildRequestContext {
  public var coreContext: CoreRequestContextStorage
  public let session: AuthenticatedSession
  /// The context that the middlewares before the protected route saw.
  public let parent: Parent

  /// - Throws: 401 if no ``SessionMiddleware`` has admitted the request.
  public init(context: Parent) throws {
    guard let session = context.session else { throw ProblemError.tokenMissing }
    self.session = session
    coreContext = context.coreContext
    parent = context
  }
}
#endif
