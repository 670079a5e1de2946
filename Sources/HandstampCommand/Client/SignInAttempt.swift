#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampVaults

/// What sign-up and sign-in have in common: the server first, then whose account it is.
struct SignInAttempt {
  let home: Home
  let book: AccountBook
  /// The account that is to be signed in to anew, if one was named.
  let named: Account?
  /// The account that is meant where none is named.
  private let usual: Account?
  let server: ServerAddress
  let identity: ServerBackend
  /// One sign-in at a server at a time: whose account it is, and with it which vault, turns out by the exchange.
  private let turn: SignInTurn

  init(server: ServerOptions, account: String?, deviceName: String?) async throws(Refusal) {
    home = try Home.current()
    // Before a password is asked for and a session begins at the server that could not be stored here.
    let blocking = await HomeCheck.damages(of: home).filter(\.blocksEveryVault)
    if let refusal = Refusal(hiding: blocking) { throw refusal }
    if let first = blocking.first, let hint = blocking.hint {
      throw Refusal(.vault, "no session can be stored here: \(first.words)", hint: hint)
    }
    book = try await AccountBook(of: home)
    // The key of the vaults may be locked, or out of reach: the server would end the former session for one that cannot be stored.
    for account in book.accounts {
      switch await home.vault(of: account.id).read() {
      case .trouble(.locked): throw Refusal(VaultTrouble.locked)
      case .trouble(.unavailable(let why)): throw Refusal(VaultTrouble.unavailable(why))
      case .value, .accessOnly: break
      case .absent, .trouble: continue
      }
      break
    }
    let named: Account?
    if let account { named = try book.account(account) } else { named = nil }
    self.named = named
    let last = try home.settings().server
    // Where the folder's account is gone, somebody may sign in all the same.
    usual = try? book.usual()
    self.server = try server.address(or: named?.server ?? usual?.server ?? last)
    if let named, named.server != self.server {
      throw Refusal(
        .usage, "\(named.name) is an account at \(named.server.text)", hint: "leave out --server, or --account")
    }
    identity = try Client.identity(at: self.server, home: home, deviceName: deviceName)
    let vault = SealedFileVault(folder: home.vaultFolder, account: AccountID("sign-in at \(self.server.text)"))
    turn = SignInTurn { () async throws(VaultTrouble) in try await vault.lockSignIn(within: SignInTurn.patience).unlock
    }
  }

  /// The account that is meant, if it is at this server and signed in to by OAuth, with how.
  func signedInByOAuth() throws(Refusal) -> (account: Account, record: OAuthRecord)? {
    guard let account = meant, let record = try home.oauth(of: account.id) else { return nil }
    return (account, record)
  }

  /// The same, else any account at this server that is signed in to by OAuth: its client is registered there.
  func knownByOAuth() throws(Refusal) -> (account: Account, record: OAuthRecord)? {
    if let known = try signedInByOAuth() { return known }
    guard named == nil else { return nil }
    for account in book.accounts where account.server == server {
      if let record = try home.oauth(of: account.id) { return (account, record) }
    }
    return nil
  }

  /// Refuses what is for Handstamp's own server at one that is known to be another.
  func refuseForeign(_ what: String) async throws(Refusal) {
    guard let (account, record) = try knownByOAuth() else { return }
    let access = OAuthAccess(record, home: home, account: account.id)
    let foreign: ForeignServer?
    do throws(SessionError) { foreign = try await ForeignServer(access) } catch { throw Refusal(error, server: server) }
    guard let foreign else { return }
    var refusal = foreign.lacks("sign-in with \(what) here", at: server)
    refusal.hint = "run: handstamp login --issuer \(record.issuer)"
    throw refusal
  }

  /// The account that is meant and signed in already, whose session will do. Asks the server, if it has to be the one with a
  /// certain address: the list may know another name for it.
  func alreadySignedIn(as email: String?) async throws(Refusal) -> Account? {
    for account in candidates(email) {
      let client = try Client(home: home, account: account)
      let state = await client.restored()
      if case .unavailable(.storage(.unavailable(let why))) = state { throw Refusal(VaultTrouble.unavailable(why)) }
      guard case .signedIn = state else { continue }
      if await client.isRefused(sayingSo: true) { continue }
      guard let email else { return account }
      // The account that was named may have been given another address.
      guard let found = try await address(of: client) else { continue }
      if found.lowercased() == email.lowercased() { return account }
    }
    return nil
  }

  /// The account that is signed in to where no address is given: the one that was named, else the usual one, if it is at this
  /// server.
  var meant: Account? { (named ?? usual).flatMap { $0.server == server ? $0 : nil } }

