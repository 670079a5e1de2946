#if Programs
import Foundation
import Handstamp
import HandstampSupport
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

extension Processes {
  @Suite struct `handstamp doctor` {
    private struct Answer: Decodable {
      struct Finding: Decodable {
        var level: String
        var check: String
        var account: String?
        var words: String
        var hint: String?
      }
      var problems: Int
      var findings: [Finding]

      func first(_ check: String, _ level: String) -> Finding? {
        findings.first { $0.check == check && $0.level == level }
      }
    }

    private func doctor(_ stage: TourFixture, expecting status: ExitReason = .ok) async throws -> Answer {
      let outcome = try await stage.run(["doctor", "--json"], on: stage.first, expecting: status)
      _ = try object(outcome.out)
      return try JSONDecoder().decode(Answer.self, from: Data(outcome.out.utf8))
    }

    @Test func `finds no problems in a sound home, changes nothing and prints no secret`() async throws {
      try await ProcessFixture.run { stage in
        let none = try await doctor(stage)
        #expect(none.first("home", "note")?.hint?.contains("handstamp login") == true)
        #expect(!FileManager.default.fileExists(atPath: stage.first.path))
        try await stage.signUp(stage.first)
        func files() throws -> [String: Data] {
          let names = try FileManager.default.subpathsOfDirectory(atPath: stage.first.path)
          return Dictionary(
            uniqueKeysWithValues: names.map {
              ($0, FileManager.default.contents(atPath: "\(stage.first.path)/\($0)") ?? Data())
            })
        }
        let before = try files()
        let answer = try await doctor(stage)
        #expect(answer.problems == 0)
        for check in [
          "version", "descriptors", "home", "vault_folder", "key_file", "accounts", "vault", "server", "clock",
        ] {
          #expect(answer.first(check, "ok") != nil, "\(check)")
        }
        #expect(answer.first("home", "ok")?.words.hasSuffix(" MiB free") == true)
        #expect(!answer.findings.contains { $0.check.hasSuffix("_apps") }, "the server names no app")
        let shown = try await stage.run(["doctor"], on: stage.first)
        #expect(shown.out.contains(", would be refreshed in "))
        #expect(shown.out.contains(" by a program that keeps running"))
        #expect(try files() == before)
        #expect(!SecretScan(stage.proxy.secrets).finds(in: Array(shown.out.utf8)))
      }
    }

    @Test func `reports ended sessions, pending revocations and unreachable servers`()
      async throws
    {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let session = try await stage.session(of: stage.first).id.rawValue
        try await stage.server.stop()
        try await stage.run(["logout"], on: stage.first)
        let answer = try await doctor(stage, expecting: .failure)
        #expect(answer.first("ended", "note")?.words.contains("session \(session)") == true)
        #expect(answer.first("ended", "note")?.words.contains("signed out") == true)
        #expect(answer.first("sign_outs", "note")?.words.hasPrefix("1 sign-out(s) not yet sent") == true)
        #expect(answer.first("server", "problem")?.words.contains("no answer") == true)
        #expect(answer.problems == 1)
        let shown = try await stage.run(["doctor"], on: stage.first, expecting: .failure)
        #expect(shown.words.contains("1 problem(s)") && shown.words.contains("hint: "))
        #expect(shown.out.contains("hint: check your connection"))
      }
    }

