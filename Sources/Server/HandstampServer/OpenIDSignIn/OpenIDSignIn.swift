#if Server
public import HandstampCore
public import HandstampRegistry
import HandstampSupport
public import Hummingbird
public import Logging

/// The sign-in to an app's own pages with the accounts of a provider (a relying party of OpenID Connect). Browsers get a cookie; the
/// sessions are in the app's ``HandstampRegistry/Registry``, where they can be listed and ended.
///
/// ```swift
/// let signIn = try OpenIDSignIn(provider, url: "https://forum.example", registry: registry, transport: AsyncHTTPTransport())
/// let router = Router(context: BrowserContext.self)
/// signIn.addRoutes(to: router)
/// signIn.protected(router.group("/notes")).get { _, context in "the notes of \(context.session.account.username)" }
/// ```
///
/// Register `https://forum.example/sign-in/with/ID/callback` as the redirect URI at the provider, `https://forum.example/` as the URI
/// after a sign-out, and `https://forum.example/sign-in/with/ID/logout` as that of back-channel logouts.
public struct OpenIDSignIn: Sendable {
  let provider: UpstreamProvider
  let registry: Registry
  let upstream: UpstreamSignIn
  let origins: WebOrigins
  let logger: Logger
  let now: @Sendable () -> UnixTime
  /// The page that a browser is sent to if a sign-in fails. Its query has `error`, which is `upstream_unavailable`,
  /// `upstream_refused`, `upstream_invalid`, or `sign_up_closed` for users who get no account. Default `/`.
  public var errorPath = "/"

  /// - Parameters:
  ///   - url: the app's own origin, such as `https://forum.example`; `http` only on loopback.
  ///   - transport: requests to the provider. It must follow no redirects, as those of this package.
  /// - Throws: ``ServerConfigurationError/provider(_:)``; ``ServerConfigurationError/webOrigin(_:)`` for `url`.
  public init(
    _ provider: UpstreamProvider, url: String, registry: Registry, transport: any Transport,
    logger: Logger = Logger(label: "handstamp.sign-in"), now: @escaping @Sendable () -> UnixTime = { .current }
  ) throws(ServerConfigurationError) {
    if let defect = provider.defect { throw .provider("the provider \(provider.id) \(defect)") }
    guard WebOrigins.isGood(url), let origins = try? WebOrigins(issuer: url, allowed: []) else { throw .webOrigin(url) }
    (self.provider, self.registry, self.origins) = (provider, registry, origins)
    (self.logger, self.now) = (logger, now)
    upstream = UpstreamSignIn(provider, base: url, mint: registry.mint, transport: transport, now: now)
  }

  /// Adds the routes at the router's root: `GET /sign-in/with/ID`, whose parameter `next` is a path of the app, the callback below it,
  /// `POST /sign-out`, and `POST /sign-in/with/ID/logout` for the provider's back-channel logouts, unless it is without ID tokens.
  public func addRoutes<Context: RequestContext>(to router: some RouterMethods<Context>) {
    let opened = router.group().add(middleware: OpeningMiddleware<Context>(.immediate))
    opened.get(RouterPath(signInPath)) { request, _ in try await begin(request) }
    opened.get(RouterPath(provider.callbackPath)) { request, _ in try await finish(request) }
    router.post("/sign-out") { request, _ in try await signOut(request) }
    guard provider.userInfo == nil else { return }
    router.post(RouterPath(signInPath + "/logout")) { request, _ in try await receiveLogout(request) }
  }

  /// Returns a group of an app's routes that require a session, which their context has. Browsers without one are sent to the
  /// sign-in and back; other requests are answered 401. A request that changes something must come from a page of this origin.
  public func protected<Context: BrowserRequestContext>(
    _ routes: some RouterMethods<Context>
  ) -> RouterGroup<SignedInBrowserContext<Context>> {
    routes.group().add(middleware: OpenIDSessionMiddleware(signIn: self))
      .group(context: SignedInBrowserContext<Context>.self)
  }

  /// The path that begins a sign-in.
  public var signInPath: String { "/sign-in/with/" + provider.id }

  /// Returns the live session of a request's cookie; `nil` if there is none.
  ///
  /// - Throws: an error that is answered 403 for a change that a page of another origin may have asked for; 503 if the registry
  ///   cannot be read.
  public func session(of request: Request) async throws -> BrowserSession? {
    guard let cookie = request.cookie(ResponseCookie.session) else { return nil }
    // Other sites' pages can send requests with the cookie, but not read the responses. Browsers say where a change comes from.
    guard [.get, .head].contains(request.method) || isFromHere(request) else { throw ProblemError.otherOrigin }
    do throws(RegistryError) {
      guard let session = try await registry.browserSession(Secret(cookie), now: now()) else { return nil }
      try await registry.touch(session.row, now: now())
      return session
    } catch { throw ProblemError(error) }
  }

  func isFromHere(_ request: Request) -> Bool {
    origins.admit(request) && (request.headers[.origin] != nil || request.headers[.secFetchSite] != nil)
  }
}

/// A request context that can hold the session of a browser.
public protocol BrowserRequestContext: RequestContext {
  /// `nil` unless a route of ``OpenIDSignIn/protected(_:)`` has admitted the request.
  var browserSession: BrowserSession? { get set }
}

/// The context of one request, for apps that need no more than ``BrowserRequestContext`` requires.
public struct BrowserContext: BrowserRequestContext {
  public var coreContext: CoreRequestContextStorage
  public var browserSession: BrowserSession?

  public init(source: ApplicationRequestContextSource) { coreContext = .init(source: source) }
}

/// The context of a request on a protected route: it always has a session.
public struct SignedInBrowserContext<Parent: BrowserRequestContext>: ChildRequestContext {
  public var coreContext: CoreRequestContextStorage
  public let session: BrowserSession

  /// - Throws: 401 if the request was not admitted.
  public init(context: Parent) throws {
    guard let session = context.browserSession else { throw ProblemError.notSignedIn }
    self.session = session
    coreContext = context.coreContext
  }
}

/// Admits only requests with a session.
private struct OpenIDSessionMiddleware<Context: BrowserRequestContext>: RouterMiddleware {
  let signIn: OpenIDSignIn

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    var context = context
    context.browserSession = try await signIn.session(of: request)
    guard context.browserSession == nil else { return try await next(request, context) }
    guard request.method == .get, request.headers[.accept]?.contains("text/html") == true else {
      throw ProblemError.notSignedIn
    }
    return .seeOther(signIn.signInPath + "?next=" + PercentEncoding.encode(request.uri.string))
  }
}
#endif
