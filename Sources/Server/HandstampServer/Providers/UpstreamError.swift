#if Server
import HandstampCore

/// A sign-in at a provider that failed. The texts say why, for logs: no tokens, and nothing of a response but its error code.
enum UpstreamError: Error, Sendable, Hashable {
  /// The provider could not be reached, or could not answer. Another attempt may help.
  case unavailable(String)
  /// The provider, or its user, has refused: the code of the provider, such as `access_denied` (RFC 6749 section 4.1.2.1).
  case refused(String)
  /// The browser has no such sign-in: it took too long, or was begun in another browser.
  case noAttempt
  /// The response is not valid, or belongs to another sign-in or provider.
  case invalid(String)

  /// The code in responses and on pages.
  var code: String {
    switch self {
    case .unavailable: "upstream_unavailable"
    case .refused: "upstream_refused"
    case .noAttempt, .invalid: "upstream_invalid"
    }
  }

  init(_ error: SessionError) {
    self =
      switch error {
      case .requestFailed(.configuration(let response), _): .refused(UpstreamError.shown(response.error ?? ""))
      case .requestFailed(.network(let failure), _): .unavailable("\(failure)")
      case .requestFailed(.server(let response), _): .unavailable("the provider returned \(response.status)")
      case .refused(let code, _): .refused(UpstreamError.shown(code))
      case .invalidResponse(let why): .invalid(why)
      case .unsupported(let feature): .unavailable("the provider does not offer \(feature)")
      case .requestFailed, .signedOut, .sessionEnded, .noRefreshToken, .storage, .storageOutdated, .tokenRejected,
        .presence, .redirect, .contentFailed, .cancelled:
        .unavailable(error.code)
      }
  }

  static func mapping<Success: Sendable>(
    _ step: () async throws(SessionError) -> Success
  ) async throws(UpstreamError) -> Success {
    do throws(SessionError) { return try await step() } catch { throw UpstreamError(error) }
  }

  /// A code of strangers, as far as a log can show it.
  private static func shown(_ code: String) -> String {
    let text = code.utf8.prefix(64).filter { (33...126).contains($0) }
    return text.isEmpty ? "no code" : String(decoding: text, as: UTF8.self)
  }
}
#endif