    @Test func `finds open modes, a missing key, leftovers and damaged files, each with a hint`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        let (files, folder) = (FileManager.default, stage.first.vaultFolder)
        func set(_ mode: Int, _ name: String) throws {
          try files.setAttributes([.posixPermissions: mode], ofItemAtPath: folder + name)
        }
        try set(0o777, "")
        #expect(
          try await doctor(stage, expecting: .failure).first("vault_folder", "problem")?.hint
            == "run: handstamp doctor --fix")
        try set(0o700, "")
        try set(0o644, "/vault.key")
        let open = try await doctor(stage, expecting: .failure)
        #expect(open.first("key_file", "problem")?.hint == "run: handstamp doctor --fix")
        #expect(open.first("vault", "problem")?.words.contains("other users can access the key file") == true)
        try set(0o600, "/vault.key")
        try files.moveItem(atPath: folder + "/vault.key", toPath: folder + "/away")
        #expect(
          try await doctor(stage, expecting: .failure).first("key_file", "problem")?.words.contains("missing") == true)
        try files.moveItem(atPath: folder + "/away", toPath: folder + "/vault.key")

        for name in ["1.partial", "x.corrupt-1"] {
          #expect(files.createFile(atPath: "\(folder)/\(name)", contents: nil))
        }
        #expect(try await doctor(stage).first("partial_files", "note") == nil, "it may still be being written")
        try files.setAttributes(
          [.modificationDate: Date(timeIntervalSinceNow: -600)], ofItemAtPath: folder + "/1.partial")
        let left = try await doctor(stage)
        #expect(left.first("partial_files", "note")?.hint?.contains("rm ") == true)
        #expect(left.first("set_aside", "note")?.words.contains("x.corrupt-1") == true)
        try Data("junk".utf8).write(to: URL(fileURLWithPath: folder + "/accounts.json"))
        #expect(
          try await doctor(stage, expecting: .failure).first("accounts", "problem")?.hint
            == "run: handstamp doctor --fix")
      }
    }

    #if os(Linux)
    @Test func `names lock holders, and reports an interrupted refresh`() async throws {
      try await ProcessFixture.run { stage in
        try await stage.signUp(stage.first)
        stage.proxy.saysTokensLast(0)
        try await stage.run(["refresh"], on: stage.first)
        let (isHere, goOn) = (OneShot<Void>(), OneShot<Void>())
        stage.proxy.nextAnswer(.waits(isHere: isHere, goOn: goOn))
        let child = try Child(["token"], variables: ["HANDSTAMP_HOME": stage.first.path], input: "")
        try await within(.seconds(240), "the server's answer") { try await isHere.value() }
        let held = try await doctor(stage)
        #expect(held.first("locks", "note")?.words.contains("process \(child.id)") == true)
        #expect(held.first("pending_key", "note") != nil)
        child.send(SIGSTOP)
        try await Step.until("the stop") { LockHolder.isStopped(child.id) }
        let stopped = try await doctor(stage, expecting: .failure)
        #expect(stopped.first("locks", "problem")?.hint?.contains("kill -CONT \(child.id)") == true)
        child.send(SIGCONT)
        goOn.set(())
        #expect(try await child.outcome().status == 0)
        #expect(try await doctor(stage).first("locks", "ok") != nil)
      }
    }
    #endif
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The findings of doctor` {
  /// A server that answers each request, or none.
  private struct OneAnswer: Transport {
    var failure: TransportError?

    @concurrent func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
      if let failure { throw failure }
      return TransportResponse(status: request.url.hasSuffix("/health") ? 200 : 404)
    }

    @concurrent func open(_ request: TransportRequest) async throws(TransportError) -> TransportStream {
      throw .notConnected("not used")
    }
  }

  private func findings(_ failure: TransportError?) async throws -> [Finding] {
    let server = try ServerAddress(parsing: "https://id.example.org")
    return await ServerExamination(server: server, record: nil, transport: OneAnswer(failure: failure)).findings()
  }

  @Test(
    arguments: [
      (NetworkFailure.certificateUntrusted.error(), "certificate"),
      (NetworkFailure.wantsCertificate.error(), "certificate"),
      (NetworkFailure.proxyUnreachable.error(), "proxy"), (NetworkFailure.proxyRefusesCredentials.error(), "proxy"),
      (TransportError.timedOut, "server"),
    ])
  func `name the check that a request failed`(failure: TransportError, check: String) async throws {
    let found = try await findings(failure)
    #expect(found.filter { $0.level == .problem }.map(\.check) == [check])
    #expect(!found.contains { $0.level == .ok }, "nothing else was tested")
    #expect(found.first { $0.check == "clock" }?.level == .note)
  }

  @Test func `name a certificate that was verified, and no app where none is named`() async throws {
    let found = try await findings(nil)
    #expect(found.first { $0.check == "certificate" }?.words.contains("id.example.org") == true)
    #expect(found.map(\.check) == ["certificate", "server", "clock"])
  }

  @Test func `tell little room and few descriptors`() {
    #expect(Finding.home("home", "/h", room: 16 << 20).level == .ok)
    #expect(Finding.home("home", "/h", room: (16 << 20) - 1).level == .note)
    #expect(Finding.home("home", "/h", room: nil) == .ok("home", "/h"))
    #expect(Finding.descriptors(limit: 203, inherited: 3).level == .ok)
    #expect(Finding.descriptors(limit: 202, inherited: 3).hint == "run: ulimit -n 1027")
    #expect(Finding.descriptors(limit: -1, inherited: 3).level == .ok)
  }

  @Test func `follow a write, not the mode of a folder`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try VaultInspection.tryWriting(in: folder)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    // The kernel's own file system has modes of any kind, and takes no file.
    #if os(Linux)
    #expect(throws: VaultError.self) { try VaultInspection.tryWriting(in: "/proc") }
    #endif
  }
}

@Suite(.timeLimit(.minutes(10))) struct `The clock check` {
  private func finding(_ skew: Duration) throws -> Finding {
    Examination.clockFinding(
      skew, try ServerAddress(parsing: "https://id.example.org"), precision: .milliseconds(600))
  }

  @Test func `accepts skew within its precision, and reports it beyond`() throws {
    #expect(try finding(.milliseconds(1600)).level == .ok)
    #expect(try finding(.milliseconds(-1600)).level == .ok)
    #expect(try finding(.milliseconds(1601)).level == .note)
    #expect(try finding(.seconds(59)).words.contains("59 s ahead of"))
    #expect(try finding(.seconds(-60)).level == .problem)
    #expect(try finding(.seconds(-60)).words.contains("1 min behind"))
  }

  @Test func `reads the date of a response`() {
    #expect(UnixTime(httpDate: "Sun, 06 Nov 1994 08:49:37 GMT") == UnixTime(seconds: 784_111_777))
    #expect(UnixTime(httpDate: "yesterday") == nil && UnixTime(httpDate: "") == nil)
  }
}
#endif
