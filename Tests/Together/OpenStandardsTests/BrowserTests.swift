#if Programs
import Foundation
import Handstamp
import HandstampOAuth
import HandstampTesting
import HandstampTransports
import Testing

@testable import HandstampCommand
@testable import HandstampCommandLine
@testable import HandstampTour

/// Our pages in Chromium, which has its own implementation of cookies, policies and forms.
@Suite(.serialized, .timeLimit(.minutes(10)), .enabled(if: Chromium.isHere, "needs Chromium and its driver"))
struct `The pages in a real browser` {
  private let cookies = [
    "__Host-handstamp-session secure httpOnly Lax /", "__Host-handstamp-device secure httpOnly Lax /",
    "__Host-handstamp-form secure httpOnly Lax /",
  ]

  /// The browser's report, by kind.
  private func visit(_ arguments: String...) async throws -> [String: [String]] {
    let program = try Program("chromium.py", arguments)
    defer { program.close() }
    var told: [String: [String]] = [:]
    for await line in program.lines {
      let kind = ["seen by scripts"].first { line.hasPrefix($0) } ?? String(line.prefix { $0 != " " })
      told[kind, default: []].append(String(line.dropFirst(kind.count + 1)))
    }
    return told
  }

  private func expectSound(_ told: [String: [String]]) {
    #expect(told["console"] == nil, "a page violates its own policy")
    #expect(told["focus"] == ["email"])
    #expect(told["alert"] == ["The email address or the password is wrong."])
    #expect(Set(told["cookie"] ?? []) == Set(cookies))
    #expect(told["kept"] == nil, "a cookie kept its value across the sign-in")
    #expect(told["seen by scripts"] == ["nothing"])
  }

  @Test func `sign a user in, and lead back to the app`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let told = OneShot<[String: [String]]>()
      let (lost, lose) = AsyncStream.makeStream(of: Void.self)
      let receiver = try await LoopbackReceiver.listen { page in
        do {
          let lines = try await visit(page, OwnServer.password)
          told.set(lines)
          if lines["at"] == nil { lose.yield() }
        } catch { Issue.record(error) }
      }
      // If the browser does not return, end the wait.
      let ending = Task { for await _ in lost { await receiver.close() } }
      defer { ending.cancel() }
      let backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: AsyncHTTPTransport.shared)
      let controller = SessionController(backend: backend, vault: MemoryVault(), clock: SystemClock())
      let facts = try await controller.signIn { () async throws(SessionError) in
        try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      }
      #expect(facts.profile?.name == "Ada")
      let lines = try await told.value()
      await receiver.close()
      expectSound(lines)
      #expect(lines["page"] == ["Sign in", "Allow An app to access your account?"])
      #expect(lines["at"] == [receiver.redirectURI])
    }
  }

  @Test func `sign a device in`() async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let (codes, show) = AsyncStream.makeStream(of: DeviceCode.self)
      let told = OneShot<[String: [String]]>()
      let backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "app", scopes: ["profile"]), transport: AsyncHTTPTransport.shared,
        time: OAuthTime(now: { UnixTime(seconds: 0) }) { _ in
          for await code in codes {
            let lines = try await visit(code.address, OwnServer.password, code.userCode)
            told.set(lines)
            if lines["page"]?.last != "Your device is connected" {
              throw Program.Failed(description: "the browser did not finish: \(lines)")
            }
            return
          }
        })
      let controller = SessionController(backend: backend, vault: MemoryVault(), clock: SystemClock())
      let facts = try await controller.signIn { () async throws(SessionError) in
        try await backend.signInOnAnotherDevice { show.yield($0) }
      }
      #expect(facts.profile?.name == "Ada")
      let lines = try await told.value()
      expectSound(lines)
      #expect(
        lines["page"] == [
          "Sign in", "Connect a device", "Allow An app to access your account?", "Your device is connected",
        ])
    }
  }
}

private enum Chromium {
  static var isHere: Bool {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return ["chromium", "chromedriver"].allSatisfy { name in
      folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
    }
  }
}
#endif
