import Foundation
import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct `A guide's vault` {
  @Test func `keeps the promises of a vault`() async throws {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: root) }
    try await checkVault(
      {
        let folder = root.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return FolderVault(folder: folder)
      }, again: { FolderVault(folder: $0.folder) }, signalsChanges: false)
  }

  @Test func `leaves nothing of a session that ends, whatever else fails`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func exists(_ name: String) -> Bool {
      (FileManager.default.subpaths(atPath: folder.path) ?? []).contains { $0 == name || $0.hasPrefix(name + "-") }
    }
    let vault = FolderVault(folder: folder)
    try Data(repeating: 0xFF, count: 99).write(to: folder.appendingPathComponent("entry"))
    #expect(await vault.load() == .trouble(.corrupt))
    await #expect(throws: VaultError.corrupt) { try await vault.replace(0, with: VaultEntry(revision: 1), as: .end) }
    #expect(try await vault.replace(0, with: VaultEntry(revision: 1), as: .begin) == .done)
    #expect(exists("entry.corrupt"))
    #expect(try await vault.replace(1, with: VaultEntry(revision: 2), as: .signOut) == .done)
    #expect(!exists("entry.corrupt"))
    // No entry can be written now.
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("new"), withIntermediateDirectories: true)
    for (write, isKept) in [(VaultWrite.ordinary, true), (.end, false)] {
      await #expect(throws: VaultError.self) { try await vault.replace(2, with: VaultEntry(revision: 3), as: write) }
      #expect(exists("entry") == isKept)
    }
  }

  @Test func `keeps a session that is newer than a late sign-out, though nothing can be written`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let vault = FolderVault(folder: folder)
    let entry = VaultEntry(revision: 1, session: VaultSamples.session())
    #expect(try await vault.replace(0, with: entry, as: .begin) == .done)
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("new"), withIntermediateDirectories: true)
    await #expect(throws: VaultError.self) { try await vault.replace(1, with: entry, as: .signOut) }
    #expect(await vault.load() == .value(entry))
  }

  @Test func `does not take a folder that is away for an empty one`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("guide-\(UUID().uuidString)")
    let reading = await FolderVault(folder: folder).load()
    let isTrouble = if case .trouble(.unavailable) = reading { true } else { false }
    #expect(isTrouble, "\(reading)")
  }
}

