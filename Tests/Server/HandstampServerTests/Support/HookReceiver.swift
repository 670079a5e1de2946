#if Programs
import Foundation
import HTTPTypes
import HandstampCore
import HandstampSupport
import Hummingbird
import Logging

@testable import HandstampRegistry
@testable import HandstampServer

/// A receiver of webhooks on loopback.
final class HookReceiver: Sendable {
  struct Message: Sendable {
    var headers: HTTPFields
    var body: [UInt8]
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: WireClient.JSON {
      WireClient.JSON((try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]) ?? [:])
    }
    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
  }

  private struct State {
    var answer: @Sendable (Message) -> Response = { _ in Response(status: .noContent) }
    var messages: [Message] = []
  }

  private let state = Locked(State())

  /// All that it got, also what it refused.
  var messages: [Message] { state.withLock { $0.messages } }
  /// Answers so from now on.
  func answer(_ body: @escaping @Sendable (Message) -> Response) { state.withLock { $0.answer = body } }

  static func run<Value>(_ body: (HookReceiver, _ port: Int) async throws -> Value) async throws -> Value {
    let receiver = HookReceiver()
    let router = Router()
    router.post("/hook") { request, _ in
      let body = try await request.wholeBody(upTo: 65_536)
      let message = Message(headers: request.headers, body: Array(body.readableBytesView))
      let answer = receiver.state.withLock { state in
        state.messages.append(message)
        return state.answer
      }
      return answer(message)
    }
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var logger = Logger(label: "receiver")
    logger.logLevel = .critical
    let application = Application(
      router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) }, logger: logger)
    let running = Task { try await application.run() }
    defer { running.cancel() }
    for await port in ports { return try await body(receiver, port) }
    throw CancellationError()
  }
}

extension PinnedNetwork {
  /// Every host is at these addresses; connections go to this machine, and to those of them that were chosen.
  static func local(_ addresses: String..., connected: Locked<[String]> = Locked([])) -> PinnedNetwork {
    PinnedNetwork(
      resolve: { _ in addresses.compactMap { IPAddress($0) } },
      connect: { host, address in
        connected.withLock { $0.append("\(host) \(address)") }
        return PatientTransport()
      },
      close: { await ($0 as? PatientTransport)?.shutdown() })
  }
}
#endif
