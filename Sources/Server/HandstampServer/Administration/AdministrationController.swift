#if Server
import Foundation
import HTTPTypes
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Hummingbird
import Logging

/// `/admin/v1`: the server's administration over HTTP, for administrators with a token. Without administrators there are no such
/// routes.
struct AdministrationController: Sendable {
  let administrators: [Administrator]
  /// Returns the operations on behalf of an actor.
  let administration: @Sendable (AuditActor) -> Administration
  let clients: [ConfiguredClient]
  let limits: RequestLimits

  typealias Route<Context> =
    @Sendable @concurrent (Request, Context, Administration) async throws -> Response

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    guard !administrators.isEmpty else { return }
    let admitted = AdministrationRoutes(group: routes.group("/admin/v1"), controller: self)
    addAccountRoutes(to: admitted)
    addSessionRoutes(to: admitted)
    addServerRoutes(to: admitted)
    addWebhookRoutes(to: admitted)
  }

  /// Returns a route that runs `body` for administrators only.
  func admitted<Context: SessionRequestContext>(
    _ body: @escaping Route<Context>
  ) -> @Sendable @concurrent (Request, Context) async throws -> Response {
    { request, context in
      let name = try administrator(of: request, context).name
      let administration = administration(
        .administrator(name, from: limits.client(of: request, context).text))
      do {
        return try await body(request, context, administration)
      } catch AdministrationError.registry(let error) {
        throw error
      } catch AdministrationError.busy(let error) {
        throw error
      } catch let error as AdministrationError {
        throw ProblemError(error, administration.policy)
      }
    }
  }

  private func administrator(
    of request: Request, _ context: some SessionRequestContext
  ) throws -> Administrator {
    let fields = request.headers[values: .authorization]
    guard let field = fields.first else { throw AdministrationController.tokenMissing }
    let parts = field.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    if fields.count == 1, parts.count == 2, parts[0].lowercased() == "bearer",
      let known = Administrator.with(Secret(String(parts[1])), among: administrators)
    {
      return known
    }
    let client = limits.client(of: request, context)
    // First, so that a flood does not fill the log.
    try limits.take(.adminFailures, from: client)
    context.logger.notice(
      "Administrator refused", metadata: ["handstamp.address": "\(client.text ?? "unknown")"])
    throw ProblemError(
      .unauthorized, "token_invalid", "The administrator's token is not valid",
      headers: [.wwwAuthenticate: "Bearer error=\"invalid_token\""])
  }

  /// Administrators' tokens have no keys, and no authorization server issues them.
  private static let tokenMissing = ProblemError(
    .unauthorized, "token_missing", "Sign-in required", headers: [.wwwAuthenticate: "Bearer"])

  private func addAccountRoutes(to routes: AdministrationRoutes<some SessionRequestContext>) {
    // A page of accounts in the order of their IDs, or with `email=` the one with it.
    routes.on(.get, "accounts") { request, _, administration in
      let query = request.uri.queryParameters
      var json = JSONText()
      if let email = query.get("email") {
        json.add("accounts", [try await administration.account(email: email).described])
        return .json(json)
      }
      let (limit, after) = (try query.limit, query.get("after"))
      guard after?.utf8.contains(0) != true else { throw ProblemError.invalidRequest("after: not an ID.") }
      let page = try await administration.accounts(after: after.map { AccountID($0) }, limit: limit)
      json.add("accounts", page.map(\.described))
      // A full page may have been the last one; then the next is empty.
      if page.count == limit { json.add("next", ifPresent: page.last?.id.rawValue) }
      return .json(json)
    }
    // Creates an account. Without a password the response has a code that sets one, or a mail invites the owner to.
    routes.on(.post, "accounts") { request, _, administration in
      let body = try await request.json(upTo: limits.bodySize)
      let (email, name) = (try body.text("email"), try body.optionalText("username"))
      var json = JSONText()
      if try body.optionalFlag("invite") {
        guard !body.contains("password") else {
          throw ProblemError.invalidRequest("password: who is invited chooses it.")
        }
        let account = try await administration.inviteAccount(
          email: email, username: name, in: try body.optionalText("language"))
        json.add("account", account.described)
        return .json(json, status: .created)
      }
      let new = try await administration.createAccount(
        email: email, username: name, password: try body.optionalSecret("password"))
      json.add("account", new.account.described)
      if let code = new.code { json.add("reset", code.described) }
      return .json(json, status: .created)
    }
    // Stores accounts of another system, a chunk of its export at a time.
    routes.on(.post, "accounts/import") { request, _, administration in
      let options = try ImportOptions(request.uri.queryParameters)
      let body = try await request.wholeBody(of: "application/x-ndjson", upTo: limits.bodySize)
      let bytes = AsyncStream([UInt8].self) { stream in
        stream.yield(Array(body.readableBytesView))
        stream.finish()
      }
      return .json(try await administration.importAccounts(bytes, options: options).described())
    }
    // The account and its live sessions.
    routes.on(.get, "accounts/:id") { _, context, administration in
      let account = try await administration.account(try context.account)
      var json = JSONText()
      json.add("account", account.described)
      json.add("sessions", try await described(account.id, administration))
      return .json(json)
    }
    // Permanently deletes the account.
    routes.on(.delete, "accounts/:id") { _, context, administration in
      .ended(try await administration.delete(try context.account))
    }
    routes.on(.post, "accounts/:id/disable") { _, context, administration in
      .ended(try await administration.disable(try context.account))
    }
    routes.on(.post, "accounts/:id/enable") { _, context, administration in
      try await administration.enable(try context.account)
      return .nothing
    }
    // Issues a code that sets a new password.
    routes.on(.post, "accounts/:id/reset") { _, context, administration in
      .json(try await administration.issueResetCode(of: try context.account).described, status: .created)
    }
    // The ways into the account.
    routes.on(.get, "accounts/:id/credentials") { _, context, administration in
      .json(try await administration.credentials(of: try context.account).described)
    }
    // The password is then enough.
    routes.on(.delete, "accounts/:id/authenticator-app") { _, context, administration in
      guard try await administration.removeTOTP(of: try context.account) else { throw ProblemError.notFound }
      return .nothing
    }
    routes.on(.get, "accounts/:id/groups") { _, context, administration in
      .json("groups", try await administration.groups(of: try context.account))
    }
    // Puts the account into exactly these groups.
    routes.on(.put, "accounts/:id/groups") { request, context, administration in
      let body = try await request.json(upTo: limits.bodySize)
      guard body.contains("groups") else { throw ProblemError.invalidRequest("Missing: groups.") }
      let groups = Set(try body.texts("groups"))
      return .json("groups", try await administration.changeGroups(of: try context.account) { $0 = groups })
    }
    // Removes every way into the account, and issues a code that sets a new password.
    routes.on(.post, "accounts/:id/take-back") { request, context, administration in
      let email = try await request.optionalJSON(upTo: limits.bodySize)?.optionalText("email")
      let (count, code) = try await administration.takeBack(try context.account, email: email)
      var json = JSONText()
      json.add("ended", Int64(count))
      json.add("reset", code.described)
      return .json(json, status: .created)
    }
    // Everything that is stored about the owner.
    routes.on(.get, "accounts/:id/export") { _, context, administration in
      .json(try await administration.export(try context.account), status: .ok)
    }
  }

  private func addSessionRoutes(to routes: AdministrationRoutes<some SessionRequestContext>) {
    // The live ones.
    routes.on(.get, "accounts/:id/sessions") { _, context, administration in
      .json("sessions", try await described(try context.account, administration))
    }
    // Ends all of them.
    routes.on(.delete, "accounts/:id/sessions") { request, context, administration in
      // A caller who adds a condition does not mean all sessions.
      guard request.uri.query == nil else { throw ProblemError.invalidRequest("Query parameters are not supported.") }
      return .ended(try await administration.endSessions(of: try context.account))
    }
    routes.on(.delete, "accounts/:id/sessions/:session") { _, context, administration in
      let session = SessionID(try context.decoded("session"))
      return .ended(try await administration.endSession(session, of: try context.account) ? 1 : 0)
    }
  }

  /// The live sessions of an account.
  private func described(_ account: AccountID, _ administration: Administration) async throws -> [JSONText] {
    let addresses = try await administration.addresses(ofSessionsOf: account)
    return try await administration.sessions(of: account).map { administration.described($0, from: addresses[$0.id]) }
  }

  private func addServerRoutes(to routes: AdministrationRoutes<some SessionRequestContext>) {
    // The OAuth clients of the configuration, with what is known of their own tokens; then those that registered themselves.
    routes.on(.get, "clients") { _, _, administration in
      let machines = try await administration.machines()
      let all = clients + (try await administration.registeredClients())
      return .json(
        "clients", all.map { client in client.described(with: machines.first { $0.client == client.id }) })
    }
    // Forgets a client that has registered itself, and ends its sessions. The others are in the configuration.
    routes.on(.delete, "clients/:id") { _, context, administration in
      let id = try context.decoded("id")
      guard RegisteredClient.isID(id) else { throw ProblemError.notFound }
      let (wasRegistered, ended) = try await administration.removeClient(id)
      guard wasRegistered || ended > 0 else { throw ProblemError.notFound }
      return .ended(ended)
    }
    // The ended sessions that a client was not told of yet.
    routes.on(.get, "clients/:id/logouts") { _, context, administration in
      let id = try context.parameters.require("id")
      guard clients.contains(where: { $0.id == id }) else { throw ProblemError.notFound }
      return .json("logouts", try await administration.waitingLogouts(of: id).map(\.described))
    }
    // Ends a client's sessions and its own tokens, also of one that was removed from the configuration.
    routes.on(.delete, "clients/:id/sessions") { request, context, administration in
      guard request.uri.query == nil else { throw ProblemError.invalidRequest("Query parameters are not supported.") }
      return .ended(try await administration.endSessions(ofClient: try context.decoded("id")))
    }
    // A page of the audit log, oldest first.
    routes.on(.get, "audit") { request, _, administration in
      let query = request.uri.queryParameters
      var after: Int64 = 0
      if let text = query.get("after") {
        guard let number = Int64(text), number >= 0 else { throw ProblemError.invalidRequest("after: not an ID.") }
        after = number
      }
      let limit = try query.limit
      let account = query.get("account").map { AccountID($0) }
      let since = query.get("since").flatMap { UnixTime(date: $0) }
      guard since != nil || query.get("since") == nil else { throw ProblemError.invalidRequest("since: not a time.") }
      let page = try await administration.auditedActions(after: after, about: account, since: since, limit: limit)
      var json = JSONText()
      json.add("audit", page.map(\.described))
      if page.count == limit, let last = page.last { json.add("next", last.id) }
      return .json(json)
    }
    // How many rows of each kind the store has.
    routes.on(.get, "stats") { _, _, administration in
      .json(try await administration.counts().described)
    }
  }
}

