import Handstamp
import Observation

/// The content that the app loads for each account.
nonisolated struct Content: Sendable, Decodable { let name: String }

/// The app's accounts, and the screen that it shows.
@MainActor @Observable final class AccountsModel {
  enum Screen: Equatable { case opening, signIn, list, content }

  let accounts: Accounts<Content>
  private var isAdding = false
  private var isChoosing = false
  init(_ accounts: Accounts<Content>) { self.accounts = accounts }

  var screen: Screen {
    let list = accounts.snapshot
    // A list that cannot be read now is not an empty one: the switcher says why.
    guard list.isLoaded else { return list.storageError == nil ? .opening : .list }
    if isAdding || list.accounts.isEmpty { return .signIn }
    // No account is active after the active one was removed.
    return isChoosing || list.activeID == nil ? .list : .content
  }

  var canReturn: Bool { accounts.activeID != nil }
  func showList() { (isChoosing, isAdding) = (true, false) }
  func showSignIn() { isAdding = true }
  func showContent() { (isChoosing, isAdding) = (false, false) }
}
