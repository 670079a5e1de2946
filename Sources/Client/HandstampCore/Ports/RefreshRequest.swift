/// A request for new tokens.
public struct RefreshRequest: Sendable, Hashable {
  /// The current refresh token.
  public var token: RefreshToken
  /// The rotation key to send with it, if the server accepts such keys.
  public var key: RotationKey
  /// Whether to send the key whatever the server's metadata says at the moment: a response of this session has said that its key was
  /// used. Disregarded with ``BackendAbilities/supportsRotationKeys``.
  package var alwaysSendsKey = false
  /// The access token that is wanted; `nil` (the default) for the session's own. Only with
  /// ``BackendAbilities/supportsTargets``.
  public var target: TokenTarget?
  /// The session's own access token, which a token exchange begins with; `nil` without a target.
  package var access: AccessToken?
  /// Whether the same request is repeated freely if its response does not arrive.
  package var isRepeatable = false
  /// Until when it may be sent; `nil` without a limit.
  package var sendingTime: SendingTime?

  public init(token: RefreshToken, key: RotationKey, target: TokenTarget? = nil) {
    self.target = target
    self.token = token
    self.key = key
  }

  /// How long a backend awaits the response: that of a request that is repeated freely as long as any other; otherwise longer than it
  /// is awaited, because the session measures the time in which the program ran, and cancels.
  package var patience: Duration { isRepeatable ? .seconds(20) : .seconds(24 * 3600) }
}
