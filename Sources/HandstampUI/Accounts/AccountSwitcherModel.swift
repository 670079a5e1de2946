public import Handstamp
import HandstampCore
public import Observation

/// What ``AccountSwitcherModel`` needs; an `Accounts` is one.
@MainActor public protocol AccountsService: AnyObject {
  /// In the order in which they were added.
  var accounts: [ListedAccount] { get }
  var activeID: AccountID? { get }
  /// Whether the stored list has been read.
  var isLoaded: Bool { get }
  /// Why the list cannot be read or written now.
  var trouble: VaultTrouble? { get }
  func activate(_ id: AccountID) async throws(SessionError)
  func remove(_ id: AccountID) async throws(SessionError)
}

extension Accounts: AccountsService {
  public var isLoaded: Bool { snapshot.isLoaded }
  public var trouble: VaultTrouble? { snapshot.trouble }
  public func remove(_ id: AccountID) async throws(SessionError) { try await remove(id, .everything) }
}

/// What ``AccountSwitcher`` shows and does: the accounts on this device, which is in use, switching, removing.
@MainActor @Observable
public final class AccountSwitcherModel {
  public enum State: Sendable, Hashable {
    case loading
    /// The list cannot be read.
    case failed(Wording)
    case empty
    case accounts
  }

  /// Why the last thing failed.
  public private(set) var failure: Wording?
  /// Accounts that something is being done with.
  public private(set) var busy: Set<AccountID> = []
  @ObservationIgnored private let service: any AccountsService

  public init(_ service: any AccountsService) { self.service = service }

  public var state: State {
    if !service.accounts.isEmpty { return .accounts }
    if let trouble = service.trouble { return .failed(Wording(.storage(trouble)) ?? Wording(.errorStorage)) }
    return service.isLoaded ? .empty : .loading
  }

  public var accounts: [ListedAccount] { service.accounts }

  public func isActive(_ account: ListedAccount) -> Bool { service.activeID == account.id }

  public func activate(_ account: ListedAccount) async {
    if isActive(account) { return }
    await perform(on: account) { [service] () async throws(SessionError) in try await service.activate(account.id) }
  }

  /// Signs it out and removes everything of it from this device.
  public func remove(_ account: ListedAccount) async {
    await perform(on: account) { [service] () async throws(SessionError) in try await service.remove(account.id) }
  }

  private func perform(on account: ListedAccount, _ body: () async throws(SessionError) -> Void) async {
    guard busy.insert(account.id).inserted else { return }
    failure = nil
    defer { busy.remove(account.id) }
    do throws(SessionError) { try await body() } catch { failure = Wording(error) }
  }
}
