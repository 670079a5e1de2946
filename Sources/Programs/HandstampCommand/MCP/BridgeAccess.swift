#if Command
import Foundation
import Handstamp
import HandstampCommandLine

/// The tokens of one bridge. All programs of the machine share the session, and with it each refresh.
actor BridgeAccess {
  private struct Open {
    var client: AccountClient
    /// `nil` for the account's own tokens.
    var target: TokenTarget?
    /// A token for the target, which spares a look into the vault.
    var known: (token: AccessToken, end: UnixTime)?
  }

  private let signIn: MCPSignIn
  private var note: RunningBridge
  private var open: Open?
  /// The sign-in of this bridge, while the user is asked.
  private var asking: Task<Result<Void, CommandError>, Never>?
  /// Whether there may be no page by itself any more: only a bridge that has just been started opens one.
  private var hasAsked = false
  /// The scopes that a page was opened for.
  private var steps: Set<Set<String>> = []
  /// A server that always wants other scopes gets no more pages.
  private static let mostPages = 3
  /// How long a known token must last.
  private static let margin = Duration.seconds(10)
  /// How often an open stream asks for a valid token: a refresh, once the last one has expired, hears of an end at the server.
  private static let pulse = Duration.seconds(60)

  init(_ signIn: MCPSignIn) {
    self.signIn = signIn
    note = RunningBridge(for: signIn.server, at: SystemClock().now().wall)
    signIn.home.note(note)
  }

  private var home: Home { signIn.home }
  private var server: RemoteServer { signIn.server }

  // MARK: Tokens

  /// Returns a valid token; `nil` before there is an account for the server, which may need none.
  func token() async throws(CommandError) -> AccessToken? {
    do throws(CommandError) { return try await storedToken() } catch {
      open = nil
      guard error.exit == .signInNeeded, !hasAsked, await mayAskAgain() else { throw signIn.hinting(error) }
      try await ask(nil)
      return try await storedToken()
    }
  }

  /// Returns another token than one that the server has refused.
  ///
  /// - Parameter refused: `nil` for a request without a token: then the user is asked to sign in, once.
  func token(
    insteadOf refused: AccessToken?, _ challenge: ReceivedChallenge?
  ) async throws(CommandError) -> AccessToken {
    guard let refused else {
      // Another program may have signed in since.
      if let token = try await storedToken() { return token }
      try await ask(challenge)
      guard let token = try await storedToken() else { throw unsigned() }
      return token
    }
    do throws(CommandError) {
      guard let open = try await opened() else { throw unsigned() }
      self.open?.known = nil
      return try await open.client.token(replacing: refused, for: open.target).token
    } catch {
      open = nil
      throw signIn.hinting(error)
    }
  }

  private func storedToken() async throws(CommandError) -> AccessToken? {
    while let open = try await opened() {
      let token = try await token(of: open)
      // Another sign-in may have widened the account's own tokens meanwhile.
      guard try isCurrent(open) else { continue }
      hasAsked = true
      return token
    }
    return nil
  }

  /// Whether the account still signs in as it did when its session was opened: the resources of its own tokens may have changed.
  private func isCurrent(_ open: Open) throws(CommandError) -> Bool {
    try home.oauth(of: open.client.account.id) == open.client.access?.record
  }

  private func token(of open: Open) async throws(CommandError) -> AccessToken {
    guard let target = open.target else { return try await open.client.token() }
    if let known = open.known, known.end.since(SystemClock().now().wall) > BridgeAccess.margin,
      case .signedIn = open.client.controller.state
    {
      return known.token
    }
    let handed = try await open.client.token(for: target, minimumValidity: .zero)
    if let end = handed.end { self.open?.known = (handed.token, end) }
    return handed.token
  }

  /// Opens the session of the server's account. Programs that sign out or in meanwhile are noticed.
  private func opened() async throws(CommandError) -> Open? {
    try home.check()
    if let open, try isCurrent(open) { return open }
    open = nil
    guard let connection = home.connection(to: server, as: signIn.account) else { return nil }
    let known = try await KnownAccounts(of: home)
    guard let account = known.list[connection.account] else { throw unsigned() }
    let name = account.handle(among: known.accounts)
    let client = try await AccountClient(home: home, account: account, named: name, isShortLived: false)
    let new = Open(client: client, target: connection.target(of: client.access?.record))
    open = new
    note.account = account.id
    home.note(note)
    return new
  }

  // MARK: Sign-out

  func sessionEnd() async -> CommandError? {
    let controller: SessionController
    do throws(CommandError) {
      guard let open = try await opened() else { return nil }
      controller = open.client.controller
    } catch { return error.exit == .signInNeeded ? signIn.hinting(error) : nil }
    let asking = Task {
      while (try? await Task.sleep(for: BridgeAccess.pulse)) != nil { _ = try? await self.token() }
    }
    defer { asking.cancel() }
    for await case .signedOut in controller.states { return signIn.hinting(unsigned()) }
    return nil
  }

  // MARK: Sign-in

  private func unsigned() -> CommandError {
    CommandError(.signInNeeded, "not signed in to \(server.host)", hint: signIn.hint, code: "signed_out")
  }

  /// Whether a page may be opened though there was a session: not if a user has ended it.
  private func mayAskAgain() async -> Bool {
    guard let account = home.connection(to: server, as: signIn.account)?.account,
      case .value(let entry) = await home.vault(of: account).read(), entry.session == nil
    else { return false }
    switch entry.tombstones.last?.reason {
    case .expired?, .idle?, .rejected?, .repeatRefused?, .tokenReuseDetected?: return true
    default: return false
    }
  }

  /// Asks the user to sign in. Several requests wait for one answer.
  private func ask(_ challenge: ReceivedChallenge?) async throws(CommandError) {
    if asking == nil {
      guard !hasAsked else { throw unsigned() }
      hasAsked = true
      begin(challenge, [])
    }
    guard let asking else { return }
    try await asking.value.get()
  }

  private func begin(_ challenge: ReceivedChallenge?, _ scopes: [String]) {
    asking = Task { [signIn] in
      let result: Result<Void, CommandError>
      do throws(CommandError) {
        try await signIn.alone(challenge, adding: scopes)
        result = .success(())
      } catch {
        Terminal.say("handstamp: \(error.message)")
        Terminal.say("hint: \(error.hint)")
        result = .failure(error)
      }
      self.answered()
      return result
    }
  }

  private func answered() { (asking, open) = (nil, nil) }

  /// Begins a sign-in with more scopes, the first time that they are needed (RFC 6750 section 3.1). Returns the
  /// refusal of the request, which the client repeats afterwards.
  func stepUp(_ challenge: ReceivedChallenge) -> CommandError {
    let scopes = challenge.scopes
    let words = scopes.isEmpty ? "more access" : "more access (scope \(scopes.joined(separator: " ").onOneLine))"
    let isNew = !scopes.isEmpty && steps.count < BridgeAccess.mostPages && asking == nil && open != nil
    if isNew, steps.insert(Set(scopes)).inserted {
      Terminal.say("\(server.url) needs \(words); sign in once more to grant it")
      begin(challenge, scopes)
    }
    guard asking != nil else {
      let options = scopes.map { " --scope \(shellWord($0))" }.joined()
      return CommandError(
        .signInNeeded, "this needs \(words), which the account does not have", hint: signIn.hint + options + " --force",
        code: "insufficient_scope")
    }
    return CommandError(
      .signInNeeded, "this needs \(words); a page to grant it is being opened on this machine",
      hint: "grant it there, then repeat the request; the page's address is in this program's log",
      code: "insufficient_scope")
  }

  // MARK: The end

  /// Does what is left to do before the program ends.
  func conclude() async {
    asking?.cancel()
    home.forget(note)
    guard let open else { return }
    _ = await open.client.controller.waitForRefresh()
    await open.client.controller.flushAuditLog()
  }
}
#endif
