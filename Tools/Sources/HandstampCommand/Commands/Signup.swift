import ArgumentParser
import Handstamp
import HandstampCore

/// `handstamp signup`.
struct Signup: SessionCommand {
  static let configuration = CommandConfiguration(abstract: "makes an account and signs in")

  @Argument(help: "the email address") var email: String?
  @Option(help: "what others see (default: what stands before the @)") var name: String?
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @OptionGroup var server: ServerOptions

  func perform() async throws {
    try EnvironmentToken.refuse(to: "signup")
    let attempt = try SignInAttempt(server: server, deviceName: deviceName)
    if case .signedIn(let facts) = await attempt.client.restored() {
      throw Refusal(.failure, "signed in as \(facts.profile.name) already", hint: "run: handstamp logout")
    }
    let email = try email ?? Terminal.line("email", hint: "name it: handstamp signup EMAIL")
    let password = try Terminal.secret("password", twice: true)
    let name = name ?? String(email.prefix { $0 != "@" })
    let identity = attempt.client.identity
    try await attempt.signIn { () async throws(SessionError) -> Grant in
      try await identity.signUp(email: email, password: password, username: name).grant
    }
  }
}
