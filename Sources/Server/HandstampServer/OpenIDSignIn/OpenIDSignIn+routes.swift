#if Server
import HandstampCore
import HandstampOAuth
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

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
    let former = try await session(of: request)
    let new: BrowserSession
    do throws(RegistryError) {
      guard let begun = try await session(for: outcome.user, on: browser, leaving: former) else {
        return failed(code: "sign_up_closed")
      }
      new = begun
    } catch {
      // The user signs in there anew, as at the server's own pages.
      guard error == .upstreamEnded, outcome.user.askedAt == nil else { throw ProblemError(error) }
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
    for user: UpstreamUser, on browser: DeviceInfo, leaving former: BrowserSession?
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
        let other = former.flatMap { $0.account.id == used.account.id ? nil : $0.row.id }
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
        if error != .notFound { throw ProblemError(error) }
      }
      let token = request.cookie(OpenIDSignIn.tokenCookie).flatMap {
        registry.mint.open($0, for: .upstreamTokens, boundTo: session.row.id.rawValue)
      }
      let home = origins.own + "/"
      let flow = try? await upstream.endpoints.backend.beginLogout(
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
    } catch TokenError.event(let refusal) {
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
