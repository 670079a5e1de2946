#if Command
import HandstampCore
import HandstampCommandLine

/// The backend of one account. It reports failed revocations, after which waiting any longer is pointless, and notes the server's
/// response to each refresh. Sessions of previous clients are revoked as those, and not refreshed.
final class DeliveryWatch: Backend {
  private let base: any Backend
  private let (failures, failed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  private let account: ListedAccount
  private let home: Home
  private let record: OAuthRecord?

  /// - Parameter record: How `base` signs in; `nil` for Handstamp's own protocol.
  init(_ base: any Backend, of account: ListedAccount, in home: Home, _ record: OAuthRecord?) {
    (self.base, self.account, self.home, self.record) = (base, account, home, record)
  }

  var abilities: BackendAbilities { base.abilities }

  @concurrent func refresh(_ request: RefreshRequest) async -> RefreshResult {
    do throws(CommandError) {
      // Another process has signed in by another client: to the server, a token in the wrong client's hands is a stolen one.
      guard OAuthRecord.isSameClient(try home.oauth(of: account.id), record) else {
        return .noDecision(.preparation(.storage(.unavailable("the account signs in by another client by now"))))
      }
    } catch {
      return .noDecision(.preparation(.storage(.unavailable(error.message))))
    }
    let result = await base.refresh(request)
    // A refused token for another API says nothing of the session, an exchanged one nothing of its refresh token.
    let isRenewal = if case .granted(let grant) = result { !grant.isExchanged } else { false }
    if request.target == nil || isRenewal { await home.note(result, of: account.id) }
    return result
  }

  @concurrent func revoke(_ handle: RevocationHandle) async -> RevocationResult {
    let backend = await home.previousBackend(of: handle, account) ?? base
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
