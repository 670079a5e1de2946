#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension SessionController {
  /// Sets the `Authorization` header of a request that you send yourself, to `Bearer …`. Send it only to the account's own
  /// server.
  ///
  /// A DPoP-bound token gets the same header, without a proof: an API that supports DPoP refuses that (RFC 9449 section 7.2).
  /// Send such requests with ``APIClient`` through a `DPoPTransport`.
  ///
  /// - Parameter validity: the minimum remaining lifetime of the token, for requests that take a while to send; see
  ///   ``token(minimumValidity:)``. Default zero.
  /// - Throws: ``SessionError/unsupported(_:)`` for a backend whose sessions do not use bearer tokens: use ``APIClient`` then.
  public nonisolated func authorize(
    _ request: inout URLRequest, minimumValidity validity: Duration = .zero
  ) async throws(SessionError) {
    guard abilities.usesBearerTokens else { throw .unsupported("an Authorization header for this kind of session") }
    let token = try await token(minimumValidity: validity)
    token.secret.withExposed { request.setValue("Bearer " + $0, forHTTPHeaderField: "Authorization") }
  }
}
