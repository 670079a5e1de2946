public import HandstampCore
import HandstampSupport

/// A server with scripted responses.
public final class ScriptedBackend: Backend {
  /// Answers the call with this number, counted from 1, for the given pair.
  public typealias Script =
    @Sendable (_ call: Int, _ token: RefreshToken, _ key: RotationKey) async -> RefreshResult

  private struct Content: Sendable {
    var calls: [(token: RefreshToken, key: RotationKey)] = []
    var inFlight = 0
    var maxInFlight = 0
    var revoked: [RevocationHandle] = []
    var revocationResult = RevocationResult.ended
  }
  private let content = Locked(Content())
  private let script: Script
  public let abilities: BackendAbilities

  public init(supportsRotationKeys: Bool = true, _ script: @escaping Script) {
    abilities = BackendAbilities(supportsRotationKeys: supportsRotationKeys)
    self.script = script
  }

  /// The pairs sent, in order.
  public var calls: [(token: RefreshToken, key: RotationKey)] { content.withLock { $0.calls } }
  /// The maximum number of refreshes in flight at once.
  public var maxInFlight: Int { content.withLock { $0.maxInFlight } }
  /// The handles presented while revocation worked.
  public var revoked: [RevocationHandle] { content.withLock { $0.revoked } }

  /// Answers every revocation with this result from now on.
  public func answerRevocations(with result: RevocationResult) { content.withLock { $0.revocationResult = result } }

  @concurrent public func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let call = content.withLock { content in
      content.calls.append((request.token, request.key))
      content.inFlight += 1
      content.maxInFlight = max(content.maxInFlight, content.inFlight)
      return content.calls.count
    }
    defer { content.withLock { $0.inFlight -= 1 } }
    return await script(call, request.token, request.key)
  }

  @concurrent public func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    content.withLock { content in
      if content.revocationResult == .ended { content.revoked.append(handle) }
      return content.revocationResult
    }
  }
}
