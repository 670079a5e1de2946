#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird

/// `/sign-in` and `/sign-out`, for people who come from no other page, and the options that the script of sign-in forms asks for.
struct SignInPageController: Sendable {
  let browsers: BrowserSessions
  let signIn: SignInPages
  let service: AccountService

  func addRoutes<Context: SessionRequestContext>(
    to routes: some RouterMethods<Context>, ownAccounts own: some RouterMethods<Context>
  ) {
    routes.get("/sign-in", use: show)
    routes.post("/sign-in", use: answer)
    own.post("/passkey/options", use: passkeyOptions)
    routes.post("/sign-out", use: signOut)
    // Which asks, or says that it is done.
    routes.get("/sign-out") { _, _ in Response.seeOther(service.issuer + "/oauth/logout") }
  }

  @concurrent func show(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context)
    let next = NextPage(visit.query?["next"])
    guard visit.web == nil else { return .seeOther(service.issuer + next.path) }
    return signIn.page(visit, .init(next: next.asked))
  }

  @concurrent func answer(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.visit(request, context) {
      $0.web == nil ? $0.reloadAddress : service.issuer + NextPage($0.query?["next"]).path
    }
    let next = NextPage(visit.query?["next"])
    guard visit.signsIn else { return visit.unknownAction() }
    return try await signIn.submit(by: visit, .init(next: next.asked)) { _ in service.issuer + next.path }
  }

  /// `PublicKeyCredentialRequestOptionsJSON`, for the script.
  @concurrent func passkeyOptions(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let visit = try await browsers.scriptRequest(request, context)
    guard let passkeys = service.passkeys else { throw AccountError.notOffered(.passkeys) }
    return .json(try passkeys.requestOptions(boundTo: visit.token))
  }

  @concurrent func signOut(_ request: Request, _ context: some SessionRequestContext) async throws -> Response {
    let done = service.issuer + "/oauth/logout"
    let visit = try await browsers.visit(request, context) { $0.web == nil ? done : nil }
    return try await browsers.signOut(by: visit, backTo: done)
  }
}

/// The page of this server that a sign-in leads to: a path in `?next=`, and never another site.
struct NextPage: Sendable {
  /// As it was asked for; `nil` if that cannot be a page of this server.
  let asked: String?

  init(_ text: String?) {
    // `//host` and `/\host` are other sites for browsers.
    let isPath = text.map {
      $0.hasPrefix("/") && !$0.hasPrefix("//") && !$0.contains("\\") && $0.utf8.count <= 4096
        && $0.utf8.allSatisfy { (33...126).contains($0) }
    }
    asked = isPath == true ? text : nil
  }

  var path: String { asked ?? "/account" }
}
#endif
