public import HandstampCore
import HandstampSupport

extension Accounts {
  /// Signs in to another account, or again to one that is in the list. It becomes the active one if none is, as for the first
  /// account and after the active one was removed; otherwise it waits for ``activate(_:)``. If the tokens cannot be stored, the
  /// account is in the list nevertheless, signed out.
  ///
  /// The list uses the server's ID for the account. If an account of another server already has that ID, the new one's ID is
  /// prefixed with the URL of its server, which ``TokenResponse/issuer`` gives: a backend names it in every response or in none.
  ///
  /// A closure that calls a server itself must first take its turn, see ``SignInTurn``.
  ///
  /// - Parameters:
  ///   - tag: the app's own name for the account. It is taken from any other account that has it.
  ///   - perform: obtains the tokens from the server.
  /// - Throws: the error of `perform`, unchanged; otherwise a ``SessionError``.
  @discardableResult
  public func add(
    tag: String? = nil, remember: Bool = true, _ perform: () async throws -> TokenResponse
  ) async throws -> AccountID {
    try await add(named: nil, tag: tag, remember: remember, perform)
  }

  /// Does the same as ``add(tag:remember:_:)`` with a name of the program's choice, such as the one that the user typed.
  ///
  /// - Parameter name: The name in the list; `nil` for the one at the server, ``Profile/name``.
  @discardableResult
  package func add(
    named name: String?, tag: String? = nil, remember: Bool = true, _ perform: () async throws -> TokenResponse
  ) async throws -> AccountID {
    let sent = Locked<RotationKey?>(nil)
    let turn = SignInTurn(keys: keys(remember, sent)) { [index] () async throws(VaultError) in
      try await index.lockSignIn(within: SignInTurn.patience)?.unlock
    }
    defer { turn.end() }
    let tokens = try await SignInTurn.$current.withValue(turn) { try await perform() }
    let id = try await add(tokens, name, tag, remember)
    // Its session is stored. If this fails, the key expires.
    if let key = sent.withLock({ $0 }) { _ = try? await change(.forgetSignIn(key)) }
    return id
  }

  /// The keys are kept beside the list: the account, and its vault, are not known yet.
  private func keys(_ remember: Bool, _ sent: Locked<RotationKey?>) -> SignInKeys {
    SignInKeys(
      key: { [index, clock] purpose, used in
        guard remember else { return nil }
        let new = PendingSignIn(for: purpose, at: clock.now().wall)
        guard case .success(let list) = await index.edit(.prepareSignIn(new, insteadOf: used)),
          let signIn = list.signIn, signIn.purpose == new.purpose
        else { return nil }
        sent.withLock { $0 = signIn.key }
        return signIn.key
      },
      forget: { [index] key in
        guard remember else { return }
        _ = await index.edit(.forgetSignIn(key))
      },
      sleep: { [clock] in try await clock.sleep(for: $0) })
  }

  private func add(
    _ tokens: TokenResponse, _ name: String?, _ tag: String?, _ remember: Bool
  ) async throws(SessionError) -> AccountID {
    guard let profile = tokens.profile else { throw .invalidResponse("the token response does not name the account") }
    // Another program may have added an account with that ID.
    await load()
    let id = listedID(profile.id, at: tokens.issuer)
    try await alone(id) { () async throws(SessionError) in
      let record = ListedAccount(
        id: id, name: name ?? profile.name, tag: tag, server: tokens.issuer, addedAt: self.clock.now().wall)
      // First the list: an account in it without a session can be signed in to, but a session that no list names is lost.
      let listed = try await self.change(.add(record))[id] ?? record
      try await self.openSession(of: id).signIn(with: tokens, remember: remember)
      // Another program may have removed it between the two. Otherwise its entry may be newer than this one.
      await self.load()
      if self[id] == nil { try await self.change(.add(listed)) }
    }
    return id
  }

  /// Returns the list's ID for the server's `id`. Without a server, `id` belongs to no server's account.
  private func listedID(_ id: AccountID, at server: String?) -> AccountID {
    // The account's own prefixed ID, even if a shorter one is free by now.
    let whole = ListedAccount.id(of: id, at: server)
    guard !prefixesIDs else { return whole }
    var choices = [id]
    // An account may be named like another one's prefixed ID: then the server's URL is prefixed again.
    while let known = self[choices[choices.count - 1]], known.server != server {
      choices.append(ListedAccount.id(of: choices[choices.count - 1], at: server))
    }
    return (choices + [whole]).first { self[$0] != nil && self[$0]?.server == server } ?? choices[choices.count - 1]
  }
}
