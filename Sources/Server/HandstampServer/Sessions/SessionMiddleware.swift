#if Server
public import HandstampCore
public import HandstampRegistry
public import Hummingbird
public import NIOCore
import ServiceLifecycle

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

/// The session that a request belongs to, according to its access token and the registry.
public struct AuthenticatedSession: Sendable, Hashable {
  public let account: AccountID
  public let id: SessionID
  /// The scopes granted to the client that the token was issued to. `nil` if the token allows everything that the account's
  /// owner may do.
  public internal(set) var scopes: [String]?
  /// When the access token expires; the session may last longer.
  public let tokenExpiresAt: UnixTime
  /// The JWK thumbprint of the key that the token is bound to, whose possession the request has proved (RFC 9449).
  var thumbprint: String?
  /// When the user proved to be the account's owner, as the access token says, in whole seconds; `nil` if it does not say.
  public internal(set) var authenticatedAt: UnixTime?
  /// How, as the access token says; empty if it does not say.
  public internal(set) var methods: AuthenticationMethods = []
}

/// Admits only requests with a valid access token of a live session, and sets ``SessionRequestContext/session``. Others are
/// answered 401, or 403 if the token's scopes are not sufficient, as problem+json (RFC 6750, RFC 9457).
///
/// The connection of a response without a length, such as a stream of events, is closed, and its task is cancelled, when the session
/// ends, at the latest with its token, and when the server stops.
public struct SessionMiddleware<Context: SessionRequestContext>: RouterMiddleware {
  let authenticator: Authenticator
  /// The scopes of which one admits another client's token; without any, only those of the server's own app are admitted.
  let scopes: [String]

  public func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    let session: AuthenticatedSession
    do {
      session = try await authenticator.session(of: request, allowing: scopes, logger: context.logger)
    } catch {
      // Mapped here, because an app's own routes have no error middleware of this server.
      throw authenticator.errors.problem(for: error, logger: context.logger)
    }
    context.session = session
    var response = try await next(request, context)
    guard response.body.contentLength == nil else { return response }
    response.body = ResponseBody { [authenticator, channel = context.channel, body = response.body] writer in
      let handed = HandedWriter(writer: writer)
      try await withThrowingTaskGroup(of: Bool.self) { group in
        group.addTask { @concurrent in
          try await body.write(handed.writer)
          return false
        }
        group.addTask {
          await authenticator.waitForEnd(of: session)
          return !Task.isCancelled
        }
        // The app's code may wait for something else than the connection.
        defer { group.cancelAll() }
        if try await group.next() == true { channel.close(promise: nil) }
      }
    }
    return response
  }
}

// One task writes, and the one that it comes from waits for that.
private struct HandedWriter: @unchecked Sendable {
  let writer: any ResponseBodyWriter
}

extension Authenticator {
  /// Waits until a session or its token has ended, the server stops, or the task is cancelled.
  fileprivate func waitForEnd(of session: AuthenticatedSession) async {
    let place = recorder.hub.place(of: session.account)
    let expiry = Task {
      guard (try? await Task.sleep(for: session.tokenExpiresAt.since(clock.now))) != nil else { return }
      place.bell.ring(.over)
    }
    defer {
      expiry.cancel()
      place.leave()
    }
    place.bell.ring(.news)
    // Where the server runs in another program, its services may learn of the shutdown only after all requests.
    await withGracefulShutdownHandler {
      for await _ in place.bell.bells {
        if place.bell.take().contains(.over) { return }
        // A store that cannot be read says nothing.
        if (try? await registry.isLive(session.id, now: clock.now)) == false { return }
      }
    } onGracefulShutdown: { [bell = place.bell] in
      bell.ring(.over)
    }
  }
}

extension RouterMethods where Context: SessionRequestContext {
  /// Returns a group whose routes require a session, which is in their context.
  func signedIn(
    _ path: RouterPath = "", by authenticator: Authenticator, allowing scopes: [String] = []
  ) -> RouterGroup<SignedInContext<Context>> {
    group(path).add(middleware: SessionMiddleware(authenticator: authenticator, scopes: scopes))
      .group(context: SignedInContext<Context>.self)
  }
}
#endif
