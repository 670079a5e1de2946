public import HandstampCore

/// A server that answers as a test says.
public final class ScriptedBackend: Backend {
  /// Answers the call with this number, from 1, for this pair.
  public typealias Script =
    @Sendable (_ call: Int, _ token: RefreshToken, _ key: RotationKey) async -> Result<Grant, RefreshFailure>

  private struct Content: Sendable {
    var calls: [(token: RefreshToken, key: RotationKey)] = []
    var inTheAir = 0
    var mostInTheAir = 0
    var revoked: [RevocationHandle] = []
    var revocationError: SessionError?
  }
  private let content = Locked(Content())
  private let script: Script
  public let keepsRotationKeys: Bool

  public init(keepsRotationKeys: Bool = true, _ script: @escaping Script) {
    self.keepsRotationKeys = keepsRotationKeys
    self.script = script
  }

  /// The pairs that were sent, in order.
  public var calls: [(token: RefreshToken, key: RotationKey)] { content.withLock { $0.calls } }
  /// The most refreshes that were in the air at once.
  public var mostInTheAir: Int { content.withLock { $0.mostInTheAir } }
  /// The handles that were presented while revocation worked.
  public var revoked: [RevocationHandle] { content.withLock { $0.revoked } }

  /// What `revoke` throws from now on; nothing lets it work again.
  public func failRevocations(with error: SessionError?) { content.withLock { $0.revocationError = error } }

  @concurrent public func refresh(_ token: RefreshToken, key: RotationKey) async -> Result<Grant, RefreshFailure> {
    let call = content.withLock { content in
      content.calls.append((token, key))
      content.inTheAir += 1
      content.mostInTheAir = max(content.mostInTheAir, content.inTheAir)
      return content.calls.count
    }
    defer { content.withLock { $0.inTheAir -= 1 } }
    return await script(call, token, key)
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async throws(SessionError) {
    let error = content.withLock { content in
      if content.revocationError == nil { content.revoked.append(handle) }
      return content.revocationError
    }
    if let error { throw error }
  }
}
