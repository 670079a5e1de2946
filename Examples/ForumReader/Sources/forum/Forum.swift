import ForumReader
import Foundation
import Handstamp
import HandstampCookies
import HandstampData

/// `forum`: reads a forum in a plain terminal, online and offline.
@main
struct Forum {
  static let name = "org.handstamp.forum"

  static func main() async {
    var arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count == 1, let server = arguments.popLast().flatMap({ URL(string: $0) }),
      ["http", "https"].contains(server.scheme)
    else {
      Terminal.complain("usage: forum <address>")
      Terminal.complain("hint: forum http://127.0.0.1:8090/")
      exit(2)
    }
    do {
      try await reader(of: server).run()
    } catch {
      Terminal.complain("forum: \(Words.describe(error))")
      exit(1)
    }
  }

  private static func reader(of server: URL) throws -> Reader {
    let transport = URLSessionTransport()
    let clock = SystemClock()
    let backend = CookieBackend(.forum(server), transport: transport, clock: clock)
    let open = OpenStore { try StorePlace(name, account: $0) }
    let controller = SessionController(
      backend: backend, vault: .sealedFile(name), policy: .onRejection, clock: clock,
      cleanups: [CleanupStep("database", .database) { ended in try open.remove(of: ended.account) }])
    let client = ForumClient(controller: controller, backend: backend, transport: transport)
    return Reader(client, open, console: Terminal())
  }
}
