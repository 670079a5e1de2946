#if Programs
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampOAuth
import HandstampVaults

/// `SessionProbe ISSUER FOLDER SECONDS MILLISECONDS [LIMIT]`: a program that asks for a token, so many seconds after now, does
/// something for so many milliseconds, and returns from `main`, whatever its session still has in flight. With a limit, in
/// milliseconds, an answer to a refresh is waited for as long as that.
@main struct SessionProbe {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 5, let offset = Int64(arguments[3]), let work = Int64(arguments[4]) else {
      return print("usage")
    }
    var policy = SessionPolicy()
    if arguments.count > 5, let limit = Int64(arguments[5]) {
      policy.refresh = RefreshPolicy(answerLimit: .milliseconds(limit))
    }
    let backend = OAuthBackend(OAuthClient(issuer: arguments[1], id: "app"), transport: AsyncHTTPTransport.shared)
    let session = SessionController(
      vault: SealedFileVault(folder: arguments[2], account: AccountID("user-1")), backend: backend, policy: policy,
      clock: LaterClock(offset: .seconds(offset)))
    print(try await session.token().secret.withExposed { $0 })
    try await SystemClock().sleep(for: .milliseconds(work))
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
