#if Operator && DEBUG
import Foundation
import Handstamp
import HandstampSupport

@testable import HandstampCommand
@testable import HandstampCommandLine

/// The setting of the tour: a folder, a server, a network, and some devices.
final class TourFixture: Sendable {
  let folder: String
  let server: ServerProcess
  let proxy: Proxy
  let address: ServerAddress
  let email = "ada@example.org"
  /// A new one for each tour.
  let password = "tour-\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))"
  /// The first device; most steps use it.
  let first: Home
  let second: Home
  let words = Locked<[String]>([])

  init(folder: String, server: ServerProcess, proxy: Proxy, address: ServerAddress) {
    self.folder = folder
    self.server = server
    self.proxy = proxy
    self.address = address
    first = Home(path: folder + "/first")
    second = Home(path: folder + "/second")
  }

  /// Prints one observation.
  func saw(_ text: String) { Terminal.out("     \(text)") }

  /// Returns a client in this process, on the vault of `home`, as in the command line.
  func client(_ home: Home, clock: any SessionClock = SystemClock()) async throws -> AccountClient {
    try await AccountClient(home: home, account: try await account(of: home), clock: clock, isShortLived: false)
  }

  /// Returns the active account of a device, or a placeholder on a new one.
  func account(of home: Home) async throws -> ListedAccount {
    if let active = try await KnownAccounts(of: home).active { return active }
    return ListedAccount(
      id: ListedAccount.id(of: AccountID(email), at: address.text), name: email, server: address.text,
      addedAt: UnixTime(milliseconds: 0))
  }

  /// Runs `handstamp` on a device until it ends, and checks its exit code.
  @discardableResult
  func run(_ arguments: [String], on home: Home, input: String = "", expecting status: ExitReason = .ok) async throws
    -> Child.Outcome
  {
    let child = try Child(arguments, variables: ["HANDSTAMP_HOME": home.path], input: input)
    let name = "handstamp \(arguments.joined(separator: " "))"
    let outcome = try await within(.seconds(240), name) { try await child.outcome() }
    words.withLock { $0.append(outcome.words) }
    try expect(
      outcome.status == status.rawValue,
      "\(name) exited with \(outcome.status), not \(status.rawValue): \(outcome.words)")
    return outcome
  }

  /// Signs in on a device.
  func login(_ home: Home, as email: String? = nil, deviceName: String) async throws {
    try await run(
      ["login", email ?? self.email, "--server", address.text, "--device-name", deviceName], on: home,
      input: password + "\n")
  }

  /// Returns the vault entry of a device.
  func entry(of home: Home) async throws -> VaultEntry {
    switch try await home.vault(of: account(of: home).id).read() {
    case .value(let entry): return entry
    case .absent: return VaultEntry()
    case .accessOnly, .trouble: throw TourFailure("cannot read the vault of \(home.path)")
    }
  }

  func session(of home: Home) async throws -> StoredSession {
    guard let session = try await entry(of: home).session else { throw TourFailure("not signed in") }
    return session
  }

  /// Waits until the access token in the vault of `home` expires.
  func expiry(of home: Home) async throws {
    guard let lifetime = try await session(of: home).access?.lifetime else { return }
    let clock = SystemClock()
    try await clock.sleep(for: max(.zero, lifetime.remaining(at: clock.now())))
  }

  /// Restarts the server with another lifetime for access tokens.
  func restart(accessTokenLife: String) async throws {
    try await server.stop()
    proxy.lead(to: try await server.start(accessTokenLife: accessTokenLife))
  }

  /// Sends a request with just this token, without a session.
  func status(of path: String, with token: AccessToken) async throws -> (status: Int, reason: String?) {
    let answer = try await proxy.transport.send(
      TransportRequest(method: "GET", url: address.text + path, headers: [.bearer(token.secret)], timeout: .seconds(10))
    )
    let problem = try? JSONDecoder().decode(Problem.self, from: Data(answer.body))
    return (answer.status, problem?.reason)
  }
}
#endif
