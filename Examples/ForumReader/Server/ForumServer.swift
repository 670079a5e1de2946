#if Programs
import Foundation
import HTTPTypes
import HandstampServer
import Hummingbird
import Logging
import NIOCore

/// `HandstampForumServer [port] [file for sessions]`: an old-style forum for trying out the forum reader, on loopback only. Below `/api`
/// it answers an app in JSON.
/// It is not an example of how to write a forum.
@main
struct ForumServer {
  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    let port = arguments.first.flatMap { Int($0) } ?? 8090
    let world = ForumWorld(file: arguments.dropFirst().first)
    let router = Router()
    ForumRoutes(world: world).add(to: router)
    ForumAPI(world: world).add(to: router)
    var logger = Logger(label: "forum")
    logger.logLevel = .warning
    let application = Application(
      router: router, server: .sturdyHTTP1(),
      configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in
        let line = "forum on http://127.0.0.1:\(channel.localAddress?.port ?? port)/\n"
        FileHandle.standardOutput.write(Data(line.utf8))
      }, logger: logger)
    try await application.runService()
  }
}

struct ForumRoutes: Sendable {
  let world: ForumWorld

  func add(to router: Router<BasicRequestContext>) {
    router.get("/index.php") { request, _ in
      outage ?? world.person(session(request)).flatMap { banned($0) }
        ?? html(world.index(world.person(session(request))), leaving(request))
    }
    router.get("/forumdisplay.php") { request, _ in
      member(request) { world.forum(number(request, "forumid"), page: number(request, "pagenumber"), $0) }
    }
    router.get("/showthread.php") { request, _ in
      member(request) { world.thread(number(request, "threadid"), page: number(request, "pagenumber"), $0) }
    }
    router.get("/bookmarkthreads.php") { request, _ in
      member(request) { world.bookmarks(page: number(request, "pagenumber"), $0) }
    }
    router.post("/bookmarkthreads.php") { request, _ in
      let fields = try await form(request)
      return member(request) { person in
        guard let thread = Int(fields["threadid"] ?? ""), world.hasThread(thread), let action = fields["action"],
          ["add", "remove"].contains(action)
        else { return nil }
        world.bookmark(person, thread, action == "add")
        return world.bookmarks(page: 1, person)
      }
    }
    router.get("/member.php") { request, _ in member(request) { world.profile(number(request, "userid"), $0) } }
    router.get("/banlist.php") { request, _ in
      member(request, andBanned: true) { world.bans(of: number(request, "userid"), $0) }
    }
    router.get("/private.php") { request, _ in
      member(request) { person in
        let id = number(request, "privatemessageid")
        return id == 0 ? world.messages(person) : world.message(id, person)
      }
    }
    router.post("/showthread.php") { request, _ in
      let fields = try await form(request)
      return member(request) { person in
        world.markSeen(person, Int(fields["threadid"] ?? "") ?? 0, to: Int(fields["index"] ?? "") ?? 0)
        return world.thread(Int(fields["threadid"] ?? "") ?? 0, page: 1, person)
      }
    }
    router.post("/account.php") { request, _ in
      if let outage { return outage }
      let fields = try await form(request)
      guard let found = world.signIn(fields["username"] ?? "", fields["password"] ?? "") else {
        return html(Markup.error("Sign in failed", "The name or the password is wrong."))
      }
      if found.isBanned {
        // As real forums do, set the cookie as well.
        return html(ForumWorld.banned(), cookie(found.session))
      }
      return Response(status: .found, headers: cookie(found.session).adding(.location, "/index.php"))
    }
    router.get("/account.php") { request, _ in
      if let id = session(request) { world.signOut(id) }
      return html(Markup.page(user: nil, "<p>Goodbye"), forgetting)
    }
    router.post("/control") { request, _ in
      let isDone = request.uri.queryParameters.allSatisfy { world.obey(String($0.key), String($0.value)) }
      return Response(status: isDone ? .noContent : .badRequest)
    }
  }