/// Routes for administrators only.
struct AdministrationRoutes<Context: SessionRequestContext> {
  let group: RouterGroup<Context>
  let controller: AdministrationController

  func on(
    _ method: HTTPRequest.Method, _ path: RouterPath, _ body: @escaping AdministrationController.Route<Context>
  ) {
    group.on(path, method: method, use: controller.admitted(body))
  }
}

extension ImportOptions {
  /// The parameters of `POST /admin/v1/accounts/import`. Firebase's have a secret, and so no place in an address.
  fileprivate init(_ query: Parameters) throws(ProblemError) {
    let name = query.get("from") ?? ImportFormat.handstamp.rawValue
    guard let format = ImportFormat(rawValue: name) else { throw .invalidRequest("from: not a known system.") }
    self.init(format)
    merges = try query.flag("merge")
    isTrial = try query.flag("dry_run")
    for provider in query.getAll("provider") where !addProvider(provider) {
      throw .invalidRequest("provider: not a name, = and an issuer.")
    }
  }
}

extension RequestContext {
  /// The account ID in the path.
  fileprivate var account: AccountID { get throws(ProblemError) { AccountID(try decoded("id")) } }
}

extension Parameters {
  fileprivate func flag(_ name: String) throws(ProblemError) -> Bool {
    switch get(name) {
    case nil, "false"?: false
    case "true"?: true
    default: throw .invalidRequest("\(name): must be true or false.")
    }
  }

  /// The size of a page: 1 to ``Administration/mostRows``.
  fileprivate var limit: Int {
    get throws(ProblemError) {
      guard let text = get("limit") else { return 100 }
      guard let limit = Int(text), (1...Administration.mostRows).contains(limit) else {
        throw .invalidRequest("limit: must be 1 to \(Administration.mostRows).")
      }
      return limit
    }
  }
}

extension ResetCode {
  fileprivate var described: JSONText {
    var json = JSONText()
    json.add("code", code.withExposed { $0 })
    json.add("link", ifPresent: link?.withExposed { $0 })
    json.add("expires_at", expiresAt.description)
    json.add("expires_at_ms", expiresAt.milliseconds)
    return json
  }
}
#endif
