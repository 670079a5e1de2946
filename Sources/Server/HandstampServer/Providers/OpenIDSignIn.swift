#if Server
public import HandstampCore
import HandstampOAuth
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
    } catch { throw ProblemError(AccountError(error)) }
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

extension OpenIDSignIn {
  /// The ID token, sealed, for the sign-out at the provider.
  private static let tokenCookie = "__Host-handstamp-id-token"
  /// Browsers drop larger cookies (RFC 6265bis section 5.6), and sign-outs go without.
  private static let longestCookie = 3800
  /// Maximum size of the form with a logout token, in bytes.
  private static let longestLogout = 65_536

  func begin(_ request: Request) async throws -> Response {
    let asked = try? FormFields(Array((request.uri.query ?? "").utf8))
    // A longer one would not fit into the cookie.
    let next = NextPage(asked?["next"]).asked.flatMap { $0.utf8.count <= UpstreamSignIn.longestContext ? $0 : nil }
    return await leave(next ?? "/")
  }

  /// - Parameter parameters: additional ones of the authorization request.
  private func leave(_ next: String, _ parameters: [String: String] = [:]) async -> Response {
    do throws(UpstreamError) {
      let start = try await upstream.begin(for: next, boundTo: "", parameters: parameters, at: now())
      return .seeOther(
        start.url,
        [
          ResponseCookie(
            name: upstream.cookie, value: start.attempt, life: UpstreamSignIn.life.components.seconds)
        ])
    } catch { return failed(error) }
  }

  func finish(_ request: Request) async throws -> Response {
    let outcome: UpstreamOutcome
    do throws(UpstreamError) {
      outcome = try await upstream.finish(
        request.uri.query ?? "", attempt: request.cookie(upstream.cookie), boundTo: "",
        at: ServerClock.Reading(exactly: now()))
    } catch { return failed(error) }
    let known = request.drawnCookie(ResponseCookie.device) ?? ResponseCookie.drawn()
    let browser = DeviceInfo(
      id: DeviceID("browser " + known), name: BrowserName(userAgent: request.headers[.userAgent] ?? "").text,
      platform: "web")
    let previous = try await session(of: request)
    let new: BrowserSession
    do throws(RegistryError) {
      guard let begun = try await session(for: outcome.user, on: browser, leaving: previous) else {
        return failed(code: "sign_up_closed")
      }
      new = begun
    } catch {
      // The user signs in there anew, as at the server's own pages.
      guard error == .upstreamEnded, outcome.user.askedAt == nil else { throw ProblemError(AccountError(error)) }
      return await leave(outcome.context, ["max_age": "0"])
    }
    logger.info(
      "Signed in",
      metadata: ["handstamp.provider": "\(provider.id)", "handstamp.session": "\(new.row.id)"])
    return .seeOther(
      outcome.context,
      registry.cookies(of: new, device: known) + [
        ResponseCookie(
          name: OpenIDSignIn.tokenCookie, value: sealed(outcome.idToken, of: new),
          life: registry.cookieLife(of: new.row)),
        ResponseCookie(name: upstream.cookie, value: nil),
      ])
  }

  /// Begins a session of the user's account, which the first sign-in creates; `nil` if there is none and none may be created.
  private func session(
    for user: UpstreamUser, on browser: DeviceInfo, leaving previous: BrowserSession?
  ) async throws(RegistryError) -> BrowserSession? {
    let proof = user.proof(nil, at: ServerClock.Reading(exactly: now()))
    // Two first sign-ins at once: the later one finds the account.
    for isLast in [false, true] {
      do throws(RegistryError) {
        let account = try await registry.account(identity: user.identity)
        guard account != nil || provider.admits(user.isEmailVerified ? user.email : nil) else { return nil }
        let used =
          if let account { try await registry.credentialUse(by: proof, of: account, now: now()) } else {
            registry.credentialUse(
              opening: proof, email: nil, username: user.name ?? user.email?.typed ?? "", now: now())
          }
        guard let used else { throw .accountChanged }
        // The session of the same account ends when the browser presents the new cookie.
        let other = previous.flatMap { $0.account.id == used.account.id ? nil : $0.row.id }
        return try await registry.beginBrowserSession(by: used, on: browser, leaving: other, now: now())
      } catch {
        switch error {
        case .emailTaken, .accountChanged, .oneTimeTokenInvalid, .notFound: if isLast { throw error }
        default: throw error
        }
      }
    }
    return nil
  }

  /// Ends the session here, and then the one at the provider, if it offers that (OpenID Connect RP-Initiated Logout 1.0).
  func signOut(_ request: Request) async throws -> Response {
    guard isFromHere(request) else { throw ProblemError.otherOrigin }
    let session = try await session(of: request)
    var target = "/"
    if let session {
      do throws(RegistryError) {
        _ = try await registry.end(session.row.id, of: session.account.id, reason: .signedOut, now: now())
      } catch {
        // It was ended in the meantime.
        if error != .notFound { throw ProblemError(AccountError(error)) }
      }
      let token = request.cookie(OpenIDSignIn.tokenCookie).flatMap {
        registry.mint.open($0, for: .upstreamTokens, boundTo: session.row.id.rawValue)
      }
      let home = origins.own + "/"
      let flow = try? await upstream.endpoints.backend().beginLogout(
        redirectURI: home, idToken: token.map { Secret(bytes: $0) })
      target = flow?.url ?? target
    }
    return .seeOther(
      target,
      [ResponseCookie.session, OpenIDSignIn.tokenCookie].map { ResponseCookie(name: $0, value: nil) })
  }

  /// Ends the sessions whose user has signed out at the provider (OpenID Connect Back-Channel Logout 1.0 section 2.5).
  func receiveLogout(_ request: Request) async throws -> Response {
    let token = try await request.logoutToken(upTo: OpenIDSignIn.longestLogout)
    let source = UpstreamEventSource(provider, keys: upstream.endpoints.keys, receiver: origins.own)
    do {
      try await source.apply(token, .logout, to: registry, at: ServerClock.Reading(exactly: now()), logger: logger)
      return .logoutApplied
    } catch let refusal as UpstreamEventSource.Refusal {
      refusal.log(source, logger)
      return refusal.logoutResponse
    } catch {
      logger.warning(
        "Event of a provider not applied; will retry",
        metadata: ["handstamp.provider": "\(provider.id)", "handstamp.cause": "\(error)"])
      throw ProblemError.unavailable
    }
  }

  private func sealed(_ token: Secret?, of session: BrowserSession) -> String? {
    let text = token.flatMap {
      registry.mint.seal(
        $0.withExposedBytes { Array($0) }, for: .upstreamTokens, boundTo: session.row.id.rawValue)
    }
    return text.flatMap { $0.utf8.count <= OpenIDSignIn.longestCookie ? $0 : nil }
  }

  private func failed(_ error: UpstreamError) -> Response {
    logger.notice(
      "Sign-in at the provider failed",
      metadata: ["handstamp.provider": "\(provider.id)", "handstamp.cause": "\(error)"])
    return failed(code: error.code)
  }

  private func failed(code: String) -> Response {
    .seeOther(
      errorPath + (errorPath.contains("?") ? "&" : "?") + "error=" + code,
      [ResponseCookie(name: upstream.cookie, value: nil)])
  }
}
#endif
