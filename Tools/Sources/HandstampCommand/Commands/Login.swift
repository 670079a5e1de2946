import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp login`.
struct Login: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "signs in",
    discussion: "the password is asked for at a prompt, or read as one line from stdin; signing in twice is no error")

  @Argument(help: "the email address") var email: String?
  @Flag(help: "sign in again, even if the session is good") var force = false
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @OptionGroup var server: ServerOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "login")
    let attempt = try SignInAttempt(server: server, deviceName: deviceName)
    if !force, try await attempt.isAlreadySignedIn(as: email) { return }
    let email = try email ?? Terminal.line("email", hint: "name it: handstamp login EMAIL")
    let password = try Terminal.secret("password")
    let identity = attempt.client.identity
    try await attempt.signIn { () async throws(SessionError) -> Grant in
      try await identity.password(email, password)
    }
  }
}

/// What sign-up and sign-in have in common.
struct SignInAttempt {
  let client: Client
  private let home: Home
  private let settings: Settings

  init(server: ServerOptions, deviceName: String?) throws(Refusal) {
    home = try Home.current()
    settings = try home.settings()
    client = try Client(home: home, server: try server.address(settings), deviceName: deviceName)
  }

  /// Whether the session that there is will do. Asks the server, if it has to be a certain account's.
  ///
  /// - Throws: a refusal when somebody else is signed in.
  func isAlreadySignedIn(as email: String?) async throws(Refusal) -> Bool {
    if let current = settings.server, current != client.server { try await refuseToLeave(current) }
    guard case .signedIn(let facts) = await client.restored() else { return false }
    if let email {
      guard let found = try await accountEmail() else { return false }
      guard found.lowercased() == email.lowercased() else {
        throw Refusal(
          .failure, "signed in as \(facts.profile.name) already, with another address",
          hint: "run: handstamp logout, or add --force")
      }
    }
    try remember()
    Terminal.say("signed in as \(facts.profile.name) at \(client.server.text) already")
    return true
  }

  /// The address of the account that is signed in; nothing when its session turns out to be over.
  private func accountEmail() async throws(Refusal) -> String? {
    do throws(Refusal) {
      return try await Caller.session(client).call("GET", "/v1/me", as: WhoAmI.self).email ?? ""
    } catch {
      if error.code == .signInNeeded { return nil }
      throw error
    }
  }

  /// Two servers at once are two homes.
  private func refuseToLeave(_ current: ServerAddress) async throws(Refusal) {
    guard case .value(let entry) = await home.vault(for: current).read(), let session = entry.session else { return }
    throw Refusal(
      .failure, "signed in as \(session.profile.name) at \(current.text) already",
      hint: "run: handstamp logout, or use another HANDSTAMP_HOME")
  }

  func signIn(_ perform: () async throws(SessionError) -> Grant) async throws(Refusal) {
    if let current = settings.server, current != client.server { try await refuseToLeave(current) }
    let facts: SignedIn
    do throws(SessionError) { facts = try await client.controller.signIn(perform) } catch {
      throw Refusal(error, server: client.server)
    }
    try remember()
    Terminal.say("signed in as \(facts.profile.name) at \(client.server.text)")
  }

  private func remember() throws(Refusal) {
    var settings = settings
    settings.move(to: client.server)
    if settings != self.settings { try home.save(settings) }
  }
}

/// `GET /v1/me`.
struct WhoAmI: Decodable, Sendable {
  var id: String
  var name: String
  var email: String?
}
