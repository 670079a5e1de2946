/// Speaks one sign-in protocol to someone's server. Two functions make a backend; signing in is any function of yours that
/// returns a ``Grant``.
public protocol Backend: Sendable {
  /// Whether the server keeps ``RotationKey``s. Where it does not, a refresh is never asked for without the flight lock.
  var keepsRotationKeys: Bool { get }

  /// An address of the server that issues the tokens: its word, and no other API's, that a session is over ends the session.
  /// Nothing, which is the default, where no API is believed.
  var authority: String? { get }

  /// Asks for new tokens. The same pair may be sent any number of times.
  ///
  /// Only two failures decide anything: ``SessionError/rejected(_:)`` for exactly HTTP 400 or 401 of the token endpoint with
  /// a JSON body whose `error` is `invalid_grant` (RFC 6749 section 5.2), and ``SessionError/rolledBack`` for the same with
  /// `error_code` `superseded`. Every other failure keeps the session, whatever it is.
  @concurrent func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, SessionError>

  /// Ends one session at the server. Asked again until it returns or throws ``SessionError/rejected(_:)``.
  @concurrent func revoke(_ handle: RevocationHandle) async throws(SessionError)
}

extension Backend {
  public var keepsRotationKeys: Bool { true }
  public var authority: String? { nil }
}
