package import HandstampCore

/// The order in which the list of accounts and their sessions change. ``Accounts`` shows the list to a UI and follows it; a
/// short-lived program, which reads the list anew in every process, keeps the same order.
package protocol AccountsKeeper {
  associatedtype Failure: Error

  /// Applies an edit to the stored list.
  func apply(_ edit: AccountsEdit) async throws(Failure)
}

extension AccountsKeeper {
  /// Adds an account to the list, and signs in to it. If the sign-in fails, the account stays in the list.
  ///
  /// In this order: an account in the list without a session can be signed in to, but a session that no list names is lost.
  package func add<Success>(
    _ account: ListedAccount, signIn: () async throws(Failure) -> Success
  ) async throws(Failure) -> Success {
    try await apply(.add(account))
    let success = try await signIn()
    // Another program may have removed it between the two.
    try await apply(.add(account))
    return success
  }

  /// Removes an account that was signed out from the list.
  ///
  /// - Parameters:
  ///   - isLeaving: Whether the list keeps its ID until its pending work is done.
  ///   - isSignedIn: Whether its vault holds a session now.
  /// - Returns: `false` if another program has signed in to it meanwhile: it stays in the list, with that session.
  package func remove(
    _ account: ListedAccount, isLeaving: Bool, isSignedIn: () async -> Bool
  ) async throws(Failure) -> Bool {
    try await apply(.remove(account.id, isLeaving: isLeaving))
    guard await isSignedIn() else { return true }
    try await apply(.add(account))
    return false
  }
}
