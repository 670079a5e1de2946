#if Command
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
}
#endif
