#if Operator && DEBUG
import Foundation
import HandstampCore
import HandstampSupport

@testable import HandstampCommand
@testable import HandstampCommandLine

/// The tour's server: `handstamp-server serve` in its own process, on one folder, restarted as needed.
final class ServerProcess: Sendable {
  let folder: String
  private let logs: String
  private let port: Int
  private let clients: String?
  private let running = Locked<(child: Child, address: String)?>(nil)
  private let starts = Locked(0)

  /// - Parameters:
  ///   - port: The same at each start, so that the server is the issuer of its metadata; 0 for a free one each time.
  ///   - clients: The file of its OAuth clients.
  init(folder: String, logs: String, port: Int = 0, clients: String? = nil) {
    self.folder = folder
    self.logs = logs
    self.port = port
    self.clients = clients
  }

  /// Starts the server, and returns its URL once it accepts connections.
  @discardableResult
  func start(accessTokenLife: String) async throws -> String {
    let number = starts.withLock { starts in
      starts += 1
      return starts
    }
    let child = try Child(
      [
        "serve", "--data", folder, "--port", "\(port)", "--access-token-life", accessTokenLife, "--log-level", "debug",
        // Its load is more than one address may cause.
        "--issuer", "http://127.0.0.1" + (port == 0 ? "" : ":\(port)"), "--rate-limits", "none", "--until-stdin-ends",
      ] + (clients.map { ["--clients", $0] } ?? []), log: "\(logs)/server-\(number).log")
    let address = try await within(.seconds(240), "the server's start") { try await child.line() }
    guard !address.isEmpty else { throw TourFailure("the server did not start; see \(logs)/server-\(number).log") }
    running.withLock { $0 = (child, address) }
    return address
  }

  var address: String? { running.withLock { $0?.address } }
  var id: Int32? { running.withLock { $0?.child.id } }

  /// Asks the server to stop, and waits until it has.
  func stop() async throws { try await end(with: SIGTERM, expecting: 0) }

  /// Kills the server, as a power failure would.
  func kill() async throws { try await end(with: SIGKILL, expecting: 128 + SIGKILL) }

  private func end(with signal: Int32, expecting status: Int32) async throws {
    guard let child = running.withLock({ $0?.child }) else { return }
    running.withLock { $0 = nil }
    child.send(signal)
    let outcome = try await within(.seconds(240), "the server's end") { try await child.outcome() }
    try expect(outcome.status == status, "the server ended with \(outcome.status)")
  }

  /// Sends a signal that does not end the server.
  func send(_ signal: Int32) { running.withLock { $0?.child.send(signal) } }

  /// Kills the server without waiting.
  func abandon() { running.withLock { $0?.child.send(SIGKILL) } }

  /// Returns the logs of all its starts.
  func log() -> String {
    let count = starts.withLock { $0 }
    return (0..<count).map { number in
      String(
        decoding: FileManager.default.contents(atPath: "\(logs)/server-\(number + 1).log") ?? Data(), as: UTF8.self)
    }.joined()
  }
}
#endif
