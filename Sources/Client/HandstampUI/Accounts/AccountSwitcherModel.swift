public import Handstamp
public import Observation

/// The service behind an ``AccountSwitcherModel``, such as `Accounts`.
@MainActor public protocol AccountsService: AnyObject {
  /// In the order of adding.
  var accounts: [ListedAccount] { get }
  var activeID: AccountID? { get }
  /// Whether the stored list has been read.
  var isLoaded: Bool { get }
  /// The error that keeps the list from being read or written, or `nil`.
  var storageError: VaultError? { get }
  func activate(_ id: AccountID) async throws(SessionError)
  /// Signs out of an account and removes all of its data from this device.
  func removeAccount(_ id: AccountID) async throws(SessionError)
}

extension Accounts: AccountsService {
  public var isLoaded: Bool { snapshot.isLoaded }
  public var storageError: VaultError? { snapshot.storageError }
  public func removeAccount(_ id: AccountID) async throws(SessionError) { try await remove(id) }
}

/// The model of ``AccountSwitcher``: the accounts on this device, which one is in use, switching, and removing.
@MainActor @Observable
public final class AccountSwitcherModel {
  public enum State: Sendable, Hashable {
    case loading
    /// The list cannot be read.
    case failed(Wording)
    case empty
    case accounts
  }

  /// The reason that the last operation failed, or `nil`.
  public private(set) var failure: Wording?
  /// The accounts with an operation in progress.
  public private(set) var busy: Set<AccountID> = []
  @ObservationIgnored private let service: any AccountsService

  public init(_ service: any AccountsService) { self.service = service }

  public var state: State {
    if !service.accounts.isEmpty { return .accounts }
    if let error = service.storageError { return .failed(Wording(error) ?? Wording(.errorStorage)) }
    return service.isLoaded ? .empty : .loading
  }

  public var accounts: [ListedAccount] { service.accounts }

  public func isActive(_ account: ListedAccount) -> Bool { service.activeID == account.id }

  public func activate(_ account: ListedAccount) async {
    if isActive(account) { return }
    await perform(on: account) { [service] () async throws(SessionError) in try await service.activate(account.id) }
  }

  /// Signs out of an account and removes all of its data from this device.
  public func remove(_ account: ListedAccount) async {
    await perform(on: account) { [service] () async throws(SessionError) in
      try await service.removeAccount(account.id)
    }
  }

  private func perform(on account: ListedAccount, _ body: () async throws(SessionError) -> Void) async {
    guard busy.insert(account.id).inserted else { return }
    failure = nil
    defer { busy.remove(account.id) }
    do throws(SessionError) { try await body() } catch { failure = Wording(error) }
  }
}
