#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// The common part of sign-up and sign-in: choose the server first, then find out the account.
struct SignInAttempt: Sendable {
  let home: Home
  let known: KnownAccounts
  /// The account to sign in to again, if one was named.
  let named: ListedAccount?
  /// The account used if none is named.
  private let usual: ListedAccount?
  let server: ServerAddress
  let identity: ServerBackend
  /// Whether this is the first sign-in of this installation, which chooses the place of the key.
  private let isFirst: Bool
  /// Sends the requests of the sign-in, over the network that is then remembered.
  let transport: any Transport
  private let network: (record: NetworkRecord?, credentials: Secret?)
  private let output: OutputOptions
  /// The tag that the account gets; `nil` leaves it as it is.
  private let tag: String?
  /// Whether it becomes the active account.
  private let activates: Bool

  init(
    server: ServerOptions, account: String?, deviceName: String?, network: NetworkOptions, output: OutputOptions,
    tag: String? = nil, activates: Bool = false
  ) async throws(CommandError) {
    (self.output, self.tag, self.activates) = (output, tag, activates)
    Interruption.arrange()
    var home = try Home.current()
    // Check this before asking for a password and starting a session that could not be stored here.
    let blocking = await HomeCheck.damages(of: home).filter(\.blocksEveryVault)
    if let refusal = CommandError(hiding: blocking) { throw refusal }
    if let first = blocking.first, let hint = blocking.hint {
      throw CommandError(.vault, "cannot store a session here: \(first.words)", hint: hint, code: first.code)
    }
    var known = try await KnownAccounts(of: home)
    isFirst = known.accounts.isEmpty && home.hasNoKey
    if isFirst {
      await KeyStore.choose(for: home)
      home = home.withNotedKey
      known = try await KnownAccounts(of: home)
    }
    (self.home, self.known) = (home, known)
    // If the vaults cannot be opened, the server would replace the old session with one that cannot be stored. A damaged vault
    // is set aside by the sign-in.
    for account in known.accounts {
      switch await home.vault(of: account.id).read() {
      case .absent, .trouble(.corrupt): continue
      case .trouble(let error): throw CommandError(error)
      case .value, .accessOnly: break
      }
      break
    }
    named = try account.map(known.account)
    // Signing in must work even if the folder's account no longer exists.
    usual = try? known.choice().account
    self.server = try server.address(or: named?.serverAddress ?? usual?.serverAddress ?? known.settings.server)
    if let named, named.serverAddress != self.server {
      throw CommandError(
        .usage, "\(named.name) is an account at \(named.serverAddress.text)", hint: "drop --server or --account")
    }
    self.network = try await SignInAttempt.network(
      network, of: named.map { [$0] } ?? [usual].compactMap { $0 } + known.accounts, at: self.server, in: home)
    transport =
      if let record = self.network.record {
        CommandTransport.make(network: try record.settings(credentials: self.network.credentials))
      } else {
        CommandTransport.shared
      }
    identity = try AccountClient.identity(at: self.server, home: home, deviceName: deviceName, over: transport)
  }

  /// Returns the network of the command line, completed with that of the first of `accounts` that is at this server and has one.
  private static func network(
    _ options: NetworkOptions, of accounts: [ListedAccount], at server: ServerAddress, in home: Home
  ) async throws(CommandError) -> (NetworkRecord?, Secret?) {
    var known: (account: AccountID, record: NetworkRecord)?
    for account in accounts where known == nil && account.serverAddress == server {
      known = try home.network(of: account.id).map { (account.id, $0) }
    }
    return try await options.network(over: known?.record) { () async throws(CommandError) in
      guard let known else { return nil }
      do throws(VaultError) { return try await home.credentialsFile(of: known.account).secret() } catch {
        throw CommandError(error).hinting("pass them again with --proxy-credentials-file")
      }
    }
  }

  /// Stores the network for an account that is signed in already.
  func rememberNetwork(of account: ListedAccount) async throws(CommandError) {
    try await home.save(network.record, network.credentials, of: account.id)
  }

  /// The account in question, with its OAuth record, if it is at this server and uses OAuth.
  func signedInByOAuth() throws(CommandError) -> (account: ListedAccount, record: OAuthRecord)? {
    guard let account = meant, let record = try home.oauth(of: account.id) else { return nil }
    return (account, record)
  }

  /// The same, else any account at this server that uses OAuth: its client is registered there.
  func knownByOAuth() throws(CommandError) -> (account: ListedAccount, record: OAuthRecord)? {
    if let known = try signedInByOAuth() { return known }
    guard named == nil else { return nil }
    for account in known.accounts where account.serverAddress == server {
      if let record = try home.oauth(of: account.id) { return (account, record) }
    }
    return nil
  }

