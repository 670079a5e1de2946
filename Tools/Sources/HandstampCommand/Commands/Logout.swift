import ArgumentParser
import Handstamp
import HandstampCore

/// `handstamp logout`.
struct Logout: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs out",
    discussion: """
      always succeeds on this device, also without a network: the server is then told by the next command that can
      reach it; signing out twice is no error
      """)

  /// How long to try to tell the server.
  static let patience = Duration.seconds(3)

  func run() async throws {
    try EnvironmentToken.refuse(to: "logout")
    let client: Client
    do throws(Refusal) { client = try Client.remembered() } catch {
      guard error == .nobody else { throw error }
      Terminal.say("nobody is signed in")
      return
    }
    let state = await client.restored()
    let report = await client.controller.signOut()
    if let trouble = report.notDurable {
      let refusal = Refusal(trouble)
      throw Refusal(
        .vault, "signed out, but it could not be written down: \(refusal.message)",
        hint: "see to the vault and run handstamp logout again, or the session comes back")
    }
    switch state {
    case .signedIn(let facts): Terminal.say("signed out \(facts.profile.name)")
    case .signedOut: Terminal.say("nobody is signed in")
    case .restoring, .unavailable: Terminal.say("signed out")
    }
    if await !client.deliverEnds(within: Logout.patience) {
      Terminal.say("\(client.server.text) could not be told; the next command that reaches it will do so")
    } else {
      await PendingEnds.deliver()
    }
  }
}
