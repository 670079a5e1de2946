#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTransports

/// `SessionProbe ISSUER FOLDER SECONDS MILLISECONDS [LIMIT [stop|open|scoped]]`: a program that asks for a token SECONDS from
/// now, works for MILLISECONDS, and returns from `main`, whatever its session still has in flight. LIMIT is the time in
/// milliseconds to wait for the response to a refresh. With `stop`, the program stops, as by Ctrl-Z, once it has sent one. With
/// `open`, it gives the response up, not knowing whether it may arrive, so that it waits until LIMIT has passed. With `scoped`,
/// it asks for a token with its own scopes instead, and returns as soon as the request is sent.
@main struct SessionProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 5, let offset = Int64(arguments[3]), let work = Int64(arguments[4]) else {
      return print("usage")
    }
    var policy = SessionPolicy()
    if arguments.count > 5, let limit = Int64(arguments[5]) {
      policy.refresh = RefreshPolicy(responseTimeout: .milliseconds(limit))
    }
    let transport = ProbeTransport(stops: arguments.last == "stop", leavesOpen: arguments.last == "open")
    let backend = OAuthBackend(OAuthClient(issuer: arguments[1], id: "app"), transport: transport)
    let session = SessionController(
      backend: backend, vault: SealedFileVault(folder: arguments[2], account: AccountID("user-1")), policy: policy,
      clock: LaterClock(offset: .seconds(offset)))
    if arguments.last == "scoped" {
      Task { try await session.token(for: TokenTarget()) }
      for await _ in transport.sent { return }
    }
    print(try await session.token().secret.withExposed { $0 })
    try await SystemClock().sleep(for: .milliseconds(work))
  }
}

private struct ProbeTransport: Transport {
  let stops: Bool
  let leavesOpen: Bool
  let sent: AsyncStream<Void>
  private let isSent: AsyncStream<Void>.Continuation

  init(stops: Bool, leavesOpen: Bool) {
    self.stops = stops
    self.leavesOpen = leavesOpen
    (sent, isSent) = AsyncStream.makeStream(of: Void.self)
  }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    if stops, request.method == "POST" {
      Task.detached {
        // By then, the request is sent.
        try await SystemClock().sleep(for: .milliseconds(300))
        raise(SIGSTOP)
      }
    }
    if request.method == "POST" { isSent.yield() }
    let response = try await AsyncHTTPTransport.shared.send(request)
    if leavesOpen, request.method == "POST" { throw .timedOut }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await AsyncHTTPTransport.shared.open(request)
  }
}

private struct LaterClock: SessionClock {
  let offset: Duration
  private let base = SystemClock()

  init(offset: Duration) { self.offset = offset }

  func now() -> Moment { base.now().advanced(by: offset) }
  func uptime() -> Duration { base.uptime() + offset }
  @concurrent func sleep(for duration: Duration) async throws { try await base.sleep(for: duration) }
}
#else
@main struct SessionProbe { static func main() {} }
#endif
