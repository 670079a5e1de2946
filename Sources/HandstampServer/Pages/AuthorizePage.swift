#if Server
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// `/oauth/authorize`: somebody at a browser lets an app in, or does not.
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
    // The same page again: its address is what the app asked.
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
    default: return errorPage("The form is not valid.", visit)
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
      title: "Let \(asked.client.name) in?",
      content: """
        <p>\(asked.client.name) asks for your account <strong>\(account.shownName)</strong>.</p>\
        \(scopes(asked.grant.scope))\
        <form method="post">\(visit.field)<button name="action" value="allow">Let it in</button>\
        <button name="action" value="deny">No</button>\
        <button name="action" value="sign-out">Use another account</button></form>
        """,
      cookies: visit.cookies, leadsTo: asked.grant.redirectURI
    ).response(of: configuration.issuer)
  }

  /// What is asked for, as a list.
  func scopes(_ scope: String) -> HTML {
    let names = scope.split(separator: " ").map { HTML("<li>\(String($0))</li>") }
    return names.isEmpty ? "" : "<p>It will be able to use:</p><ul>\(HTML.joined(names))</ul>"
  }
}

extension AccountRecord {
  /// For its owner.
  var shownName: String { email?.typed ?? username }
}
#endif
