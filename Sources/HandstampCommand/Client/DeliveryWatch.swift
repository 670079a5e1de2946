#if Command
import HandstampCore

/// A backend that reports failed revocations, after which waiting any longer is pointless, and the server's response to each
/// refresh. Sessions of former clients are revoked as those, and not refreshed.
final class DeliveryWatch: Backend {
  private let base: any Backend
  private let (failures, failed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  private let refreshed: @Sendable (RefreshResult) async -> Void
  private let isCurrent: @Sendable () -> Bool
  private let former: @Sendable (RevocationHandle) async -> (any Backend)?

  /// - Parameters:
  ///   - isCurrent: Whether the account still signs in as `base` does.
  ///   - former: The backend of the former client that the session of this handle belongs to; `nil` if it belongs to none.
  ///   - refreshed: Called after every refresh.
  init(
    _ base: any Backend, isCurrent: @escaping @Sendable () -> Bool,
    former: @escaping @Sendable (RevocationHandle) async -> (any Backend)?,
    refreshed: @escaping @Sendable (RefreshResult) async -> Void
  ) {
    self.base = base
    self.isCurrent = isCurrent
    self.former = former
    self.refreshed = refreshed
  }

  var abilities: BackendAbilities { base.abilities }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    // Another process has signed in by another client: to the server, a token in the wrong client's hands is a stolen one.
    guard isCurrent() else {
      return .noDecision(.preparation(.storage(.unavailable("the account signs in by another client by now"))))
    }
    let result = await base.refresh(request)
    await refreshed(result)
    return result
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let backend = await former(handle) ?? base
    let result = await backend.revoke(handle)
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
