#if Command
import Handstamp
import HandstampCore
import HandstampOAuth
import HandstampSupport
import HandstampVaults

/// Checks an OAuth server of any kind by requesting its metadata, which all of them have.
struct OAuthExamination: Sendable {
  let server: ServerAddress
  let record: OAuthRecord
  let transport: any Transport

  func findings() async -> [Finding] {
    let clock = SystemClock()
    let measured = LastAnswer(base: transport, clock: clock)
    do throws(SessionError) {
      _ = try await WaitLine.shared.during(server.text) { () async throws(SessionError) in
        try await OAuthBackend(record.settings(secret: nil), transport: measured).metadata()
      }
    } catch {
      let refusal = CommandError(error, server: server).asked(of: record)
      return [.problem("server", refusal.message, hint: refusal.hint)]
    }
    guard let answer = measured.answer else { return [] }
    return [
      .ok("server", "\(server.text) answers in \(answer.time.words), as an OAuth server"),
      Examination.clockFinding(answer.date, server, begin: answer.begin, time: answer.time),
    ]
  }
}

/// Records duration and date of the last response.
private final class LastAnswer: Transport {
  struct Answer: Sendable {
    var begin: UnixTime
    var time: Duration
    var date: String?
  }
  private let base: any Transport
  private let clock: SystemClock
  private let last = Locked<Answer?>(nil)

  init(base: any Transport, clock: SystemClock) {
    self.base = base
    self.clock = clock
  }

  var answer: Answer? { last.withLock { $0 } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var request = request
    request.timeout = .seconds(5)
    let begin = clock.now()
    let response = try await base.send(request)
    let answer = Answer(begin: begin.wall, time: clock.now().uptime - begin.uptime, date: response.header("Date"))
    last.withLock { $0 = answer }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}
#endif
