#if Programs
import Foundation
import Handstamp
import HandstampTesting
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  /// A server whose response to a refresh is inconclusive: the session is kept, the user is told, and signing in fixes it.
  @Suite struct `A refresh that is refused without a reason` {
    struct Answer: Sendable {
      var status: Int
      var body = ""
      var type = "text/plain"
      var code: String?
      var isRefusal: Bool { [400, 401].contains(status) && !body.hasPrefix("<") }
    }

    private static let answers = [
      Answer(status: 400), Answer(status: 400, body: "<html>Bad Request</html>", type: "text/html"),
      Answer(status: 400, body: #"{"message":"no"}"#, type: "application/json"),
      Answer(status: 400, body: #"{"error":"invalid_request"}"#, type: "application/json", code: "invalid_request"),
      Answer(status: 401), Answer(status: 403, body: "<html>Forbidden</html>", type: "text/html"), Answer(status: 404),
      Answer(status: 410), Answer(status: 500),
    ]

    @Test(arguments: answers.indices)
    func `is reported with status and time, and is fixed by signing in`(number: Int) async throws {
      let answer = Self.answers[number]
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.proxy.saysTokensLast(0)
        try await stage.run(["refresh"], on: stage.first)
        let session = try await stage.session(of: stage.first).id
        stage.proxy.answersRefreshes(
          with: TransportResponse(
            status: answer.status, headers: [HeaderField("Content-Type", answer.type)], body: Array(answer.body.utf8)))

        let exit: ExitReason = !answer.isRefusal ? .network : answer.code == nil ? .signInNeeded : .configuration
        let token = try await stage.run(["token", "--json"], on: stage.first, expecting: exit)
        try expectRefusal(
          token, exit, code: answer.isRefusal ? answer.code ?? "refresh_refused" : "server_error",
          naming: "\(answer.status)",
          hint: exit == .configuration ? "check this client's registration" : "run: handstamp login")
        #expect(
          try await stage.session(of: stage.first).id == session, "an inconclusive response does not end the session")

        // Two hours later, every process still reports the start.
        let note = try await self.note(of: stage)
        let now = SystemClock().now().wall
        var older = try JSONDecoder().decode(RefusedRefresh.self, from: Data(contentsOf: note))
        older.since = now.advanced(by: .seconds(-7200))
        try JSONEncoder().encode(older).write(to: note)
        let second = try await stage.run(["refresh"], on: stage.first, expecting: exit)
        #expect(second.words.contains("since \(older.since) (2 h"), "\(second.words)")

        let request = try await stage.run(["request", "/v1/me"], on: stage.first, expecting: exit)
        let words = answer.isRefusal ? "(\(answer.status), " : "with \(answer.status) and "
        #expect(request.words.contains(words), "\(request.words)")

        let status = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect(status["state"] as? String == "signed_in")
        let failure = try #require(status["refreshFailure"] as? [String: Any])
        #expect(failure["status"] as? Int == answer.status)
        #expect(failure["error"] as? String == answer.code)
        #expect(failure["sinceEpoch"] as? Int64 == older.since.seconds)
        let shown = try await stage.run(["status"], on: stage.first)
        #expect(shown.out.contains(words) && shown.out.contains("(2 h"), "\(shown.out)")
        #expect(!shown.out.contains("refreshed at the next use"))
        #expect(
          shown.words.contains(
            exit == .configuration ? "hint: check this client's registration" : "hint: run: handstamp login"))
        try await stage.run(["status", "--check"], on: stage.first, expecting: answer.isRefusal ? exit : .ok)
        let doctor = try await stage.run(["doctor"], on: stage.first, expecting: .failure)
        #expect(doctor.out.contains(words))
        let hint =
          switch exit {
          case .configuration: "hint: check this client's registration"
          case .network: "hint: if this persists, run: handstamp login --account \(stage.email)"
          default: "hint: run: handstamp login --account \(stage.email)"
          }
        #expect(doctor.out.contains(hint), "\(doctor.out)")

        let login = try await stage.run(["login", stage.email], on: stage.first, input: stage.password + "\n")
        #expect(login.words.contains("signing in again") && login.words.contains("signed in as"), "\(login.words)")
        #expect(try await stage.session(of: stage.first).id != session)
        try await stage.run(["token"], on: stage.first)
        let after = try object(try await stage.run(["status", "--json"], on: stage.first).out)
        #expect(after["refreshFailure"] == nil)
        #expect(!FileManager.default.fileExists(atPath: note.path), "the stored response is removed")
      }
    }

    @Test func `is cleared by a successful refresh, and not confused with an unreachable server`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.proxy.saysTokensLast(0)
        try await stage.run(["refresh"], on: stage.first)
        stage.proxy.answersRefreshes(with: TransportResponse(status: 404))
        try await stage.run(["token"], on: stage.first, expecting: .network)
        stage.proxy.answersRefreshes(with: nil)
        stage.proxy.saysTokensLast(nil)
        try await stage.run(["token"], on: stage.first)
        #expect(try object(try await stage.run(["status", "--json"], on: stage.first).out)["refreshFailure"] == nil)
        let login = try await stage.run(["login", stage.email], on: stage.first)
        #expect(login.words.contains("already"), "\(login.words)")

        stage.proxy.saysTokensLast(0)
        try await stage.run(["refresh"], on: stage.first)
        try await stage.server.stop()
        let token = try await stage.run(["token", "--json"], on: stage.first, expecting: .network)
        try expectRefusal(token, .network, code: "connection_lost", hint: "check your connection")
        #expect(try object(try await stage.run(["status", "--json"], on: stage.first).out)["refreshFailure"] == nil)
      }
    }

    @Test func `is not one of another API's token`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let account = try #require(try await KnownAccounts(of: stage.first).active)
        let session = try await stage.session(of: stage.first).id
        let refusing = ScriptedBackend { _, _, _ in
          .noDecision(.configuration(.init(status: 400, error: "invalid_target")))
        }
        let watch = DeliveryWatch(refusing, of: account, in: stage.first, nil)
        let key = try #require(RotationKey(bytes: [UInt8](repeating: 7, count: 16)))
        _ = await watch.refresh(
          RefreshRequest(token: RefreshToken("r"), key: key, target: TokenTarget(resource: "https://api.example.org")))
        #expect(stage.first.refusedRefresh(of: account.id, session: session) == nil)
        _ = await watch.refresh(RefreshRequest(token: RefreshToken("r"), key: key))
        #expect(stage.first.refusedRefresh(of: account.id, session: session)?.error == "invalid_target")
      }
    }

    /// The stored response on the first device.
    private func note(of stage: TourFixture) async throws -> URL {
      let folder = stage.first.path + "/refusals"
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(names.count == 1)
      return URL(fileURLWithPath: "\(folder)/\(try #require(names.first))")
    }
  }

  @Suite struct `A series of refused refreshes` {
    @Test func `starts with its first response, and again when refusals follow other failures`() {
      let (session, other) = (SessionID("s"), SessionID("t"))
      func at(_ seconds: Int64) -> UnixTime { UnixTime(seconds: seconds) }
      let first = RefusedRefresh.next(
        after: nil, RequestError.ServerResponse(status: 400, error: "y"), session: session, at: at(1))
      let second = RefusedRefresh.next(
        after: first, RequestError.ServerResponse(status: 403, error: "x"), session: session, at: at(2))
      #expect(second.since == at(1) && second.last == at(2) && second.status == 403 && second.error == "x")
      let third = RefusedRefresh.next(
        after: second, RequestError.ServerResponse(status: 503), session: session, at: at(3))
      #expect(third.since == at(3) && !third.isRefusal)
      #expect(
        RefusedRefresh.next(after: third, RequestError.ServerResponse(status: 500), session: other, at: at(4)).since
          == at(4))
      for status in [404, 405, 407, 408, 410, 421, 425, 426, 429, 200, 302, 500] {
        #expect(
          !RefusedRefresh.next(after: nil, RequestError.ServerResponse(status: status), session: session, at: at(1))
            .isRefusal)
      }
    }
  }
}
#endif
