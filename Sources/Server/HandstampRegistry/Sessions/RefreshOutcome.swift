public import HandstampCore

/// The decision about a refresh, and its result. Everything but ``issued(_:)`` is an error of RFC 6749 section 5.2,
/// or of RFC 9449.
///
/// ``Rotation`` decides about a genuine token that its session's client presents; the last four cases come before that.
public enum RefreshOutcome: Sendable, Hashable {
  /// The client gets a refresh token, once the row is stored. The caller mints it, and the access token.
  case issued(Issue)
  /// `invalid_grant` with `error_code: superseded`: a late duplicate of an older or lost rotation. The client's store is out of date,
  /// and the session lives on.
  case superseded
  /// `invalid_grant` with the reason: the session had ended before, or is unknown.
  case ended(EndReason)
  /// `invalid_grant` with the reason `token_reuse`: a token was used twice, which ends the session. The row has ended.
  case theft(SessionRow, TheftSign)
  /// `invalid_request`: the rotation key is malformed, or missing in a session of the server's own protocol. Nothing changed.
  case invalidRequest
  /// `invalid_grant` without details: this server did not issue the token. Nothing changed.
  case forged
  /// `invalid_grant`: the session belongs to another client. Nothing changed.
  case otherClient
  /// The request asks for more than the session was granted. Nothing changed.
  case notGranted(GrantRefusal)
  /// `invalid_dpop_proof`: the session's tokens are bound to another key, or the proof was missing (RFC 9449 section 5). Nothing
  /// changed.
  case otherProof

  /// A successful refresh.
  public struct Issue: Sendable, Hashable {
    /// The row after the refresh.
    public var row: SessionRow
    /// The refresh token, see ``TokenMint/refreshToken(_:)``.
    public var token: RefreshClaims
    public var course: Course
    /// The grant of the new access token: the session's, or less. `nil` for the server's own app.
    public var grant: SessionClient?
    /// The sessions that the first use of this one ended.
    public var displaced: [SessionRow] = []

    init(_ row: SessionRow, _ token: RefreshClaims, _ course: Course) {
      self.row = row
      self.token = token
      self.course = course
      grant = row.client
    }
  }

  /// How the token came about.
  public enum Course: Sendable, Hashable {
    /// The presented token was the current one.
    case rotated
    /// The presented token was the current one and stays it. Only for clients that prove who they are, see
    /// ``RefreshTerms/isConstrained``.
    case kept
    /// The request was a retry of the last rotation and got the same successor again. The row changes only if the session is keyed from
    /// now on.
    case repeated
    /// The presented token was ahead of the row: the store had lost this many rotations. Operators should be alerted.
    case fastForwarded(lost: UInt64)
  }
}
