#if Server
import HandstampCore
import HandstampRegistry
import HandstampSupport
import Logging
import ServiceLifecycle

/// Tells OpenID Connect clients that sessions have ended (OpenID Connect Back-Channel Logout 1.0), see ``JobWorker``. What could not be
/// delivered is tried again for a day.
struct LogoutNotifier: NamedService {
  /// How often the store is looked at for sessions that other servers, or an operator's command, have ended.
  private static let interval = Duration.seconds(1)
  private static let pause = JobPause(first: .seconds(1), longest: .seconds(3600))
  /// How long after the end of its session a client is still told.
  private static let patience = Duration.seconds(24 * 3600)
  /// How long an end waits before the server looks again for a client that is not configured.
  private static let absence = Duration.seconds(3600)
  /// How often a client is told that answers that the request is not valid, in case that a proxy or a deployment is to blame.
  private static let mostRefusals = 5
  /// How long a client may take to answer.
  private static let timeout = Duration.seconds(5)
  private static let width = 64

  let server: SessionServer

  func run() async throws {
    await JobWorker<LogoutJob>(
      server: server, bell: server.lasting.logoutQueue.bell, interval: LogoutNotifier.interval,
      width: LogoutNotifier.width, lease: LogoutNotifier.timeout * 4
    ) { job in try await LogoutNotifier(server: server.current).deliver(job) }.run()
  }

  private func deliver(_ claimed: ClaimedJob<LogoutJob>) async throws(RegistryError) {
    guard let client = server.clients[claimed.job.client] else {
      // Its entry may come back; until then there is no attempt that could fail.
      let next = server.clock.now.advanced(by: LogoutNotifier.absence)
      guard isOver(claimed, at: next) else { return try await server.registry.postpone(claimed, until: next) }
      return try await retry(claimed, after: Failure(words: "the client is not configured"), at: next)
    }
    guard let uri = client.backChannelLogoutURI, let transport = server.lasting.transport else {
      return try await server.registry.finish(claimed)
    }
    // One client that is slow or down must not keep the others waiting.
    let place: LogoutQueue.Place
    switch server.lasting.logoutQueue.admit(client.id) {
    case .now(let free): place = free
    case .after(let pause):
      return try await server.registry.postpone(claimed, until: server.clock.now.advanced(by: pause))
    }
    let failure = await failure(of: claimed.job, for: client, at: uri, with: transport)
    place.leave(hasFailed: failure != nil)
    guard let failure else {
      server.metrics.update { $0.logoutsSent += 1 }
      return try await server.registry.finish(claimed)
    }
    try await retry(claimed, after: failure)
  }

  private struct Failure {
    var words: String
    /// Whether the client has refused the request itself.
    var isRefusal = false
  }

  /// Returns why a client could not be told; `nil` if it was.
  private func failure(
    of job: LogoutJob, for client: ConfiguredClient, at uri: String, with transport: any Transport
  ) async -> Failure? {
    // Another one for each attempt: a client that has seen one before refuses it.
    let id = Base64URL.encode(randomBytes(16))
    guard
      let token = try? server.responses.idTokens.logout(
        of: job.session, job.account, for: client, id: id, at: server.clock.read())
    else { return Failure(words: "the logout token cannot be signed") }
    let request = TransportRequest(
      method: "POST", url: uri, headers: [HeaderField("Content-Type", "application/x-www-form-urlencoded")],
      body: Array("logout_token=\(token)".utf8), timeout: LogoutNotifier.timeout, maximumResponseSize: 65_536)
    do throws(TransportError) {
      let status = try await transport.send(request).status
      switch status {
      case 200..<300: return nil
      case 400..<500:
        return Failure(words: "it answered \(status)", isRefusal: StatusMeaning(status) != .passing)
      default: return Failure(words: "it answered \(status)")
      }
    } catch { return Failure(words: "\(error)") }
  }

  /// Whether the client is not told any more at that time.
  private func isOver(_ claimed: ClaimedJob<LogoutJob>, at time: UnixTime) -> Bool {
    time.since(claimed.createdAt) >= LogoutNotifier.patience
  }

  /// - Parameter later: when the next attempt is made, if the job is not over by then; by default after a pause that grows.
  private func retry(
    _ claimed: ClaimedJob<LogoutJob>, after failure: Failure, at later: UnixTime? = nil
  ) async throws(RegistryError) {
    let failures = claimed.job.tries.failures + 1
    let next = later ?? server.clock.now.advanced(by: LogoutNotifier.pause.after(attempts: failures))
    let isOver = isOver(claimed, at: next) || failure.isRefusal && failures >= LogoutNotifier.mostRefusals
    server.metrics.update {
      $0.logoutsFailed += 1
      if isOver { $0.logoutsAbandoned += 1 }
    }
    let metadata: Logger.Metadata = [
      "handstamp.client": "\(claimed.job.client)", "handstamp.session": "\(claimed.job.session)",
      "handstamp.attempts": "\(failures)", "handstamp.cause": "\(failure.words)",
    ]
    if isOver {
      server.configuration.logger.error("Back-channel logout failed permanently", metadata: metadata)
    } else {
      server.configuration.logger.warning("Back-channel logout failed; will retry", metadata: metadata)
    }
    try await server.registry.fail(claimed, because: failure.words, until: isOver ? nil : next)
  }
}

/// The clients that this server is telling of ended sessions at the moment.
final class LogoutQueue: Sendable {
  /// How many requests to one client are in flight.
  private static let most = 16
  /// How many failures in a row show that a client is down; then it is asked by one request at a time.
  private static let patience = 3

  private struct Line {
    var running = 0
    var failures = 0
  }

  let bell = JobBell()
  private let lines = Locked<[String: Line]>([:])

  /// The right to send one request.
  struct Place: Sendable {
    fileprivate let client: String
    fileprivate let queue: LogoutQueue

    func leave(hasFailed: Bool) {
      queue.lines.withLock { lines in
        lines[client]?.running -= 1
        if hasFailed { lines[client]?.failures += 1 } else { lines[client]?.failures = 0 }
      }
    }
  }

  enum Admission: Sendable {
    case now(Place)
    /// Enough requests to the client are in flight.
    case after(Duration)
  }

  func admit(_ client: String) -> Admission {
    lines.withLock { lines in
      let line = lines[client, default: Line()]
      let isDown = line.failures >= LogoutQueue.patience
      guard line.running < (isDown ? 1 : LogoutQueue.most) else {
        return .after(isDown ? .seconds(5) : .milliseconds(100))
      }
      lines[client, default: Line()].running += 1
      return .now(Place(client: client, queue: self))
    }
  }
}
#endif
