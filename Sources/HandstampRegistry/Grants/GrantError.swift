/// The refusal of a token request that asks for more than its session was granted: a code of RFC 6749 section 5.2.
public enum GrantError: String, Error, Sendable, Hashable {
  case invalidScope = "invalid_scope"
  /// RFC 8707 section 2.
  case invalidTarget = "invalid_target"
}

/// The grant of a new access token within that of its session: the same, or less. `nil` is that of the server's own app.
public typealias GrantNarrowing = @Sendable (SessionClient?) throws(GrantError) -> SessionClient?
