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
  /// A server that does not say who signed in gets another account for each sign-in, because it may be another person's. To sign in
  /// to a listed one again, use its session.
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
    let turn = SignInTurn(by: nil, remember: remember, keys: keys(remember, sent)) {
      [store] () async throws(VaultError) in
      try UnstoredRefreshes.holding(try await store.lockSignIn(within: SignInTurn.patience)?.unlock)
    }
    defer { turn.end() }
    let tokens = try await SignInTurn.$current.withValue(turn) { try await perform() }
    let id = try await add(tokens, by: turn.claim, name, tag, remember)
    // Its session is stored. If this fails, the key expires.
    if let key = sent.withLock({ $0 }) { _ = try? await change(.forgetSignIn(key)) }
    return id
  }

  /// The keys are kept beside the list: the account, and its vault, are not known yet.
  private func keys(_ remember: Bool, _ sent: Locked<RotationKey?>) -> SignInKeys {
    SignInKeys(remember: remember, clock: clock) { [store] new, used in
      guard case .success(let list) = await store.edit(.prepareSignIn(new, insteadOf: used)) else { return nil }
      sent.withLock { $0 = list.signIn?.key }
      return list.signIn
    } forget: { [store] key in
      _ = await store.edit(.forgetSignIn(key))
    }
  }

  private func add(
    _ tokens: TokenResponse, by claim: SignInClaim, _ name: String?, _ tag: String?, _ remember: Bool
  ) async throws(SessionError) -> AccountID {
    guard var profile = tokens.profile else { throw .invalidResponse("the token response does not name the account") }
    var tokens = tokens
    // Another program may have added an account with that ID.
    await load()
    // The same ID may be another person's.
    if tokens.namesNoUser {
      profile = list.unlisted(profile, at: tokens.issuer, qualifiesIDs: qualifiesIDs)
      (tokens.profile, tokens.namesNoUser) = (profile, false)
    }
    let id = list.id(of: profile.id, at: tokens.issuer, qualifiesIDs: qualifiesIDs)
    try await alone(id) { () async throws(SessionError) in
      let record = ListedAccount(
        id: id, name: name ?? profile.name, tag: tag, server: tokens.issuer, addedAt: self.clock.now().wall)
      // First the list: an account in it without a session can be signed in to, but a session that no list names is lost.
      let listed = try await self.change(.add(record))[id] ?? record
      try await self.openSession(of: id).signIn(by: claim, remember) { () async throws(SessionError) in tokens }
      // Another program may have removed it between the two. Otherwise its entry may be newer than this one.
      await self.load()
      if self[id] == nil { try await self.change(.add(listed)) }
    }
    return id
  }

  /// The list's ID for the account of these tokens; `nil` if they do not name it.
  package func listedID(of tokens: TokenResponse) -> AccountID? {
    tokens.profile.map { list.id(of: $0.id, at: tokens.issuer, qualifiesIDs: qualifiesIDs) }
  }

  /// Whether tokens belong to a listed account. Those that name no user belong to any account without one: the app says which.
  func owns(_ tokens: TokenResponse, _ id: AccountID) -> Bool {
    guard tokens.namesNoUser, let profile = tokens.profile else { return listedID(of: tokens) == id }
    let numbers = 1...list.accounts.count + 1
    return numbers.contains {
      list.id(of: profile.numbered($0).id, at: tokens.issuer, qualifiesIDs: qualifiesIDs) == id
    }
  }

  // MARK: Earlier places

  private var abilities: BackendAbilities { backend?.abilities ?? BackendAbilities() }

  /// Lists the account whose session an earlier place holds; its own session then moves it from there. Before the list is shown.
  ///
  /// - Returns: The trouble of a place that cannot be read.
  func adopt() async -> VaultError? {
    var unknown: [EarlierPlace] = []
    var trouble: VaultError?
    for place in earlier {
      do throws(VaultError) {
        guard let content = try await place.content, earlier.mayBelong(content.server, to: abilities) else { continue }
        try await list(content.account, named: content.name, from: place)
      } catch {
        unknown.append(place)
        trouble = error
      }
    }
    earlier = unknown + earlier.filter { $0.serverName != nil }
    return trouble
  }

  /// - Parameter name: `nil` lists it as removed, until its revocations are delivered.
  private func list(_ account: AccountID, named name: String?, from place: EarlierPlace) async throws(VaultError) {
    let issuer = abilities.namesIssuer ? abilities.issuer : nil
    let list = try await store.read().get()
    let id = list.id(of: account, at: issuer, qualifiesIDs: qualifiesIDs)
    adopted.withLock { $0[id, default: []].append(place) }
    guard list[id] == nil, name != nil || !list.leaving.contains(id) else { return }
    let record = ListedAccount(id: id, name: name ?? "", server: issuer, addedAt: clock.now().wall)
    _ = try await store.edit(.add(record)).get()
    if name == nil { _ = try await store.edit(.remove(id, isLeaving: true)).get() }
  }
}

extension EarlierPlace {
  /// Whose session it is, and its server.
  fileprivate struct Content {
    /// One that is not known has the ID `former`.
    let account: AccountID
    /// `nil` if there is no session, only what is pending for sessions that have ended.
    var name: String?
    var server: String?
  }

  /// - Throws: also for a session that does not say whose it is: it could not be listed.
  fileprivate var content: Content? {
    get async throws(VaultError) {
      switch kind {
      case .vault(let vault):
        switch await vault.read() {
        case .value(let entry):
          if let session = entry.session { return try Content(session.profile, session.issuer) }
          guard let pending = entry.tombstones.last(where: { !$0.isFinished }) else { return nil }
          return Content(account: pending.account ?? AccountID("former"))
        case .accessOnly: throw .locked
        case .trouble(let trouble): throw trouble
        case .absent: return nil
        }
      case .tokens(let read, _):
        let tokens: TokenResponse?
        do { tokens = try await read() } catch { throw .unavailable("\(type(of: error))") }
        return try tokens.map { tokens throws(VaultError) in try Content(tokens.profile, tokens.issuer) }
      case .server, .accounts: return nil
      }
    }
  }
}

extension EarlierPlace.Content {
  fileprivate init(_ profile: Profile?, _ issuer: String?) throws(VaultError) {
    guard let profile else {
      throw .unavailable("the session in an earlier place does not say whose it is: its tokens need a profile")
    }
    self.init(account: profile.id, name: profile.name, server: issuer)
  }
}
