#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension SessionController {
  /// Sets the `Authorization` header of a request that you send yourself. Send it to your account's own server only.
  ///
  /// - Parameter validity: how long the token lasts at least, for what takes its time to be sent; see
  ///   ``token(minimumValidity:)``.
  /// - Throws: ``SessionError/unsupported(_:)`` with a backend whose sessions are no bearer tokens: use ``APIClient`` then.
  public nonisolated func authorize(
    _ request: inout URLRequest, minimumValidity validity: Duration = .zero
  ) async throws(SessionError) {
    guard backend.sendsBearer else { throw .unsupported("a header for this kind of session") }
    let token = try await token(minimumValidity: validity)
    token.secret.withExposed { request.setValue("Bearer " + $0, forHTTPHeaderField: "Authorization") }
  }
}