  // MARK: Answers

  /// Returns the page for a member. A guest is asked to sign in, and an invalid cookie is deleted.
  private func member(
    _ request: Request, andBanned: Bool = false, _ page: (ForumWorld.Person) -> [UInt8]?
  ) -> Response {
    if let outage { return outage }
    guard let person = world.person(session(request)) else {
      let text =
        "Sorry, you must be a registered forums member to view this page. <a href=\"/account.php?action=loginform\">login here</a>"
      return html(Markup.error("Members only", text), leaving(request))
    }
    if !andBanned, let banned = banned(person) { return banned }
    return html(page(person) ?? Markup.error("Not found", "There is nothing with that number.", user: person))
  }

  /// Returns the page that a banned member sees instead, or `nil` for others.
  private func banned(_ person: ForumWorld.Person) -> Response? {
    world.isBanned(person) ? html(ForumWorld.bannedInPassing(person)) : nil
  }

  private var outage: Response? {
    switch world.condition {
    case .up: nil
    case .down: html(Markup.page(user: nil, classes: "database_error", "<h1>Out of order"), status: .serviceUnavailable)
    case .closed: html(Markup.error("Closed", "Back after tea.", classes: "closed"))
    }
  }

  private func html(
    _ bytes: [UInt8], _ headers: HTTPFields = [:], status: HTTPResponse.Status = .ok
  ) -> Response {
    Response(
      status: status, headers: headers.adding(.contentType, "text/html; charset=windows-1252"),
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
  }

  private func cookie(_ session: String) -> HTTPFields {
    let life = world.cookieLife
    return HTTPFields().adding(.setCookie, "bbuserid=\(session); Max-Age=\(life); path=/; HttpOnly")
      .adding(.setCookie, "bbstyle=2; expires=Wed, 09-Jun-2041 10:18:14 GMT; path=/")
  }

  private var forgetting: HTTPFields {
    HTTPFields().adding(.setCookie, "bbuserid=deleted; expires=Thu, 01-Jan-1970 00:00:01 GMT; path=/")
  }

  /// Returns headers that delete the cookie of a session that has ended.
  private func leaving(_ request: Request) -> HTTPFields {
    session(request) != nil && world.person(session(request)) == nil ? forgetting : [:]
  }

  // MARK: Requests

  private func session(_ request: Request) -> String? {
    let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }
    for pair in pairs {
      let pair = pair.drop { $0 == " " }
      if pair.hasPrefix("bbuserid=") { return String(pair.dropFirst(9)) }
    }
    return nil
  }

  private func number(_ request: Request, _ name: Substring) -> Int {
    request.uri.queryParameters[name].flatMap { Int($0) } ?? 0
  }

  /// Parses a form in windows-1252.
  private func form(_ request: Request) async throws -> [String: String] {
    let body = try await request.body.collect(upTo: 64 << 10)
    let text = String(buffer: body)
    var fields: [String: String] = [:]
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2 else { continue }
      fields[decoded(pair[0])] = decoded(pair[1])
    }
    return fields
  }

  private func decoded(_ text: Substring) -> String {
    var scalars = String.UnicodeScalarView()
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == 0x25, rest.count >= 2, let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) {
        scalars.append(Unicode.Scalar(code))
        rest = rest.dropFirst(2)
      } else {
        scalars.append(byte == 0x2B ? " " : Unicode.Scalar(byte))
      }
    }
    return String(scalars)
  }
}

extension HTTPFields {
  fileprivate func adding(_ name: HTTPField.Name, _ value: String) -> HTTPFields {
    var fields = self
    fields.append(HTTPField(name: name, value: value))
    return fields
  }
}
#else
import Foundation

@main struct ForumServer {
  static func main() {
    FileHandle.standardError.write(Data("HandstampForumServer: not in this build\nhint: run: scripts/dev forum\n".utf8))
    exit(1)
  }
}
#endif
