#if Programs
import HandstampCore
import HandstampServer
import HandstampSupport
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension HTTPResponder where Context == WireContext {
  /// Serves on a free local port while `body` runs, which gets the address.
  func serving(_ body: (String) async throws -> Void) async throws {
    let address = OneShot<String>()
    let application = Application(
      responder: self, server: .sturdyHTTP1(),
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in address.set("http://127.0.0.1:\(channel.localAddress?.port ?? 0)") },
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await application.run() }
    defer { serving.cancel() }
    try await body(try await address.value())
  }
}

/// A small server that behaves in ways a transport must handle.
struct Echo: HTTPResponder {
  typealias Context = WireContext
  let seen: Seen

  /// Events that the server observed.
  final class Seen: Sendable {
    private let list = Locked<[String]>([])
    /// A request arrived whose response will not be completed.
    let began = OneShot<Void>()
    /// Its client disconnected.
    let left = OneShot<Void>()

    var paths: [String] { list.withLock { $0 } }
    func add(_ path: String) { list.withLock { $0.append(path) } }
  }

  static func run(_ body: (String, Seen) async throws -> Void) async throws {
    let seen = Seen()
    try await Echo(seen: seen).serving { try await body($0, seen) }
  }

  @concurrent func respond(to request: Request, context: WireContext) async throws -> Response {
    seen.add(request.uri.path)
    switch request.uri.path {
    case "/redirect": return Response(status: .temporaryRedirect, headers: [.location: "/echo"])
    case "/long":
      return Response(status: .ok, body: .init(byteBuffer: ByteBuffer(repeating: 97, count: 1000)))
    case "/chunked":
      return Response(
        status: .ok,
        body: .init { writer in
          for _ in 0..<10 { try await writer.write(ByteBuffer(repeating: 97, count: 100)) }
          try await writer.finish(nil)
        })
    case "/silent":
      return try await untilLeft(request)
    case "/endless":
      return Response(
        status: .ok,
        body: .init { writer in
          try await writer.write(ByteBuffer(string: "0123456789"))
          try await writer.write(ByteBuffer(string: "0123456789"))
          _ = try await untilLeft(request)
        })
    case "/break":
      try? await context.channel.close()
      throw CancellationError()
    default:
      let body = try await request.body.collect(upTo: 1 << 16)
      let word = request.headers[.word] ?? ""
      return Response(
        status: .ok, headers: [.echo: "\(request.method) \(request.uri) \(word)"], body: .init(byteBuffer: body))
    }
  }

  private func untilLeft(_ request: Request) async throws -> Response {
    defer { seen.left.set(()) }
    return try await request.body.consumeWithCancellationOnInboundClose { _ in
      seen.began.set(())
      // Waits until its task is cancelled.
      try await OneShot<Void>().value()
      return Response(status: .ok)
    }
  }
}

extension HTTPField.Name {
  // Both literals are valid field names.
  fileprivate static let word = HTTPField.Name("X-Word")!
  fileprivate static let echo = HTTPField.Name("X-Echo")!
}
#endif
