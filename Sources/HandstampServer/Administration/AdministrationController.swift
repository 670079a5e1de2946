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
  /// Maximum size of a body, in bytes.
  let bodyLimit: Int

  private typealias Route<Context> =
    @Sendable @concurrent (Request, Context, Administration) async throws -> Response

  func addRoutes<Context: SessionRequestContext>(to routes: some RouterMethods<Context>) {
    guard !administrators.isEmpty else { return }
    let group = routes.group("/admin/v1")
    group.get("accounts", use: admitted(listAccounts))
    group.post("accounts", use: admitted(createAccount))
    group.get("accounts/:id", use: admitted(showAccount))
    group.delete("accounts/:id", use: admitted(deleteAccount))
    group.post("accounts/:id/disable", use: admitted(disableAccount))
    group.post("accounts/:id/enable", use: admitted(enableAccount))
    group.post("accounts/:id/reset", use: admitted(issueResetCode))
    group.get("accounts/:id/credentials", use: admitted(listCredentials))
    group.post("accounts/:id/take-back", use: admitted(takeBackAccount))
    group.get("accounts/:id/export", use: admitted(exportAccount))
    group.get("accounts/:id/sessions", use: admitted(listSessions))
    group.delete("accounts/:id/sessions", use: admitted(endSessions))
    group.delete("accounts/:id/sessions/:session", use: admitted(endSession))
    group.get("clients", use: admitted(listClients))
    group.get("clients/:id/logouts", use: admitted(listLogouts))
    group.delete("clients/:id/sessions", use: admitted(endClientSessions))
    group.get("audit", use: admitted(listAudit))
    group.get("stats", use: admitted(showStats))
  }

  /// Returns a route that runs `body` for administrators only.
  private func admitted<Context: SessionRequestContext>(
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
        throw Problem(error, administration.policy)
      }
    }
  }

  private func administrator(
    of request: Request, _ context: some SessionRequestContext
  ) throws(Problem) -> Administrator {
    let fields = request.headers[values: .authorization]
    guard let field = fields.first else { throw .tokenMissing }
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
    var problem = Problem(.unauthorized, "token_invalid", "The administrator's token is not valid")
    // Administrators' tokens have no keys.
    problem.headers[.wwwAuthenticate] = "Bearer error=\"invalid_token\""
    throw problem
  }

  // MARK: Accounts

  /// `GET /admin/v1/accounts?after=&limit=`: a page of accounts in the order of their IDs, or with `email=` the one with it.
  @concurrent private func listAccounts(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let query = request.uri.queryParameters
    var json = JSONText()
    if let email = query.get("email") {
      json.add("accounts", [try await administration.account(email: email).described])
      return .json(json)
    }
    let limit = try query.limit
    let page = try await administration.accounts(after: query.get("after").map { AccountID($0) }, limit: limit)
    json.add("accounts", page.map(\.described))
    // A full page may have been the last one; then the next is empty.
    if page.count == limit { json.add("next", ifPresent: page.last?.id.rawValue) }
    return .json(json)
  }

  /// `POST /admin/v1/accounts`: creates an account. Without a password the response has a code that sets one.
  @concurrent private func createAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let body = try await request.json(as: NewAccountBody.self, upTo: bodyLimit)
    let new = try await administration.createAccount(
      email: body.email, username: body.username, password: body.password)
    var json = JSONText()
    json.add("account", new.account.described)
    if let code = new.code { json.add("reset", code.described) }
    return .json(json, status: .created)
  }

  /// `GET /admin/v1/accounts/{id}`: the account and its live sessions.
  @concurrent private func showAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let account = try await administration.account(try context.account)
    var json = JSONText()
    json.add("account", account.described)
    json.add("sessions", try await administration.sessions(of: account.id).map(\.described))
    return .json(json)
  }

  /// `DELETE /admin/v1/accounts/{id}`: permanently deletes the account.
  @concurrent private func deleteAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    .ended(try await administration.delete(try context.account))
  }

  /// `POST /admin/v1/accounts/{id}/disable`.
  @concurrent private func disableAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    .ended(try await administration.disable(try context.account))
  }

  /// `POST /admin/v1/accounts/{id}/enable`.
  @concurrent private func enableAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    try await administration.enable(try context.account)
    return .nothing
  }

  /// `POST /admin/v1/accounts/{id}/reset`: issues a code that sets a new password.
  @concurrent private func issueResetCode(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    .json(try await administration.issueResetCode(of: try context.account).described, status: .created)
  }

  /// `GET /admin/v1/accounts/{id}/credentials`: the ways into the account.
  @concurrent private func listCredentials(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    .json(try await administration.credentials(of: try context.account).described)
  }

  /// `POST /admin/v1/accounts/{id}/take-back`: removes every way into the account, and issues a code that sets a new password.
  @concurrent private func takeBackAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let body = try await request.optionalJSON(as: TakeBackBody.self, upTo: bodyLimit)
    let (count, code) = try await administration.takeBack(try context.account, email: body?.email)
    var json = JSONText()
    json.add("ended", Int64(count))
    json.add("reset", code.described)
    return .json(json, status: .created)
  }

  /// `DELETE /admin/v1/clients/{id}/sessions`: ends a client's sessions, also of one that was removed from the configuration.
  @concurrent private func endClientSessions(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    guard request.uri.query == nil else { throw Problem.invalidRequest("Query parameters are not supported.") }
    return .ended(try await administration.endSessions(ofClient: try context.decoded("id")))
  }

  /// `GET /admin/v1/accounts/{id}/export`: everything that is stored about the owner.
  @concurrent private func exportAccount(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let document = try await administration.export(try context.account)
    return Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: document)))
  }

  // MARK: Sessions

  /// `GET /admin/v1/accounts/{id}/sessions`: the live ones.
  @concurrent private func listSessions(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    var json = JSONText()
    json.add("sessions", try await administration.sessions(of: try context.account).map(\.described))
    return .json(json)
  }

  /// `DELETE /admin/v1/accounts/{id}/sessions`: ends all of them.
  @concurrent private func endSessions(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    // A caller who adds a condition does not mean all sessions.
    guard request.uri.query == nil else { throw Problem.invalidRequest("Query parameters are not supported.") }
    return .ended(try await administration.endSessions(of: try context.account))
  }

  /// `DELETE /admin/v1/accounts/{id}/sessions/{session}`.
  @concurrent private func endSession(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let session = SessionID(try context.decoded("session"))
    return .ended(try await administration.endSession(session, of: try context.account) ? 1 : 0)
  }

  // MARK: The server

  /// `GET /admin/v1/clients`: the OAuth clients of the configuration.
  @concurrent private func listClients(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    var json = JSONText()
    json.add("clients", clients.map(\.described))
    return .json(json)
  }

  /// `GET /admin/v1/clients/{id}/logouts`: the ended sessions that a client was not told of yet.
  @concurrent private func listLogouts(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let id = try context.parameters.require("id")
    guard clients.contains(where: { $0.id == id }) else { throw Problem.notFound }
    var json = JSONText()
    json.add("logouts", try await administration.waitingLogouts(of: id).map(\.described))
    return .json(json)
  }

  /// `GET /admin/v1/audit?after=&limit=&account=&since=`: a page of the audit log, oldest first.
  @concurrent private func listAudit(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    let query = request.uri.queryParameters
    var after: Int64 = 0
    if let text = query.get("after") {
      guard let number = Int64(text), number >= 0 else { throw Problem.invalidRequest("after: not an ID.") }
      after = number
    }
    let limit = try query.limit
    let account = query.get("account").map { AccountID($0) }
    let since = query.get("since").flatMap { UnixTime(date: $0) }
    guard since != nil || query.get("since") == nil else { throw Problem.invalidRequest("since: not a time.") }
    let page = try await administration.auditedActions(after: after, about: account, since: since, limit: limit)
    var json = JSONText()
    json.add("audit", page.map(\.described))
    if page.count == limit, let last = page.last { json.add("next", last.id) }
    return .json(json)
  }

  /// `GET /admin/v1/stats`: how many rows of each kind the store has.
  @concurrent private func showStats(
    _ request: Request, _ context: some SessionRequestContext, _ administration: Administration
  ) async throws -> Response {
    .json(try await administration.counts().described)
  }
}

/// The body of `POST /admin/v1/accounts/{id}/take-back`.
struct TakeBackBody: JSONBody {
  var email: String?

  init(_ fields: JSONFields) throws(Problem) {
    email = try fields.optionalText("email")
  }
}

/// The body of `POST /admin/v1/accounts`.
struct NewAccountBody: JSONBody {
  var email: String
  var username: String?
  var password: Secret?

  init(_ fields: JSONFields) throws(Problem) {
    email = try fields.text("email")
    username = try fields.optionalText("username")
    password = try fields.optionalText("password").map { Secret($0) }
  }
}

extension RequestContext {
  /// The account ID in the path.
  fileprivate var account: AccountID { get throws(Problem) { AccountID(try decoded("id")) } }

  /// A parameter in the path, percent-decoded (RFC 3986 section 2.1).
  fileprivate func decoded(_ name: String) throws(Problem) -> String {
    guard let text = parameters.get(name)?.removingPercentEncoding, !text.isEmpty else { throw .notFound }
    return text
  }
}

extension Parameters {
  /// The size of a page: 1 to ``Administration/mostRows``.
  fileprivate var limit: Int {
    get throws(Problem) {
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
