import Foundation
import Handstamp
import HandstampCookies
import HandstampData

/// Reads a forum in a terminal: asks the user to sign in, then shows the forum until the user leaves.
public final class Reader {
  private let client: ForumClient
  private let open: OpenStore
  private let console: any Console
  /// The limits of the store.
  private static let limits = PruneLimits(bytes: 64 << 20)

  /// - Parameter open: The stores that a sign-out of the client's session erases.
  public init(_ client: ForumClient, _ open: OpenStore, console: any Console) {
    self.client = client
    self.open = open
    self.console = console
  }

  public func run() async throws {
    for await state in client.controller.states {
      switch state {
      case .restoring: continue
      case .signedIn(let facts):
        guard try await read(facts) == .over else { return }
      case .signedOut(let reason):
        if let reason, reason != .signedOut {
          console.say("you were signed out: \(Words.describe(SessionError.signedOut(reason)))")
        }
        guard await signIn() else { return }
      case .unavailable(let error): throw error
      }
    }
  }

  /// Repeats until the sign-in succeeds. Returns `false` at the end of the input.
  private func signIn() async -> Bool {
    while true {
      console.say("sign in to \(client.backend.site.baseURL)")
      guard let name = await console.line("name: ", secretly: false),
        let password = await console.line("password: ", secretly: true)
      else {
        return false
      }
      do {
        try await client.controller.signIn { [client] in try await client.backend.signIn(name, Secret(password)) }
        return true
      } catch {
        console.say("not signed in: \(Words.describe(error))")
      }
    }
  }

  private func read(_ facts: SignedIn) async throws -> Sitting.End {
    guard let user = facts.profile else { throw ScrapeError.missing("name of the member") }
    let store = try open.store(of: user.id)
    console.say("signed in as \(user.name)")
    await remind(store)
    let life = StoreLife(store.store, limits: Reader.limits)
    life.didEnterForeground()
    do {
      let end = try await Sitting(facts, client, store, console).run()
      // The next start may be much later.
      await life.didEnterBackground().value
      return end
    } catch {
      await life.didEnterBackground().value
      throw error
    }
  }

  private func remind(_ store: ForumStore) async {
    guard let credential = try? await client.controller.credential(), var reminder = try? store.reminder() else {
      return
    }
    let end = client.backend.loginCookieExpiryDate(credential)
    guard let left = reminder.due(expiry: end, at: ForumStore.now()) else { return }
    let days = Int(left / .seconds(86_400))
    console.say(
      "your sign-in expires in \(days < 1 ? "less than a day" : "\(days + 1) days"): sign in again before then")
    try? await store.keep(reminder)
  }
}
