#if Command
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport

/// A sign-in for a remote MCP server: finds its authorization server, and signs in there as an account of the list,
/// or takes one that is signed in.
struct MCPSignIn: Sendable {
  /// The client as given on the command line.
  struct Client: Sendable {
    /// Its ID, or the URL of the document that describes it; `nil` for that of the account.
    var id: String?
    var secret: Secret?
    var redirect: String?
    /// Empty for those that the server asks for.
    var scopes: [String] = []
  }

  let home: Home
  let server: RemoteServer
  var client = Client()
  /// The name of the account to use; `nil` for any at the authorization server.
  var account: String?
  /// `nil` for a browser if one is likely to be there.
  var way: OAuthSignIn.Way?
  var opensBrowser = true
  var patience: Duration?
  /// Whether the user has asked for the sign-in, so that a failed one of another program is no reason not to begin one.
  var isExplicit = false
  /// Whether to sign in although an account is signed in.
  var isForced = false
  /// Whether the server's machine has answered that it does not know the URL.
  var isMissing = false
  /// The step that signs in instead of a session of another client; `nil` for that with the client's options.
  var replacingHint: String?

  /// How long to wait for the sign-in of another program: longer than the user has for it.
  private static let turn = Duration.seconds(330)

  /// Signs in, unless another program of this machine has done so by the time it is our turn.
  ///
  /// - Parameter scopes: Scopes in addition to those that the account has.
  /// - Returns: The scopes that the server needs; none if another program has signed in.
  /// - Throws: also a refusal if the other program's sign-in has failed: the user would see one page after another.
  @discardableResult
  func alone(
    _ challenge: ReceivedChallenge?, adding scopes: [String] = []
  ) async throws(CommandError) -> [String] {
    let lock: any VaultLock
    var hasWaited = false
    do throws(VaultError) { lock = try await home.lockSignIn(at: server, within: .zero) } catch {
      hasWaited = true
      Terminal.say("another program is signing in to \(server.host)")
      do throws(VaultError) { lock = try await home.lockSignIn(at: server, within: MCPSignIn.turn) } catch {
        throw CommandError(error)
      }
    }
    defer { lock.unlock() }
    // One that the user has asked for finds out whether it would work.
    if !isExplicit, await isDone(scopes) { return [] }
    guard !hasWaited || isExplicit else {
      throw CommandError(
        .signInNeeded, "not signed in to \(server.host): the sign-in in another program was not completed", hint: hint)
    }
    return try await perform(challenge, adding: scopes)
  }

  /// The step that signs in, for hints.
  var hint: String {
    let options = [("account", account), ("client-id", client.id)].compactMap { name, value in
      value.map { " --\(name) \(shellWord($0))" }
    }
    return "run: handstamp mcp login \(shellWord(server.url))" + options.joined()
  }

  /// Returns a refusal whose hint signs in for the server, in place of one for the account alone.
  func hinting(_ error: CommandError) -> CommandError {
    guard error.hint.hasPrefix("run: handstamp login") else { return error }
    return error.hinting(hint + (error.hint.contains(" --force") ? " --force" : ""))
  }

  private func isDone(_ scopes: [String]) async -> Bool {
    guard let connection = home.connection(to: server, as: account), await isSignedIn(connection.account) else {
      return false
    }
    guard let record = try? home.oauth(of: connection.account) else { return scopes.isEmpty }
    return Set(record.scopes).isSuperset(of: scopes)
  }

  private func isSignedIn(_ account: AccountID) async -> Bool {
    await home.vault(of: account).session.map { !$0.isOver(at: SystemClock().now()) } ?? false
  }

