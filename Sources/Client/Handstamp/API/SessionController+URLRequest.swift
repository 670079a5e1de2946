#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif
import HandstampCore

extension SessionController {
  /// Sets the header of a request that you send yourself, such as an image loader's: `Authorization`, to `Bearer …`, or that of the
  /// session's ``RequestCredential``, such as `Cookie`. Send it only to the account's own server, and do not follow its redirects to another.
  ///
  /// A request with cookies neither uses nor fills the system's cookie storage. What its response changes of them is lost; ``APIClient``
  /// stores it.
  ///
  /// A DPoP-bound token gets the same header, without a proof: an API that supports DPoP refuses that (RFC 9449 section 7.2).
  /// Send such requests with ``APIClient`` through a `DPoPTransport`.
  ///
  /// - Parameter validity: the minimum remaining lifetime of the token, for requests that take a while to send; see
  ///   ``token(minimumValidity:)``. Default zero.
  /// - Throws: as ``credential(minimumValidity:)``; ``SessionError/signedOut(_:)`` if the credential has expired.
  public nonisolated func authorize(
    _ request: inout URLRequest, minimumValidity validity: Duration = .zero
  ) async throws(SessionError) {
    if let scheme = abilities.credential {
      let bare = TransportRequest(method: request.httpMethod ?? "GET", url: request.url?.absoluteString ?? "")
      await exchangeLent()
      let credential = try await credential(minimumValidity: validity)
      guard let ready = scheme.authorize(bare, with: credential, at: clock.now().wall) else {
        if case .signedIn(let facts) = state { await endHere(facts.id, reason: .expired) }
        throw .signedOut(.expired)
      }
      for field in ready.headers { request.setValue(field.value, forHTTPHeaderField: field.name) }
      request.httpShouldHandleCookies = false
      return
    }
    let token = try await token(minimumValidity: validity)
    token.secret.withExposed { request.setValue("Bearer " + $0, forHTTPHeaderField: "Authorization") }
  }
}
