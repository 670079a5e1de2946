#if canImport(FoundationNetworking)
  public import FoundationNetworking
#else
  public import Foundation
#endif

extension SessionController {
  /// Sets the `Authorization` header of a request that you send yourself. Send it to your account's own server only.
  ///
  /// - Throws: ``SessionError/unsupported(_:)`` with a backend whose sessions are no bearer tokens: use ``APIClient`` then.
  public nonisolated func authorize(_ request: inout URLRequest) async throws(SessionError) {
    guard backend.sendsBearer else { throw .unsupported("a header for this kind of session") }
    let token = try await token()
    token.secret.withExposed { request.setValue("Bearer " + $0, forHTTPHeaderField: "Authorization") }
  }
}