  private func perform(
    _ challenge: ReceivedChallenge?, adding more: [String]
  ) async throws(CommandError) -> [String] {
    let found = try await RemoteResource.find(server, challenge, over: CommandTransport.shared)
    // The metadata of a whole machine says nothing of this path.
    guard !isMissing || found.resource == server.resource else {
      throw CommandError(
        .failure,
        "no MCP server at \(server.url), which answers 404; the metadata there is that of "
          + found.resource.onOneLine,
        hint: "check the URL", code: "no_resource_metadata")
    }
    let accounts = try await KnownAccounts(of: home)
    let issuers = found.authorization_servers.filter(server.mayName)
    let known = try known(in: accounts, at: issuers)
    guard let issuer = known?.record.issuer ?? issuers.first else { return [] }
    let asked = [client.scopes, challenge?.scopes ?? [], found.scopes_supported ?? []].first { !$0.isEmpty } ?? []
    let wanted = asked.union(more)
    if let known, try await isShared(known, wanted, found) { return wanted }
    let metadata = try await metadata(of: issuer)
    let id = try await clientID(known?.record, metadata)
    try await refuseReplacing(accounts, at: issuer, by: id, known)
    var record = known?.record ?? OAuthRecord(issuer: metadata.issuer, client: id ?? "", scopes: [])
    record.scopes = scopes(known?.record, wanted, metadata)
    record.redirect = client.redirect ?? record.redirect
    // At Handstamp's own server the account's own tokens stay those for its API.
    if !metadata.namesOwnAPI { record.resources = (known?.record.resources ?? []).union([found.resource]) }
    let secret = try await secret(of: known)
    let signedIn = try await SignInAttempt(at: record.issuer).signIn(
      record, secret: secret, by: way, opening: opensBrowser, within: patience)
    let connection = MCPConnection(url: server.url, resource: found.resource, account: signedIn.id)
    if let target = connection.target(of: try home.oauth(of: signedIn.id)) { try await check(target, of: signedIn) }
    try home.save(connection, to: server, as: account)
    return wanted
  }

  // MARK: Accounts

  private typealias Known = (account: ListedAccount, record: OAuthRecord)

  /// Returns the account at one of the issuers that signs in by the given client, or by any if none is given: the
  /// named one, else the one that is used with the server already, else the active one, else the first.
  private func known(in accounts: KnownAccounts, at issuers: [String]) throws(CommandError) -> Known? {
    let named = try account.map(accounts.account)
    let previous = home.connection(to: server, as: account).flatMap { accounts.list[$0.account] }
    let candidates = named.map { [$0] } ?? [previous, accounts.active].compactMap { $0 } + accounts.accounts
    for account in candidates {
      guard let record = try home.oauth(of: account.id),
        issuers.contains(where: { $0.isIssuer(published: record.issuer) }),
        client.id == nil || client.id == record.client
      else { continue }
      return (account, record)
    }
    guard let named else { return nil }
    throw CommandError(
      .usage, "\(named.words) is no account of \(issuers.map(\.onOneLine).joined(separator: " or ")) by this client",
      hint: "leave out --account")
  }

  /// Takes an account that is signed in and has the scopes, if its server issues it a token for the resource.
  ///
  /// - Throws: also a refusal if the server issues none, and would issue none after another sign-in.
  private func isShared(
    _ known: Known, _ scopes: [String], _ found: RemoteResource
  ) async throws(CommandError) -> Bool {
    guard await isSignedIn(known.account.id) else { return false }
    let connection = MCPConnection(url: server.url, resource: found.resource, account: known.account.id)
    var isOpen = true
    if let target = connection.target(of: known.record) {
      let session = try await AccountClient(home: home, account: known.account)
      do throws(CommandError) { _ = try await session.token(for: target, minimumValidity: .zero) } catch {
        if error.code == "invalid_target", try await isFinal(known.record, found) { throw error }
        // The server has to ask the user first; or the session has ended meanwhile.
        let isUnasked = ["invalid_target", "invalid_scope", "access_denied"].contains(error.code)
        guard isForced || isUnasked || error.exit == .signInNeeded else { throw error }
        isOpen = false
      }
    }
    guard isOpen, !isForced, Set(known.record.scopes).isSuperset(of: scopes) else { return false }
    try home.save(connection, to: server, as: account)
    if !isExplicit { Terminal.say("\(server.url) is used with \(known.account.words)") }
    return true
  }