  /// Refuses a sign-in method of Handstamp's own server at a server known to be a third party's.
  func refuseForeign(_ what: String) async throws(CommandError) {
    guard let (account, record) = try knownByOAuth() else { return }
    let access = OAuthAccess(record, home: home, account: account.id, over: transport)
    let foreign: ForeignServer?
    do throws(SessionError) { foreign = try await ForeignServer(access) } catch {
      throw CommandError(error, server: server)
    }
    guard let foreign else { return }
    throw foreign.lacks("signing in with \(what)", at: server).hinting("run: handstamp login --issuer \(record.issuer)")
  }

  /// Returns the account in question if it is already signed in and its session is usable. If an email address is given, asks
  /// the server, because the list may have another name for the account.
  func alreadySignedIn(as email: String?) async throws(CommandError) -> ListedAccount? {
    for account in candidates(email) {
      let client = try await AccountClient(home: home, account: account)
      let state = await client.restored()
      if case .unavailable(.storage(let error)) = state, error != .locked, error != .corrupt {
        throw CommandError(error)
      }
      guard case .signedIn = state else { continue }
      if await client.isRefused() { continue }
      if await client.vault.session?.isOver(at: SystemClock().now()) == true { continue }
      guard let email else { return account }
      // The named account may have a different address now.
      guard let found = try await address(of: client) else { continue }
      if SignInAttempt.key(of: found) == SignInAttempt.key(of: email) { return account }
    }
    return nil
  }

  /// The account to sign in to if no address is given: the named one, else the usual one, if it is at this server.
  var meant: ListedAccount? { (named ?? usual).flatMap { $0.serverAddress == server ? $0 : nil } }

  /// The key by which a server knows an address, whatever the form in which it was typed.
  private static func key(of text: String) -> String {
    AddressForms(text.precomposedStringWithCompatibilityMapping)?.normalized ?? text.lowercased()
  }

  private func candidates(_ email: String?) -> [ListedAccount] {
    if let named { return [named] }
    guard let email else { return [usual].compactMap { $0 }.filter { $0.serverAddress == server } }
    return known.accounts.filter {
      $0.serverAddress == server
        && (!$0.name.contains("@") || SignInAttempt.key(of: $0.name) == SignInAttempt.key(of: email))
    }
  }

  /// Returns the email address of a signed-in account, or `nil` if its session turns out to have ended.
  private func address(of client: AccountClient) async throws(CommandError) -> String? {
    do throws(CommandError) {
      if try await client.foreign() != nil { return nil }
      let person = try await AuthorizedCaller.session(client).call(
        "GET", "/v1/me", as: WhoAmI.self, for: "account details")
      await client.controller.flushAuditLog()
      return person.email ?? ""
    } catch {
      await client.controller.flushAuditLog()
      if error.exit == .signInNeeded { return nil }
      if await client.isRefused() { return nil }
      throw error
    }
  }

  /// Signs in with the token response from `perform`, and adds the account to the list.
  ///
  /// - Parameters:
  ///   - claim: How the user signs in.
  ///   - name: The name typed for the account.
  ///   - record: The OAuth record, as it is after the sign-in; `nil` for Handstamp's own protocol.
  ///   - clientSecret: The secret of a confidential client.
  /// - Returns: The account.
  @discardableResult @MainActor func signIn(
    by claim: SignInClaim, name: String? = nil, oauth record: @autoclosure @Sendable () -> OAuthRecord? = nil,
    clientSecret: @autoclosure @Sendable () -> Secret? = nil,
    _ perform: @Sendable () async throws(CommandError) -> TokenResponse
  ) async throws(CommandError) -> ListedAccount {
    let list = Accounts(of: home)
    let id: AccountID
    var previous: (account: AccountID, record: OAuthRecord?)?
    var oauth: OAuthRecord?
    var secret: Secret?
    var issued: RevocationHandle?
    do {
      id = try await list.add(named: name, tag: tag) {
        SignInTurn.name(claim)
        var grant = try await perform()
        issued = grant.revocation
        (oauth, secret) = (record(), clientSecret())
        guard var profile = grant.profile else {
          throw CommandError(.invalidResponse("the token response does not name an account"), server: server)
        }
        grant.issuer = server.text
        if grant.namesNoUser { profile = await place(of: profile) }
        (grant.profile, grant.namesNoUser) = (profile, false)
        // Before the session, which is opened with the record. If the list is lost, the account is identified by that server.
        let id = ListedAccount.id(of: profile.id, at: server.text)
        previous = (id, try home.oauth(of: id))
        try await home.change(to: oauth, secret, of: id)
        try await home.save(network.record, network.credentials, of: id)
        try rememberServer()
        return grant
      }
    } catch {
      // The session in the vault still belongs to the previous client.
      if let previous, !OAuthRecord.isSameClient(previous.record, oauth) {
        await restore(previous.record, of: previous.account)
      }
      if let issued { await revoke(issued, of: previous?.account, oauth, secret) }
      if let error = error as? SessionError { throw CommandError(error, server: server) }
      throw error as? CommandError ?? CommandError(.failure, plain("\(error)"), hint: "this is a bug; please report it")
    }
    // Another process may have removed the account in between.
    try await home.change(to: oauth, secret, of: id)
    try await home.save(network.record, network.credentials, of: id)
    home.forgetRefusal(of: id)
    guard let session = list.session(of: id), let account = list[id] else {
      throw .removed(id.rawValue)
    }
    await session.controller.flushAuditLog()
    await session.controller.finishConfirming(within: .seconds(3))
    if activates, list.activeID != id { try await list.use(account) }
    let name = session.currentUser?.name ?? ""
    await say("signed in as \(name.isEmpty ? account.shownName : name) at \(server.text)", account)
    return account
  }