  private func candidates(_ email: String?) -> [Account] {
    if let named { return [named] }
    guard let email else { return [usual].compactMap { $0 }.filter { $0.server == server } }
    return book.accounts.filter {
      $0.server == server && (!$0.name.contains("@") || $0.name.lowercased() == email.lowercased())
    }
  }

  /// The address of an account that is signed in; nothing when its session turns out to be over.
  private func address(of client: Client) async throws(Refusal) -> String? {
    do throws(Refusal) {
      if try await client.foreign() != nil { return nil }
      return try await Caller.session(client).call("GET", "/v1/me", as: WhoAmI.self, for: "address").email ?? ""
    } catch {
      if error.code == .signInNeeded { return nil }
      if await client.isRefused(sayingSo: true) { return nil }
      throw error
    }
  }

  /// What brings a grant that ``signIn(name:tag:activate:oauth:_:)`` is given later.
  func exchange(_ perform: () async throws(SessionError) -> Grant) async throws(SessionError) -> Grant {
    try await turn.during(perform)
  }

  /// Signs in with the grant that `perform` brings, and puts the account on the list.
  ///
  /// - Parameters:
  ///   - name: what was typed to name it.
  ///   - oauth: how it is signed in to, where that is not Handstamp's own protocol.
  ///   - clientSecret: of a confidential client.
  func signIn(
    name: String?, tag: String?, activate: Bool, oauth: OAuthRecord? = nil, clientSecret: Secret? = nil,
    _ perform: () async throws(SessionError) -> Grant
  ) async throws(Refusal) {
    let grant: Grant
    do throws(SessionError) {
      grant = try await exchange { () async throws(SessionError) in
        try await WaitLine.shared.during(server.text, perform)
      }
      guard grant.profile != nil else { throw .invalidAnswer("the grant does not say whose it is") }
    } catch {
      throw Refusal(error, server: server)
    }
    guard let profile = grant.profile else { return }
    var account = await book.place(
      of: profile, at: server, name: name ?? profile.name, now: SystemClock().now().wall)
    account.tag = tag ?? account.tag
    try await save(oauth, clientSecret, of: account.id)
    // The list first: an account on it that is not signed in can be signed in to; one that no list knows is lost.
    try await keep(account, activate: activate)
    let client = try Client(home: home, account: account)
    do throws(SessionError) { try await client.controller.adopt(grant) } catch {
      throw Refusal(error, account: account)
    }
    // Another process may have taken it off between the two.
    try await save(oauth, clientSecret, of: account.id)
    try await book.edit(.add(account.listed))
    home.forgetRefusal(of: account.id)
    turn.end()
    await client.settle()
    say("signed in as \(profile.name) at \(server.text)", account, activate: activate)
  }

  /// The secret first: without it a record that names one is of no use.
  private func save(
    _ record: OAuthRecord?, _ secret: Secret?, of account: AccountID
  ) async throws(Refusal) {
    if record != nil {
      do throws(VaultTrouble) { try await home.save(clientSecret: secret, of: account) } catch {
        throw Refusal(error)
      }
    }
    try home.save(record, of: account)
  }

  /// Puts an account that was signed in to already where a sign-in would have put it.
  func keep(_ account: Account, tag: String?, activate: Bool) async throws(Refusal) {
    var account = account
    account.tag = tag ?? account.tag
    try await keep(account, activate: activate)
    say("signed in as \(account.name) at \(server.text) already", account, activate: activate)
  }

  private func keep(_ account: Account, activate: Bool) async throws(Refusal) {
    if book[account.id] != account || book.isOlderThanList { try await book.edit(.add(account.listed)) }
    if activate, book.active != account.id { try await book.edit(.activate(account.id)) }
    var settings = try home.settings()
    let knowsServer = settings.servers?.contains(server) == true
    guard settings.server != server || settings.hasList != true || !knowsServer else { return }
    settings.server = server
    settings.hasList = true
    if !knowsServer { settings.servers = (settings.servers ?? []) + [server] }
    try home.save(settings)
  }

  private func say(_ words: String, _ account: Account, activate: Bool) {
    Terminal.say(words)
    FolderRules(of: home).sayOther(than: account.id)
    guard let former = book.activeAccount, former.id != account.id else { return }
    let all = book.accounts.filter { $0.id != account.id } + [account]
    if activate {
      Terminal.say("it is the active account now; back with: handstamp switch \(former.handle(among: all))")
    } else {
      Terminal.say("the active account is \(former.words) still")
    }
  }
}

/// `GET /v1/me`.
struct WhoAmI: Decodable, Sendable {
  var id: String
  var name: String
  var email: String?
}
#endif
