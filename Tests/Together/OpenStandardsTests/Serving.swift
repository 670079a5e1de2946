#if Programs
import Hummingbird
import Logging

/// Serves a router on a port of its own while a test runs. Returns when either ends.
func serving(
  _ router: Router<BasicRequestContext>, _ body: @escaping @Sendable (_ url: String) async throws -> Void
) async throws {
  let (ports, port) = AsyncStream.makeStream(of: Int.self)
  let application = Application(
    router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: {
      port.yield($0.localAddress?.port ?? 0)
      port.finish()
    }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await application.run() }
    group.addTask { for await port in ports { try await body("http://127.0.0.1:\(port)") } }
    try await group.next()
    group.cancelAll()
  }
}
#endif
