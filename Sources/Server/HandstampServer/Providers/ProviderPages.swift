#if Server
import HTTPTypes
import HandstampCore
import HandstampRegistry
import Hummingbird
import Logging

/// Leads browsers to other providers.
struct ProviderPages: Sendable {
  let service: AccountService

  /// The buttons of a page; `nil` if there are none.
  ///
  /// - Parameters:
  ///   - linked: the identities of the user who proves it again, at whose providers that can be; `nil` for all providers.
  ///   - alone: whether they are the only way.
  func buttons(_ pages: PageWriter, for linked: [LinkedIdentity]? = nil, alone: Bool = false) -> PageValue? {
    let rows: [PageValue] = service.providers.map(\.provider).filter { provider in
      linked?.contains { provider.isOf($0) } ?? true
    }.map { provider in
      .object([
        "id": .text(provider.id), "name": .text(provider.name), "logo": pages.logos[provider.id].map { .text($0) },
      ])
    }
    return rows.isEmpty ? nil : .object(["rows": .list(rows), "alone": .flag(if: alone)])
  }

  /// Sends the browser to the provider whose button was pressed on the sign-in page.
  func signIn(by visit: BrowserRequest, _ purpose: SignInPages.Purpose) async throws -> Response {
    let confirms = purpose.cancel != nil && visit.account != nil
    return try await leave(
      visit, confirms ? .confirm : .signIn,
      next: purpose.next ?? visit.path,
      // A signed-in user is asked only if that sign-in is not enough.
      isFresh: confirms || visit.web != nil || purpose.asked?.signIn.wantsSignIn == true)
  }

  /// Sends the browser to a provider.
  ///
  /// By a page that goes on by itself, not by a redirect: browsers apply `form-action` to every redirect after a form, and providers
  /// redirect to hosts that this server does not know.
  ///
  /// - Parameters:
  ///   - provider: `nil` for the one that the form names.
  ///   - isFresh: whether the user has to sign in there again.
  ///   - asks: whether the user is asked to sign in there again, however the provider dates that.
  func leave(
    _ visit: BrowserRequest, to provider: UpstreamSignIn? = nil, _ purpose: ProviderErrand.Purpose, next: String,
    isFresh: Bool, asks: Bool = false
  ) async throws -> Response {
    try service.limits.take(.passwords, from: visit.caller.client, .own)
    let provider = try provider ?? service.provider(visit.form?["provider"])
    let time = service.clock.read()
    let errand = PayloadCoding.text(
      ProviderErrand(
        purpose: purpose, next: next, session: visit.web?.row.id, freshSince: isFresh ? time.earliest : nil))
    guard errand.utf8.count <= UpstreamSignIn.longestContext else {
      return visit.invalidRequest(
        "The app's request is too long for a sign-in elsewhere. It can be pushed (RFC 9126).")
    }
    let start: UpstreamSignIn.Start
    do throws(UpstreamError) {
      start = try await provider.begin(
        for: errand, boundTo: visit.formCookie,
        parameters: (isFresh || asks) && provider.provider.userInfo == nil ? ["max_age": "0"] : [:], at: time.now)
    } catch { return refusal(of: error, at: provider.provider, back: next, visit) }
    var page = Page.message(
      "provider_next", ["provider": .text(provider.provider.name)], icon: "sign-in",
      to: [PageAction(text: "common.continue", href: start.url)])
    page.cookies.append(
      ResponseCookie(name: provider.cookie, value: start.attempt, life: UpstreamSignIn.life.components.seconds))
    var response = visit.show(page)
    response.headers[.refresh] = "0; url=\(start.url)"
    return response
  }

  /// The page for a sign-in elsewhere that failed.
  func refusal(
    of error: UpstreamError, at provider: UpstreamProvider, back next: String, _ visit: BrowserRequest
  ) -> Response {
    service.recorder.metrics.update { $0.refusedSignIns += 1 }
    visit.caller.logger.notice(
      "Sign-in at a provider failed",
      metadata: ["handstamp.provider": "\(provider.id)", "handstamp.cause": "\(error)"])
    let (name, status): (String, HTTPResponse.Status) =
      switch error {
      case .unavailable: ("provider_unavailable", .serviceUnavailable)
      case .refused: ("provider_refused", .forbidden)
      case .noAttempt: ("provider_expired", .badRequest)
      case .invalid: ("provider_invalid", .badRequest)
      }
    return failed(name, at: provider, back: next, visit, status)
  }

  /// - Parameter next: the page that the user came from, below the issuer.
  func failed(
    _ name: String, at provider: UpstreamProvider, back next: String, _ visit: BrowserRequest,
    _ status: HTTPResponse.Status = .forbidden
  ) -> Response {
    visit.show(
      .error(
        name, ["provider": .text(provider.name)], status: status,
        to: [PageAction(text: "action.try_again", href: visit.pages.base + next)]))
  }
}

/// The reason why a browser was sent to a provider. It travels in the sealed attempt.
struct ProviderErrand: Sendable, Hashable {
  enum Purpose: String, Sendable {
    case signIn = "sign-in"
    /// The signed-in user proves it again.
    case confirm
    /// The signed-in user, who has proved it a moment ago, adds a way in.
    case link
  }

  var purpose: Purpose
  /// The path of the page that it leads to, below the issuer.
  var next: String
  /// The session that asked for it; `nil` for a browser that was not signed in.
  var session: SessionID?
  /// The sign-in at the provider must not be older; `nil` if any will do.
  var freshSince: UnixTime?

  /// How much earlier than here the provider's clock may say that it was.
  private static let skew = Duration.seconds(60)

  /// Returns whether a sign-in is as fresh as it has to be. Of providers that do not say when it was, the browser's way there and back
  /// is all that is known: the session's methods say so, and it proves nothing for what takes ``OwnerAction/Proof/strong``.
  func isMet(by user: UpstreamUser) -> Bool {
    guard let freshSince, let proven = user.authenticatedAt else { return true }
    return proven >= freshSince.advanced(by: .zero - ProviderErrand.skew)
  }
}

extension ProviderErrand: StoredPayload {
  var fields: [String: String?] {
    [
      "for": purpose.rawValue, "next": next, "session": session?.rawValue,
      "since": freshSince.map { String($0.milliseconds) },
    ]
  }

  init?(fields: [String: String]) {
    guard let purpose = fields["for"].flatMap({ Purpose(rawValue: $0) }), let next = NextPage(fields["next"]).asked
    else { return nil }
    self.init(
      purpose: purpose, next: next, session: fields["session"].map { SessionID($0) },
      freshSince: fields.time("since"))
  }
}
#endif
