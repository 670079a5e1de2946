#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension SessionController {
  /// Sets the `Authorization` header of a request that you send yourself. Send it only to the account's own server.
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
