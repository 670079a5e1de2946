#if Server
import HTTPTypes
import HandstampSupport
import Hummingbird
import NIOCore

/// The addresses that answer a `GET` with a page, and what opening each one changes.
///
/// Browsers open addresses ahead of their users (prefetch, prerender, preview), and programs look at links with `HEAD`. Neither may sign
/// in, sign out, or use anything up. A page that is not listed here is not shown ahead.
enum PageAddress: String, CaseIterable, Sendable {
  case assets = "/assets/{name}"
  case authorize = "/oauth/authorize"
  case logout = "/oauth/logout"
  case device = "/device"
  case signIn = "/sign-in"
  case signOut = "/sign-out"
  case signUp = "/sign-up"
  case confirmSignUp = "/sign-up/confirm"
  case forgotPassword = "/forgot-password"
  case resetPassword = "/reset-password"
  case recover = "/recover"
  case providerCallback = "/sign-in/with/{provider}/callback"
  case account = "/account"
  case email = "/account/email"
  case confirmEmail = "/account/email/confirm"
  case devices = "/account/devices"
  case deviceList = "/account/devices/list"
  case deviceEvents = "/account/devices/events"
  case endDevices = "/account/devices/end"
  case apps = "/account/apps"
  case activity = "/account/activity"
  case security = "/account/security"
  case confirmOwner = "/account/confirm"
  case data = "/account/data"
  case delete = "/account/delete"

  enum Effect: Sendable {
    case none
    /// One that a page can ask about first. A `HEAD` is answered as that page.
    case askable
    /// One that no page asks about.
    case immediate
  }

  var effect: Effect {
    switch self {
    // A code for a client that the user has allowed before.
    case .authorize: .askable
    // The end of the session that an ID token names.
    case .logout: .askable
    // A session, or another way in.
    case .providerCallback: .immediate
    // Mailed links, and the one that a device shows, lead to a form.
    case .confirmSignUp, .resetPassword, .confirmEmail, .confirmOwner, .device: .none
    case .signIn, .signOut, .signUp, .forgotPassword, .recover: .none
    case .account, .email, .devices, .deviceList, .deviceEvents, .endDevices, .apps, .activity, .security, .data,
      .delete:
      .none
    case .assets: .none
    }
  }
}

/// Refuses requests that no user has made, where they would change something. The status is an error, so that browsers do not show the
/// response when the user does open the address.
struct OpeningMiddleware<Context: RequestContext>: RouterMiddleware {
  let effect: @Sendable (_ path: String) -> PageAddress.Effect

  /// - Parameter effect: that of every route.
  init(_ effect: PageAddress.Effect) { self.effect = { _ in effect } }

  /// - Parameter mountPath: the path below which the pages are.
  init(below mountPath: String) {
    effect = { PageAddress(rawValue: String($0.dropFirst(mountPath.count)))?.effect ?? .immediate }
  }

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    let isHead = request.method == .head
    let isAhead = (isHead || request.method == .get) && request.isAheadOfUser
    let isRefused =
      switch effect(context.endpointPath ?? "") {
      case .none: false
      case .askable: isAhead
      case .immediate: isAhead || isHead
      }
    guard isRefused else { return try await next(request, context) }
    return Response(status: .serviceUnavailable, headers: [.cacheControl: "no-store", .vary: "Sec-Purpose, Purpose"])
  }
}

/// Leads a browser that opens a page at another name of this machine than the issuer's to the same page there: a cookie is for one host
/// (RFC 6265 section 5.3), so that a user who signs in at the other name is not signed in at the issuer.
///
/// Only from one name of this machine to another, at one port: a proxy may pass requests on with a name of its own, and a redirect would
/// lead back to it. Behind a Unix domain socket there is always one; nginx calls the server `localhost` then.
struct IssuerMiddleware<Context: SessionRequestContext>: RouterMiddleware {
  let pages: PageWriter

  func handle(
    _ request: Request, context: Context, next: @concurrent (Request, Context) async throws -> Response
  ) async throws -> Response {
    guard request.isFromBrowser, context.channel.localAddress?.port != nil, let issuer = Origin(pages.issuer),
      let place = Origin("\(issuer.scheme)://\(request.head.authority ?? "")"), place.isAlias(of: issuer)
    else { return try await next(request, context) }
    return .seeOther(pages.address(of: request))
  }
}

extension Request {
  /// Whether the browser sends it before its user has opened the address (Fetch Standard section 2.2.5). The later fields are those of
  /// browsers that do not know the first.
  fileprivate var isAheadOfUser: Bool {
    let names: [HTTPField.Name] = [.secPurpose, .purpose, .xMoz, .xPurpose]
    return names.contains { name in
      headers[values: name].contains { value in
        ["prefetch", "prerender", "preview"].contains { value.lowercased().contains($0) }
      }
    }
  }
}
#endif
