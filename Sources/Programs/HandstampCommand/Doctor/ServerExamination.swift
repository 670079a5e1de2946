#if Command
import Handstamp
import HandstampCommandLine
import HandstampOAuth
import HandstampSupport
import HandstampTransports

/// Checks a server, the way to it and its certificate, and by its response this device's clock.
struct ServerExamination: Sendable {
  let server: ServerAddress
  /// The registration of its first account; `nil` unless all of its accounts use OAuth. With it only the metadata is requested, which
  /// an OAuth server of any kind has.
  var record: OAuthRecord?
  let transport: any Transport
  /// The way of ``transport``.
  var network = NetworkReport.direct
  /// The names of the accounts that it is the way of.
  var accounts: [String] = []

  func findings() async -> [Finding] {
    let measured = MeasuredTransport(base: transport)
    let status: Int?
    do throws(CommandError) {
      status = try await WaitLine.shared.during(server.text) { () async throws(CommandError) in
        try await self.status(over: measured)
      }
    } catch {
      let check = measured.failure?.check ?? "server"
      return way(.note) + [.problem(check, error.message, hint: error.hint)]
        + [.note("clock", "not compared, because \(server.text) gave no usable response")]
    }
    guard let measurement = measured.measurement else { return [] }
    let name = Origin(server.text).flatMap { $0.scheme == "https" ? $0.host : nil }
    let reached = way(.ok) + (name.map { [.ok("certificate", "trusted here, and for \($0)")] } ?? [])
    let words = "\(server.text) answers in \(measurement.time.words)"
    switch status {
    case nil: return reached + [.ok("server", words + ", as an OAuth server"), clock(measurement)]
    case 200?:
      let release = measurement.response.header("Server").map { ", \(plain($0))" } ?? ""
      return await reached + [.ok("server", words + release), clock(measurement)]
        + AppAssociation.findings(at: server, over: transport)
    case let status?:
      let words = "\(server.text) is unhealthy: status \(status)"
      return reached + [.problem("server", words, hint: "contact its operator"), clock(measurement)]
    }
  }

  private func way(_ level: Finding.Level) -> [Finding] {
    guard !network.isPlain else { return [] }
    let words = "\(server.text) is \(level == .ok ? "" : "to be ")reached \(network.words)"
    return accounts.map { Finding(level: level, check: "network", account: $0, words: words) }
  }

  /// Returns the status of our server's health; `nil` for the metadata of an OAuth server.
  private func status(over transport: MeasuredTransport) async throws(CommandError) -> Int? {
    guard let record else {
      do throws(TransportError) {
        return try await transport.send(TransportRequest(method: "GET", url: server.text + "/health")).status
      } catch { throw CommandError(APIError.network(error), server: server) }
    }
    do throws(SessionError) {
      _ = try await OAuthBackend(record.settings(secret: nil), transport: transport).metadata()
      return nil
    } catch { throw CommandError(error, server: server).asked(of: record) }
  }

  private func clock(_ measurement: MeasuredTransport.Measurement) -> Finding {
    guard let date = measurement.response.header("Date").flatMap({ UnixTime(httpDate: $0) }) else {
      return .note("clock", "\(server.text) sent no date")
    }
    // The date has whole seconds, and was written between request and response.
    let skew = measurement.begin.advanced(by: measurement.time / 2).since(date.advanced(by: .milliseconds(500)))
    return Examination.clockFinding(skew, server, precision: measurement.time / 2 + .milliseconds(500))
  }
}

/// Limits each request to 5 s, and records the last response and how long it took, and the failure of one without response.
private final class MeasuredTransport: Transport {
  struct Measurement: Sendable {
    /// When the request was sent.
    var begin: UnixTime
    var time: Duration
    var response: TransportResponse
  }
  private let base: any Transport
  private let last = Locked<Measurement?>(nil)
  private let failed = Locked<NetworkFailure?>(nil)

  init(base: any Transport) { self.base = base }

  var measurement: Measurement? { last.withLock { $0 } }
  var failure: NetworkFailure? { failed.withLock { $0 } }

  @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
    var request = request
    request.timeout = .seconds(5)
    let clock = SystemClock()
    let begin = clock.now()
    let response: TransportResponse
    do throws(TransportError) { response = try await base.send(request) } catch {
      failed.withLock { $0 = NetworkFailure(error) }
      throw error
    }
    let measurement = Measurement(begin: begin.wall, time: clock.now().uptime - begin.uptime, response: response)
    last.withLock { $0 = measurement }
    return response
  }

  @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
    try await base.open(request)
  }
}

extension AppAssociation {
  /// Returns the findings of `doctor` about a server: the apps that it names. A file that names none, or none that is accepted, is a
  /// matter for its operator, if an app is meant to be there at all.
  static func findings(at server: ServerAddress, over transport: any Transport) async -> [Finding] {
    guard let origin = Origin(server.text) else { return [] }
    var findings: [Finding] = []
    for system in System.allCases {
      let outcome = await AppAssociation(system: system, origin: origin).outcome(transport)
      guard case .apps(let apps) = outcome, !apps.isEmpty else { continue }
      let words = "\(origin.text) names \(apps.sorted().map(plain).joined(separator: ", "))"
      findings.append(.ok("\(system.rawValue)_apps", words))
    }
    return findings
  }
}
#endif
