/// The client's list of accounts, and the active one. Contains no secrets: those are in one vault per account.
public struct AccountsList: Sendable, Hashable {
  /// The accounts, in the order in which they were added.
  public package(set) var accounts: [ListedAccount]
  /// The account that is used when none is specified; `nil` if none is active.
  public package(set) var active: AccountID?
  /// Removed accounts with pending work: a revocation or a clean-up step. Every program that reads the list resumes it.
  public package(set) var leaving: [AccountID]
  /// A sign-in whose account is not known yet; `nil` if there is none. Its key gets a session only with the user's password or code.
  public package(set) var signIn: PendingSignIn?

  public init(
    accounts: [ListedAccount] = [], active: AccountID? = nil, leaving: [AccountID] = [], signIn: PendingSignIn? = nil
  ) {
    self.signIn = signIn
    var seen: Set<AccountID> = []
    self.accounts = accounts.filter { seen.insert($0.id).inserted }
    self.active = active.flatMap { seen.contains($0) ? $0 : nil }
    self.leaving = leaving.filter { seen.insert($0).inserted }
  }

  public subscript(id: AccountID) -> ListedAccount? { accounts.first { $0.id == id } }

  /// Returns the list's ID for the account that `server` calls `id`. Without a server, `id` belongs to no server's account.
  package func id(of id: AccountID, at server: String?, qualifiesIDs: Bool = false) -> AccountID {
    // The account's own prefixed ID, even if a shorter one is free by now.
    let whole = ListedAccount.id(of: id, at: server)
    guard !qualifiesIDs else { return whole }
    var choices = [id]
    // An account may be named like another one's prefixed ID: then the server's URL is prefixed again.
    while let known = self[choices[choices.count - 1]], known.server != server {
      choices.append(ListedAccount.id(of: choices[choices.count - 1], at: server))
    }
    return (choices + [whole]).first { self[$0] != nil && self[$0]?.server == server } ?? choices[choices.count - 1]
  }

  /// Returns the profile of a new account for a user whom the server did not name: a listed one may be another
  /// person's.
  package func unlisted(_ profile: Profile, at server: String?, qualifiesIDs: Bool) -> Profile {
    var number = 1
    while self[id(of: profile.numbered(number).id, at: server, qualifiesIDs: qualifiesIDs)] != nil { number += 1 }
    return profile.numbered(number)
  }

  /// Returns the account with this tag; tags are case-sensitive.
  public func account(tagged tag: String) -> ListedAccount? { accounts.first { $0.tag == tag } }
}

extension Profile {
  /// The profile of one of several accounts whose users the server did not name: `id.example.org`, `id.example.org 2`, …
  package func numbered(_ number: Int) -> Profile {
    guard number > 1 else { return self }
    return Profile(id: AccountID("\(id) \(number)"), name: "\(name) \(number)", isAnonymous: isAnonymous)
  }
}