/// Runs the backends of the guides YourOwnServer and FromSupabase, whose text is that of the files in Guides.
@Suite(.timeLimit(.minutes(10))) struct `A guide's backend` {
  @Test func `for your own server keeps the promises of a backend`() async throws {
    let api = JSONAPI()
    try await checkBackend(over: api) {
      MyServer(url: JSONAPI.url, transport: $0)
    } signIn: {
      try await $0.signIn(email: "ada@example.org", password: Secret("correct horse"))
    }
  }

  @Test(arguments: Garbage.responses.map(\.name))
  func `for your own server takes garbage for no decision`(_ name: String) async throws {
    let answer = try #require(Garbage.responses.first { $0.name == name }).response
    let network = LossyTransport(JSONAPI())
    let server = MyServer(url: JSONAPI.url, transport: network)
    let tokens = try await server.signIn(email: "ada@example.org", password: Secret("correct horse"))
    network.expect(.answered(answer))
    let result = await server.refresh(try #require(tokens.tokens.refresh), key: .drawn())
    guard case .noDecision = result else { throw ConformanceError("garbage decides nothing", found: "\(result)") }
  }

  @Test(
    arguments: [
      (400, #"{"code":"invalid_refresh_token"}"#, nil), (401, #"{"code":"session_expired"}"#, nil),
      (409, #"{"code":"maintenance"}"#, .signIn), (401, "", .retry(after: nil)),
      (429, #"{"code":"session_expired"}"#, .retry(after: nil)), (503, #"{"code":"maintenance"}"#, .retry(after: nil)),
      (400, #"{"code":"temporarily_unavailable"}"#, .retry(after: nil)),
    ] as [(Int, String, Recovery?)])
  func `for your own server ends a session at its own words only, and says what helps otherwise`(
    _ status: Int, _ body: String, _ recovery: Recovery?
  ) async throws {
    let network = LossyTransport(JSONAPI())
    network.expect(
      .answered(.init(status: status, headers: [HeaderField("Retry-After", "7")], body: Array(body.utf8))))
    let result = await MyServer(url: JSONAPI.url, transport: network).refresh(RefreshToken("r1"), key: .drawn())
    switch (result, recovery) {
    case (.rejected(.rejected), nil): break
    case (.noDecision(let failure, let retryAfter), let recovery?):
      #expect(failure.recovery == recovery)
      #expect(retryAfter == .seconds(7))
    default: Issue.record("\(result)")
    }
  }

  @MainActor @Test func `for your own server signs in, refreshes and signs out`() async throws {
    struct Me: Decodable { let name: String }
    let api = JSONAPI()
    let server = MyServer(url: JSONAPI.url, transport: api)
    let session = SessionManager(
      backend: server, vault: MemoryVault(), baseURL: JSONAPI.url, transport: api, policy: eager
    ) { _ in }
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) {
      try await session.signIn { try await server.signIn(email: "ada@example.org", password: Secret("wrong horse")) }
    }
    try await session.signIn { try await server.signIn(email: "ada@example.org", password: Secret("correct horse")) }
    #expect(session.currentUser?.name == "ada@example.org")
    api.expireAccessTokens()
    let me: Me = try await session.api.get("/me")
    #expect(me.name == "ada@example.org")
    #expect(api.paths == ["/sign-in", "/sign-in", "/me", "/refresh", "/me"])
    await session.signOut()
    #expect(await session.controller.waitForRevocations(timeout: .seconds(600)))
    #expect(api.paths.last == "/sign-out")
    #expect(api.sessions == 0)
  }

  @MainActor @Test func `for Supabase signs in, refreshes and signs out`() async throws {
    struct Todo: Decodable { let title: String }
    let supabase = Recorded([
      Recorded.Answer("token?grant_type=password", 400, "invalid_credentials"),
      Recorded.Answer("token?grant_type=password", 200, "password"),
      Recorded.Answer("todos", 200, "todos"),
      Recorded.Answer("token?grant_type=refresh_token", 200, "refresh"),
      Recorded.Answer("token?grant_type=refresh_token", 200, "refresh-2"),
      Recorded.Answer("logout?scope=local", 204, nil),
    ])
    let backend = SupabaseBackend(project: Recorded.project, apiKey: "sb_publishable_1", transport: supabase)
    let session = SessionManager(
      backend: backend, vault: MemoryVault(), baseURL: Recorded.project.appending(path: "rest/v1"), transport: supabase,
      policy: eager, apiOptions: APIClient.Options(headers: [HeaderField("apikey", backend.apiKey)])
    ) { _ in }
    await #expect(throws: SessionError.refused(code: "invalid_credentials", detail: "Invalid login credentials")) {
      try await session.signIn { try await backend.signIn(email: "ada@example.org", password: Secret("wrong horse")) }
    }
    try await session.signIn { try await backend.signIn(email: "ada@example.org", password: Secret("correct horse")) }
    #expect(session.currentUser == Profile(id: "11111111-1111-4111-8111-111111111111", name: "ada@example.org"))
    let todos: [Todo] = try await session.api.get("/todos")
    #expect(todos.map(\.title) == ["Buy milk"])
    #expect(try await session.controller.token(replacing: AccessToken("eyJ.access.1")).text == "eyJ.access.2")
    await session.signOut()
    #expect(await session.controller.waitForRevocations(timeout: .seconds(600)))
    let requests = supabase.requests
    #expect(
      requests.map(\.body).map { String(decoding: $0, as: UTF8.self) }.suffix(3) == [
        #"{"refresh_token":"refresh1"}"#, #"{"refresh_token":"refresh2"}"#, "{}",
      ])
    #expect(requests.last?.headers.first(named: "Authorization") == "Bearer eyJ.access.3")
    #expect(requests.allSatisfy { $0.headers.first(named: "apikey") == "sb_publishable_1" })
  }

  @Test(arguments: [
    (400, "refresh_token_not_found", true), (400, "refresh_token_already_used", true), (403, "session_not_found", true),
    (429, "over_request_rate_limit", false), (401, "gateway", false), (500, "unexpected_failure", false),
  ])
  func `for Supabase ends a session at a definitive refusal only`(_ status: Int, _ file: String, _ ends: Bool) async {
    let supabase = Recorded([Recorded.Answer("token?grant_type=refresh_token", status, file)])
    let backend = SupabaseBackend(project: Recorded.project, apiKey: "sb_publishable_1", transport: supabase)
    let result = await backend.refresh(RefreshToken("refresh1"), key: .drawn())
    if ends {
      #expect(result == .rejected(.rejected))
    } else if case .noDecision(_, let retryAfter) = result {
      #expect(retryAfter == (status == 429 ? .seconds(7) : nil))
    } else {
      Issue.record("\(result)")
    }
  }
}

/// A JSON API that rotates refresh tokens: the newest alone is accepted, and an earlier one changes nothing.
private final class JSONAPI: Transport {
  static let url = URL(string: "https://api.example.org")!

  private struct Content: Sendable {
    var count = 0
    /// The newest tokens of each session.
    var sessions: [String: (access: String, refresh: String)] = [:]
    var paths: [String] = []
  }
  private let content = Locked(Content())

  var paths: [String] { content.withLock { $0.paths } }
  var sessions: Int { content.withLock { $0.sessions.count } }
  func expireAccessTokens() {
    content.withLock { content in
      for id in content.sessions.keys { content.sessions[id]?.access = "" }
    }
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    let path = URLComponents(string: request.url)?.path ?? ""
    let fields = (try? JSONDecoder().decode([String: String].self, from: Data(request.body))) ?? [:]
    return content.withLock { content in
      content.paths.append(path)
      let known = content.sessions.first { $0.value.refresh == fields["refresh"] }?.key
      switch (path, known) {
      case ("/sign-in", _):
        guard fields["password"] == "correct horse" else { return json(400, #"{"code":"bad_login"}"#) }
        return tokens(&content, session: "s\(content.count)")
      case ("/refresh", let id?): return tokens(&content, session: id)
      case ("/sign-out", let id?):
        content.sessions[id] = nil
        return TransportResponse(status: 204)
      case ("/refresh", nil), ("/sign-out", nil): return json(400, #"{"code":"invalid_refresh_token"}"#)
      default:
        let bearer = request.headers.first(named: "Authorization")
        guard content.sessions.values.contains(where: { bearer == "Bearer \($0.access)" }) else {
          return json(401, #"{"code":"token_expired"}"#)
        }
        return json(200, #"{"name":"ada@example.org"}"#)
      }
    }
  }

  private func tokens(_ content: inout Content, session: String) -> TransportResponse {
    content.count += 1
    let tokens = (access: "a\(content.count)", refresh: "r\(content.count)")
    content.sessions[session] = tokens
    return json(
      200,
      #"{"access":"\#(tokens.access)","refresh":"\#(tokens.refresh)","expires_in":600,"user":"ada@example.org"}"#)
  }

  private func json(_ status: Int, _ text: String) -> TransportResponse {
    TransportResponse(status: status, body: Array(text.utf8))
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("not here")
  }
}

/// Gives the answers of Supabase, as its public documentation shows them, in order.
private final class Recorded: Transport {
  static let project = URL(string: "https://abcdefghijklmnopqrst.supabase.co")!

  struct Answer: Sendable {
    /// The end of the URL.
    var path: String
    var status: Int
    /// The name of its body in ``bodies``; `nil` for an empty one.
    var body: String?

    init(_ path: String, _ status: Int, _ body: String?) {
      self.path = path
      self.status = status
      self.body = body
    }
  }

  /// After https://github.com/supabase/auth/blob/master/openapi.yaml and
  /// https://supabase.com/docs/guides/auth/debugging/error-codes; the values are made up.
  static let bodies = [
    "password": session(1), "refresh": session(2), "refresh-2": session(3),
    "todos": #"[{"id":1,"title":"Buy milk"}]"#,
    "invalid_credentials": #"{"code":"invalid_credentials","message":"Invalid login credentials"}"#,
    "refresh_token_not_found":
      #"{"code":"refresh_token_not_found","message":"Invalid Refresh Token: Refresh Token Not Found"}"#,
    "refresh_token_already_used":
      #"{"code":"refresh_token_already_used","message":"Invalid Refresh Token: Already Used"}"#,
    "session_not_found":
      #"{"code":"session_not_found","message":"Session from session_id claim in JWT does not exist"}"#,
    "over_request_rate_limit": #"{"code":"over_request_rate_limit","message":"Request rate limit reached"}"#,
    "unexpected_failure": #"{"code":"unexpected_failure","message":"Unexpected failure, please check server logs"}"#,
    "gateway": #"{"message":"Invalid API key","hint":"Double check your Supabase `anon` or `service_role` API key."}"#,
  ]

  static func session(_ number: Int) -> String {
    """
    {"access_token":"eyJ.access.\(number)","token_type":"bearer","expires_in":3600,"expires_at":1763820000,
    "refresh_token":"refresh\(number)","user":{"id":"11111111-1111-4111-8111-111111111111","aud":"authenticated",
    "role":"authenticated","email":"ada@example.org","phone":"","app_metadata":{"provider":"email","providers":["email"]},
    "user_metadata":{},"identities":[],"created_at":"2025-01-01T00:00:00Z","is_anonymous":false}}
    """
  }

  private let answers: Locked<[Answer]>
  private let sent = Locked<[TransportRequest]>([])
  var requests: [TransportRequest] { sent.withLock { $0 } }

  init(_ answers: [Answer]) { self.answers = Locked(answers) }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    sent.withLock { $0.append(request) }
    let next = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    guard let next, request.url.hasSuffix("/" + next.path) else { throw .connectionLost("no answer to \(request)") }
    let headers = next.status == 429 ? [HeaderField("Retry-After", "7")] : []
    return TransportResponse(
      status: next.status, headers: headers, body: Array((next.body.flatMap { Recorded.bodies[$0] } ?? "").utf8))
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    throw .connectionLost("not here")
  }
}
