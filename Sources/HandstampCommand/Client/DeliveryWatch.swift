#if Command
import HandstampCore

/// A backend that reports failed revocations, after which waiting any longer is pointless, and the server's response to each
/// refresh.
final class DeliveryWatch: Backend {
  private let base: any Backend
  private let (failures, failed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  private let refreshed: @Sendable (RefreshResult) async -> Void

  /// - Parameter refreshed: Called after every refresh.
  init(_ base: any Backend, refreshed: @escaping @Sendable (RefreshResult) async -> Void) {
    self.base = base
    self.refreshed = refreshed
  }

  var abilities: BackendAbilities { base.abilities }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    let result = await base.refresh(request)
    await refreshed(result)
    return result
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let result = await base.revoke(handle)
    // A refusal without a reason is recorded as answered; there is nothing to wait for here, either.
    if case .noDecision(let failure) = result, !failure.isRefusalWithoutReason { failed.yield() }
    return result
  }

  /// Returns after the first failure, or when its task is cancelled.
  func failure() async {
    for await _ in failures { return }
  }
}
#endif