  /// Whether no sign-in changes that the client gets no token for the resource: Handstamp's own server looks at the client alone,
  /// and others have been asked for the resource before.
  private func isFinal(_ record: OAuthRecord, _ found: RemoteResource) async throws(CommandError) -> Bool {
    if record.resources?.contains(found.resource) == true, !isForced { return true }
    return try await metadata(of: record.issuer).namesOwnAPI
  }

  /// Refuses an account whose client may not have tokens for the server: no request would be answered. Another failure may
  /// pass.
  private func check(_ target: TokenTarget, of account: ListedAccount) async throws(CommandError) {
    let session = try await AccountClient(home: home, account: account)
    do throws(CommandError) { _ = try await session.token(for: target, minimumValidity: .zero) } catch {
      guard error.code != "invalid_target" else { throw error }
    }
    await session.controller.flushAuditLog()
  }

  /// Refuses a sign-in that would end the session of an account that signs in there by another client: a list has one
  /// session for an account.
  private func refuseReplacing(
    _ accounts: KnownAccounts, at issuer: String, by id: String?, _ known: Known?
  ) async throws(CommandError) {
    guard !isForced else { return }
    let place = ServerAddress(listed: issuer)
    for account in accounts.accounts where account.serverAddress == place {
      let record = try home.oauth(of: account.id)
      // A known account is expected to sign in again, and not another one that has a password.
      guard id == nil || record?.client != id, record != nil || known == nil, await isSignedIn(account.id) else {
        continue
      }
      let step = replacingHint ?? hint + " --force"
      throw .replacing(account, record, by: id, hint: "\(step); or set another HANDSTAMP_HOME")
    }
  }

  // MARK: The client

  private func metadata(of issuer: String) async throws(CommandError) -> ServerMetadata {
    let place = ServerAddress(listed: issuer)
    let finder = OAuthBackend(OAuthClient(issuer: issuer, id: ""), transport: CommandTransport.shared)
    do throws(SessionError) { return try await finder.metadata() } catch { throw CommandError(error, server: place) }
  }

  /// Returns the ID of the client; `nil` for one that registers itself.
  private func clientID(_ known: OAuthRecord?, _ metadata: ServerMetadata) async throws(CommandError) -> String? {
    guard let id = client.id ?? known?.client else {
      let registers = metadata.registrationEndpoint != nil && client.secret == nil
      if metadata.namesOwnAPI {
        let usual = OAuthBackend(
          OAuthClient(issuer: metadata.issuer, id: "handstamp-cli"), transport: CommandTransport.shared)
        guard registers, await usual.isForgotten() else { return usual.client.id }
      }
      if registers { return nil }
      let document = metadata.acceptsClientDocuments ? ", or to the https URL of a client's metadata document" : ""
      throw CommandError(
        .configuration, "no client is known at \(metadata.issuer), which registers no programs",
        hint: "register a public client there with the redirect URI http://127.0.0.1/callback, "
          + "and set --client-id to its ID\(document)", code: "no_client")
    }
    guard id.hasPrefix("https://"), !metadata.acceptsClientDocuments else { return id }
    throw CommandError(
      .configuration, "\(metadata.issuer) does not read the metadata documents of clients",
      hint: "set --client-id to the ID of a client that is registered there", code: "no_client")
  }

  private func secret(of known: Known?) async throws(CommandError) -> Secret? {
    if let secret = client.secret { return secret }
    guard let known else { return nil }
    return try await home.clientSecret(of: known.account, known.record)
  }

  /// The scopes of a sign-in: given ones exactly, and in addition what keeps the session and names the account.
  private func scopes(_ known: OAuthRecord?, _ wanted: [String], _ metadata: ServerMetadata) -> [String] {
    let usual =
      client.scopes.isEmpty
      ? ["openid", "profile", "offline_access"].filter { metadata.scopes?.contains($0) == true } : []
    return (known?.scopes ?? []).union(wanted).union(usual)
  }
}

extension [String] {
  /// Returns these and those of `others` that are not among them, in order.
  func union(_ others: [String]) -> [String] { self + others.filter { !contains($0) } }
}
#endif
