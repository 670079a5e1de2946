#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine
import HandstampSupport

struct Revoke: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "end one session, all others, or all",
    discussion: "for the session IDs, run: handstamp sessions")

  @Argument(help: "ID of the session to end") var session: String?
  @Flag(help: "end all sessions but this one") var others = false
  @Flag(help: "end all sessions, including this one") var all = false
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    let caller = try await AuthorizedCaller.current(account, in: installation)
    do throws(CommandError) {
      try await perform(by: caller)
    } catch {
      guard error.code == "reauthentication_required" else { throw error }
      Terminal.say("you signed in some time ago: confirm that it is you")
      // The code of an authenticator app is not asked for: its device may be the one to end.
      try await perform(by: caller, password: try Terminal.secret("password"))
    }
  }

  private func perform(by caller: AuthorizedCaller, password: Secret? = nil) async throws(CommandError) {
    switch (session, others, all) {
    case (let id?, false, false): try await end(id, by: caller, password: password)
    case (nil, true, false):
      let count = try await caller.endSessions("POST", "/v1/sessions/end-others", password: password)
      Terminal.say("ended \(count) other session(s)")
    case (nil, false, true):
      let count = try await caller.endSessions("DELETE", "/v1/sessions", password: password)
      if case .session(let client) = caller { _ = await client.controller.signOut(reason: .revoked) }
      Terminal.say("ended \(count) session(s), including this one")
    default:
      throw CommandError(
        .usage, "specify a session, --others or --all", hint: "run: handstamp sessions")
    }
  }

  private func end(_ id: String, by caller: AuthorizedCaller, password: Secret?) async throws(CommandError) {
    guard let path = PercentEncoding.path("v1", "sessions", id) else {
      throw CommandError(.usage, "not a valid session ID", hint: "run: handstamp sessions")
    }
    do throws(CommandError) { try await caller.endSessions("DELETE", path, password: password) } catch {
      throw error.code == "not_found" ? error.saying("this account has no session \(id)") : error
    }
    if case .session(let client) = caller, case .signedIn(let facts) = client.controller.state,
      facts.id.rawValue == id
    {
      _ = await client.controller.signOut()
      Terminal.say("ended this session")
    } else {
      Terminal.say("ended session \(id)")
    }
  }
}
#endif
