#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

struct Watch: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "show session events of the account as they happen",
    discussion: """
      continues across token refreshes, network outages and server restarts
      without missing events; when the session ends, prints why and exits 4
      """)

  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "watch")
    let client = try await installation.client(account, isShortLived: false)
    if let foreign = try await client.foreign() { throw foreign.lacks("session events", at: client.server) }
    // Fail at once if no token is available.
    _ = try await client.token()
    Terminal.say("watching \(client.account.words)")
    do throws(SessionError) {
      for try await event in client.identity.sessionEvents(for: client.controller) { show(event) }
    } catch {
      guard case .signedOut(let reason?) = error else {
        throw CommandError(error, server: client.server).about(client.name)
      }
      throw CommandError(SessionError.sessionEnded(reason), server: client.server).about(client.name).saying(
        "the session is no longer valid: \(reason.words)")
    }
    throw CommandError(.network, "\(client.server.text) closed the event stream", hint: "run the same command again")
  }

  private func show(_ event: SessionEvent) {
    guard !output.json else {
      // The provider is the one where the session ended, if it did.
      return Terminal.out(json: [
        "event": event.name, "id": event.id, "session": event.sessionID?.rawValue, "current": event.isCurrent,
        "reason": event.reason?.rawValue, "provider": event.reason?.provider, "at": event.at?.description,
        "atEpoch": event.at?.seconds,
      ])
    }
    let time = (event.at ?? SystemClock().now().wall).description
    let whose = event.sessionID.map { $0.rawValue + (event.isCurrent ? " (this one)" : "") } ?? "-"
    Terminal.out([time, event.name.onOneLine, whose.onOneLine, event.reason?.words ?? ""].joined(separator: "  "))
  }
}
#endif
