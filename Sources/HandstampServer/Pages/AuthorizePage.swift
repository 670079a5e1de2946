#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// `/oauth/authorize`: a user allows or denies an app access to the account.
extension SessionServer {
  @concurrent func showAuthorization(_ request: Request, _ context: ServerContext) async throws -> Response {
    let visit = try await visit(request, context)
    let asked: AuthorizationRequest
    switch authorization(request, visit) {
    case .success(let found): asked = found
    case .failure(let refusal): return refusal.response
    }
    guard let account = visit.account else { return signInPage(visit) }
    return consentPage(asked, account, visit)
  }

  @concurrent func answerAuthorization(_ request: Request, _ context: ServerContext) async throws -> Response {
    let visit: Visit
    do { visit = try await self.visit(request, context) } catch let problem as Problem {
      return errorPage(problem.detail ?? problem.title, status: problem.status)
    }
    let asked: AuthorizationRequest
    switch authorization(request, visit) {
    case .success(let found): asked = found
    case .failure(let refusal): return refusal.response
    }
    // The same page again: its address holds the app's request.
    let here = configuration.issuer + "/oauth/authorize?" + (request.uri.query ?? "")
    switch visit.form?["action"] {
    case "sign-in": return try await signIn(by: visit, backTo: here, context)
    case "sign-out": return try await signOut(by: visit, backTo: here, context)
    case "allow":
      guard let account = visit.account else { return signInPage(visit) }
      do throws(RegistryError) {
        let code = try await registry.issueCode(asked.grant, to: account.id, now: now())
        return back([("code", code.secret.withExposed { $0 })], asked.grant.redirectURI, asked.state)
      } catch { throw problem(error, context) }
    case "deny":
      return back([("error", "access_denied")], asked.grant.redirectURI, asked.state)
    default: return errorPage("This form is not valid. Go back, reload the page, and try again.", visit)
    }
  }

  private func authorization(_ request: Request, _ visit: Visit) -> Result<AuthorizationRequest, OAuthRefusal> {
    do throws(AuthorizationRequest.Fault) {
      return .success(try AuthorizationRequest(query: request.uri.query ?? "", clients: clients))
    } catch {
      switch error {
      case .page(let words): return .failure(OAuthRefusal(errorPage(words, visit)))
      case .answer(let redirect, let state, let error, let words):
        return .failure(
          OAuthRefusal(back([("error", error), ("error_description", words)], redirect, state)))
      }
    }
  }

  private func back(_ fields: [(String, String?)], _ redirect: String, _ state: String?) -> Response {
    self.redirect(
      to: AuthorizationRequest.answer(fields, to: redirect, state: state, issuer: configuration.issuer))
  }

  private func consentPage(_ asked: AuthorizationRequest, _ account: AccountRecord, _ visit: Visit) -> Response {
    Page(
      title: "Allow \(asked.client.name) to access your account?",
      content: """
        <p>\(asked.client.name) wants to access your account <strong>\(account.shownName)</strong>.</p>\
        \(scopes(asked.grant.scope))\
        <form method="post">\(visit.field)<button name="action" value="allow">Allow</button>\
        <button name="action" value="deny">Don’t allow</button>\
        <button name="action" value="sign-out">Use a different account</button></form>
        """,
      cookies: visit.cookies, leadsTo: asked.grant.redirectURI
    ).response(of: configuration.issuer)
  }

  /// The requested scopes, as a list.
  func scopes(_ scope: String) -> HTML {
    let names = scope.split(separator: " ").map { HTML("<li>\(String($0))</li>") }
    return names.isEmpty ? "" : "<p>It will be able to access:</p><ul>\(HTML.joined(names))</ul>"
  }
}

extension AccountRecord {
  /// The name of the account as shown to its owner.
  var shownName: String { email?.typed ?? username }
}
#endif
