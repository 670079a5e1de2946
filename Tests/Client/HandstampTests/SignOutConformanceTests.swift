import Foundation
@testable import Handstamp
import HandstampSupport
import HandstampTesting
import Testing

/// A device: a folder with a vault, a jar, preferences, a database and downloads, in which a program stored its secrets.
private struct Device: Sendable {
  static let secrets = ["refresh-s1-0", "access-s1-0", "cookie-of-ada", "draft-of-ada", "picture-of-ada"]
  let home: URL

  init(_ home: URL) { self.home = home }

  static func make() throws -> Device {
    let home = FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)")
    let device = Device(home)
    for (name, text) in [("jar", secrets[2]), ("preferences", secrets[3]), ("downloads", secrets[4])] {
      let folder = home.appending(path: name)
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data("\(name): \(text)".utf8).write(to: folder.appending(path: "file"))
    }
    return device
  }

  /// A snapshot of the disk at this instant.
  func copy() throws -> Device {
    let copy = Device(FileManager.default.temporaryDirectory.appending(path: "handstamp-\(UUID().uuidString)"))
    try FileManager.default.copyItem(at: home, to: copy.home)
    return copy
  }

  func remove() { try? FileManager.default.removeItem(at: home) }

  func steps(reached: @escaping @Sendable (String) -> Void = { _ in }) -> [CleanupStep] {
    [("jar", CleanupScope.cookies), ("preferences", .preferences), ("downloads", .downloads)].map { name, scope in
      let removal = CleanupStep.removal(of: home.appending(path: name), name, scope)
      return CleanupStep(name, scope) { ended in
        reached("before \(name)")
        try await removal.run(ended)
        reached("after \(name)")
      }
    }
  }

  func vault(reached: @escaping @Sendable (String) -> Void = { _ in }) -> SealedFileVault {
    var vault = SealedFileVault(folder: home.appending(path: "vault").path, account: AccountID("ada"))
    vault.reached = { reached($0.rawValue) }
    return vault
  }

  /// The files in which a secret can be read, including those that a vault would open.
  func leaks() async throws -> [String] {
    var leaks: [String] = []
    for case let file as URL in FileManager.default.enumerator(at: home, includingPropertiesForKeys: nil) ?? .init() {
      guard let data = try? Data(contentsOf: file) else { continue }
      for secret in Device.secrets where data.range(of: Data(secret.utf8)) != nil {
        leaks.append(file.lastPathComponent)
      }
    }
    switch await vault().read() {
    case .absent: break
    case .value(let entry): if entry.session != nil { leaks.append("the vault's session") }
    case .accessOnly, .trouble: leaks.append("the vault cannot be read")
    }
    return leaks
  }
}

@Suite(.timeLimit(.minutes(10))) struct `After a sign-out` {
  @Test func `nothing on the device holds a secret, at whatever point the program crashed`() async throws {
    let device = try Device.make()
    defer { device.remove() }
    let copies = Locked<[(at: String, device: Device)]>([])
    let isWatching = Locked(false)
    let take: @Sendable (String) -> Void = { step in
      guard isWatching.withLock({ $0 }) else { return }
      // As if the power failed here.
      if let copy = try? device.copy() { copies.withLock { $0.append((step, copy)) } }
    }
    defer { for (_, copy) in copies.withLock({ $0 }) { copy.remove() } }
    let session = SessionController(
      backend: ScriptedBackend.rotating(), vault: device.vault(reached: take), policy: quiet, clock: ManualClock(),
      cleanups: device.steps(reached: take))
    try await session.signIn { .sample(0) }
    isWatching.withLock { $0 = true }
    let report = await session.signOut(.everything)
    #expect(report.cleanup.cleared.sorted() == ["downloads", "jar", "preferences"])
    #expect(await session.waitForRevocations(timeout: .seconds(60)))
    #expect(try await device.leaks() == [])

    var isBuried = false
    let all = copies.withLock { $0 }
    // At least five steps for each of the vault's writes, and two for each clean-up step.
    #expect(all.count >= 16)
    for (step, copy) in all {
      let entry = await copy.vault().read()
      if case .value(let entry) = entry, entry.session != nil {
        // The sign-out had not happened yet: the user is still signed in, and nothing is lost.
        #expect(!isBuried, "the session is back at \(step)")
        continue
      }
      isBuried = true
      let relaunched = SessionController(
        backend: ScriptedBackend.rotating(), vault: copy.vault(), policy: quiet, clock: ManualClock(),
        cleanups: copy.steps())
      await #expect(throws: SessionError.signedOut(.signedOut)) { try await relaunched.token() }
      await othersFirst { await !relaunched.hasChores }
      let leaks = try await copy.leaks()
      #expect(leaks == [], "died at \(step)")
    }
    #expect(isBuried)
  }
}

extension SessionController {
  fileprivate var hasChores: Bool { !machine.cleanups.pending.isEmpty }
}
