public import HandstampCore

/// The session that a request begins.
public struct SessionStart: Sendable, Hashable {
  public var device: DeviceInfo
  public var kind: SessionKind
  public var persistence: SessionPersistence
  /// The session of another account that a browser leaves.
  public var leaving: SessionID?
  /// The JWK thumbprint that the session's tokens are bound to (RFC 9449); `nil` binds them to no key.
  public var thumbprint: String?
  /// The client's key for this request: a repeat with the same one gets the same session until that is used
  /// (draft-ietf-httpapi-idempotency-key-header calls it an idempotency key).
  public var key: RotationKey?

  public init(
    device: DeviceInfo, kind: SessionKind = .keyed, _ persistence: SessionPersistence = .persistent,
    leaving: SessionID? = nil, thumbprint: String? = nil, key: RotationKey? = nil
  ) {
    (self.device, self.kind, self.persistence, self.leaving) = (device, kind, persistence, leaving)
    (self.thumbprint, self.key) = (thumbprint, key)
  }
}