  /// Returns the account for a user whom the server did not name: that of `--account`, else one without a session. Any other session
  /// may be another person's.
  private func place(of profile: Profile) async -> Profile {
    let choices = (1...known.accounts.count + 1).map { profile.numbered($0) }
    func id(_ choice: Profile) -> AccountID { ListedAccount.id(of: choice.id, at: server.text) }
    if let chosen = choices.first(where: { id($0) == named?.id }) { return chosen }
    var free = choices[choices.count - 1]
    for choice in choices {
      switch await home.vault(of: id(choice)).read() {
      case .absent: free = choice
      case .value(let entry) where entry.session == nil: free = choice
      // A vault that cannot be read now may have one.
      case .value, .accessOnly, .trouble: continue
      }
      break
    }
    if free != profile {
      Terminal.say("\(server.text) does not say who signed in, so this is listed as another account")
      Terminal.say("hint: to sign in to a listed one again, run: handstamp login --account NAME --force")
    }
    return free
  }

  /// Ends a session that has begun at the server and that no vault holds.
  private func revoke(
    _ handle: RevocationHandle, of account: AccountID?, _ record: OAuthRecord?, _ secret: Secret?
  ) async {
    if let account, await home.vault(of: account).session?.revocation == handle { return }
    let backend: any Backend =
      record.map { OAuthBackend($0.settings(secret: secret), transport: transport) } ?? identity
    _ = await backend.revoke(handle)
  }

  private func restore(_ record: OAuthRecord?, of account: AccountID) async {
    var secret: Secret?
    if let record, record.hasSecret == true { secret = try? await home.secretFile(of: record.client, account).secret() }
    try? await home.change(to: record, secret, of: account)
  }

  /// Tags and activates an already signed-in account as a sign-in would have done.
  @MainActor func keep(_ account: ListedAccount) async throws(CommandError) {
    let list = Accounts(of: home)
    if let tag, tag != account.tag {
      do throws(SessionError) { try await list.setTag(tag, of: account.id) } catch {
        throw CommandError(error, list: account)
      }
      guard list[account.id] != nil else { throw .removed(account.words) }
      Terminal.say("tagged \(tag)")
    }
    if activates, known.list.active != account.id { try await list.use(account) }
    try rememberServer()
    await say(
      "already signed in as \(account.name) at \(server.text); --force signs in again", list[account.id] ?? account)
  }

  /// Stores what is known of the account's server, without a sign-in.
  func note(overlap: Int?, of account: ListedAccount) throws(CommandError) {
    guard let overlap else { return }
    guard var record = try home.oauth(of: account.id) else {
      throw CommandError(
        .usage, "\(account.name) does not sign in by OAuth; this server needs no overlap", hint: "leave out --overlap")
    }
    record.overlap = overlap
    try home.save(record, of: account.id)
  }

  /// Stores the server of this sign-in as the last one.
  private func rememberServer() throws(CommandError) {
    var settings = try home.settings()
    let knowsServer = settings.servers?.contains(server) == true
    guard settings.server != server || !knowsServer else { return }
    settings.server = server
    if !knowsServer { settings.servers = (settings.servers ?? []) + [server] }
    try home.save(settings)
  }

  /// Says what was done, and prints the status of the account for programs.
  private func say(_ words: String, _ account: ListedAccount) async {
    Terminal.say(words)
    if isFirst { (try? home.keyStore())?.advice.forEach(Terminal.say) }
    if output.json {
      let reading = await home.vault(of: account.id).read()
      StatusReport(home: home, account: account, reading: reading, now: SystemClock().now()).writeLine()
    }
    FolderRules(of: home).sayOther(than: account.id)
    guard let previous = known.active, previous.id != account.id else { return }
    let all = known.accounts.filter { $0.id != account.id } + [account]
    if activates {
      Terminal.say("it is now the active account; to go back, run: handstamp switch \(previous.handle(among: all))")
    } else {
      Terminal.say("the active account is still \(previous.words)")
    }
  }
}

/// `GET /v1/me`.
struct WhoAmI: Decodable, Sendable {
  var id: AccountID
  var name: String
  var email: String?
  var is_anonymous: Bool?
  var session_id: SessionID?
}
#endif
