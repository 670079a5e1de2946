#if Command
import Crypto
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

/// A file with a valid ID token, for programs that read it again whenever they need it. It is in the home, readable by its owner only,
/// and exists as long as the program runs and the session lasts.
struct IdentityTokenFile: Sendable {
  static let prefix = "id-token-"

  let path: String
  private let client: AccountClient

  init(of client: AccountClient) {
    self.client = client
    let name = Name(account: Name.digest(of: client.account.id))
    path = "\(client.home.path)/\(IdentityTokenFile.prefix)\(name.text)"
    IdentityTokenFile.removeLeft(in: client.home)
  }

  /// Writes a token that stays valid for at least `minimumValidity`. Returns how long it does.
  @discardableResult
  func renew(minimumValidity: Duration) async throws(CommandError) -> Duration {
    let token = try await client.identityToken(minimumValidity: minimumValidity)
    do throws(SystemError) {
      try AtomicFile.replace(path, with: token.secret.withExposedBytes { Array($0) })
    } catch {
      throw client.home.unwritable()
    }
    return token.lifetime.remaining(at: SystemClock().now())
  }

  func remove() { unlink(path) }

  /// Renews the file when half of the token's lifetime is over, until the program ends.
  func keepFresh(until program: AttendedProgram) async -> ProgramOutcome {
    await withTaskGroup(of: ProgramOutcome?.self) { group in
      group.addTask { await program.outcome() }
      group.addTask {
        await keepFresh()
        return nil
      }
      group.addTask {
        // A sign-out by another process, too.
        for await state in client.controller.states { if case .signedOut = state { remove() } }
        return nil
      }
      for await case let outcome? in group {
        group.cancelAll()
        return outcome
      }
      return .exited(1)
    }
  }

  private func keepFresh() async {
    var (left, half, isTold) = (Duration.zero, Duration.zero, false)
    while !Task.isCancelled {
      var pause = Duration.seconds(60)
      do throws(CommandError) {
        let now = try await renew(minimumValidity: half)
        if now > left { half = now / 2 }
        left = now
        // A server that sends no other one with a refresh is not asked again and again.
        pause = left > half ? left - half : left / 2
        isTold = false
      } catch {
        if Task.isCancelled { return }
        if error.exit == .signInNeeded { remove() }
        if !isTold { Terminal.say("handstamp: cannot renew the ID token for the program: \(error.message)") }
        (left, isTold) = (.zero, true)
      }
      // A computer may sleep meanwhile.
      try? await Task.sleep(for: min(max(pause, .seconds(1)), .seconds(300)))
    }
  }

  /// The name of a file after its prefix: `ACCOUNT-NAMESPACE-PROCESS-START-RANDOM`. The numbers have the base 36, and are
  /// empty if the system does not tell.
  struct Name {
    /// ``digest(of:)``.
    var account: String
    /// With its start and its namespace: another process may have the ID later, and containers may share the home.
    var process = ProcessIdentity.current

    init(account: String) { self.account = account }

    init?(_ text: some StringProtocol) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count >= 5, let id = Int32(parts[2], radix: 36) else { return nil }
      account = String(parts[0])
      process = ProcessIdentity(
        id: id, startedAt: UInt64(parts[3], radix: 36), namespace: UInt64(parts[1], radix: 36))
    }

    var text: String {
      let space = process.namespace.map { String($0, radix: 36) } ?? ""
      let start = process.startedAt.map { String($0, radix: 36) } ?? ""
      let random = String(UInt64.random(in: 0 ... .max), radix: 36)
      return [account, space, String(process.id, radix: 36), start, random].joined(separator: "-")
    }

    static func digest(of account: AccountID) -> String {
      Hexadecimal.text(SHA256.hash(data: Array(account.rawValue.utf8)).prefix(8))
    }
  }

  /// The paths of files whose handstamp was killed.
  static func left(in home: Home) -> [String] {
    all(in: home).filter { path, name in
      if name?.process.hasEnded == true { return true }
      // That of a running program is written more often.
      return FileFacts(path).map { $0.changedAt.timeIntervalSinceNow < -86_400 } ?? false
    }.map(\.0)
  }

  /// Removes the files of programs whose handstamp was killed. Returns how many.
  @discardableResult
  static func removeLeft(in home: Home) -> Int { left(in: home).count { unlink($0) == 0 } }

  /// Removes the account's files, and those of killed programs.
  static func remove(of account: AccountID, in home: Home) {
    let digest = Name.digest(of: account)
    for (path, name) in all(in: home) where name?.account == digest { unlink(path) }
    removeLeft(in: home)
  }

  private static func all(in home: Home) -> [(String, Name?)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: home.path)) ?? []
    return names.filter { $0.hasPrefix(prefix) }.sorted().map {
      ("\(home.path)/\($0)", Name($0.dropFirst(prefix.count)))
    }
  }
}
#endif
