import Foundation
import Handstamp
import HandstampTesting
import Testing

// `import Handstamp` is all that an app needs for its audit log: this file does not compile without.

/// The app's own log around the file's: it also counts.
private final class CountingLog: AuditLog {
  let file: FileAuditLog
  init(_ file: FileAuditLog) { self.file = file }

  @concurrent func record(_ entry: AuditEntry) async { await file.record(entry) }
  var head: AuditHead? { file.head }
  func found(_ stored: AuditHead) { file.found(stored) }
  /// How many entries are durable.
  var count: UInt64 { file.head?.sequence ?? 0 }
}

@MainActor @Suite(.timeLimit(.minutes(10))) struct `The audit log of an app` {
  private let program = "handstamp-test-\(UUID().uuidString)"
  private let refusing = StubTransport { request in
    request.url.hasSuffix("/v1/sign-in")
      ? .init(
        status: 401, headers: [HeaderField("Content-Type", "application/problem+json")],
        body: Array(#"{"code":"wrong_credentials"}"#.utf8))
      : .init(status: 204)
  }

  /// What a screen shows of the last sign-ins.
  private func lines(_ log: FileAuditLog) async throws -> [String] {
    try await log.entries().reversed().compactMap { record in
      guard record.isIntact, case .signIn(let method) = record.entry.action else { return nil }
      let name = record.entry.account?.rawValue ?? record.entry.address ?? "-"
      return "\(method.rawValue) \(record.entry.outcome) \(name)"
    }
  }

  @Test func `is read, checked and exported by the app that writes it`() async throws {
    let log = CountingLog(.standard(program))
    defer { try? FileManager.default.removeItem(atPath: (log.file.folder as NSString).deletingLastPathComponent) }
    let session = SessionManager(
      server: try #require(URL(string: "https://id.example.org")), name: program, transport: refusing, audit: log)
    await #expect(throws: SessionError.refused(code: "wrong_credentials", detail: nil)) { @MainActor in
      try await session.signIn(email: "ada@example.org", password: "correct horse")
    }
    try await session.signIn { .sample(0) }
    _ = await session.signOut()
    await session.controller.flushAuditLog()
    #expect(log.count == 3)
    #expect(try await lines(log.file) == ["other ok ada", "password wrong_credentials ada@example.org"])
    // By another part of the app, which only knows the program's name.
    let again = FileAuditLog.standard(program)
    #expect(try await again.entries().map(\.sequence) == [1, 2, 3])
    #expect(try await again.entries().last?.entry.account == AccountID("ada"))
    #expect(try await again.verify().isIntact)

    let text = try await again.export()
    let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let records = try #require(object["records"] as? [[String: Any]])
    #expect(object["intact"] as? Bool == true && !text.contains("\n"))
    #expect(records.map { $0["action"] as? String } == ["sign_in", "sign_in", "end"])
    #expect(records.map { $0["method"] as? String } == ["password", "other", nil])
    #expect(records.map { $0["outcome"] as? String } == ["wrong_credentials", "ok", "signed_out"])
    #expect(records.first?["address"] as? String == "ada@example.org")
    for secret in ["correct horse", "access-s1-0", "refresh-s1-0", "handle-s1"] { #expect(!text.contains(secret)) }
  }

  @Test func `that was altered is shown with what is left, and found`() async throws {
    let log = FileAuditLog.standard(program)
    defer { try? FileManager.default.removeItem(atPath: (log.folder as NSString).deletingLastPathComponent) }
    for number in 1...3 {
      await log.record(
        AuditEntry(
          action: .signIn(.passkey), session: nil, account: AccountID("ada"),
          at: UnixTime(seconds: Int64(number)), outcome: "ok"))
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: log.folder)
    let file = "\(log.folder)/\(try #require(names.first { $0.hasSuffix(".audit") }))"
    var lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
    lines[1] = lines[1].replacingOccurrences(of: "ada", with: "eve")
    try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await log.verify() == .broken(at: 2, .altered))
    #expect(try await log.entries().map(\.isIntact) == [true, false, false])
    #expect(try await log.entries().map { $0.entry.account?.rawValue } == ["ada", "eve", "ada"])
    lines.removeFirst()
    try (lines.joined(separator: "\n") + "\n").write(toFile: file, atomically: true, encoding: .utf8)
    #expect(try await log.entries().allSatisfy { !$0.isIntact })
  }
}
