#if Programs
import ArgumentParser
import Handstamp
import HandstampCore

/// `handstamp signup`.
struct Signup: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "makes an account, signs in and makes it the active one")

  @Argument(help: "the email address") var email: String?
  @Option(help: "what others see (default: what stands before the @)") var name: String?
  @Option(help: "how this device is listed (default: the host's name)") var deviceName: String?
  @OptionGroup var list: ListingOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var manner: Manner

  func perform() async throws {
    try EnvironmentToken.refuse(to: "signup")
    let tag = try list.tag()
    let attempt = try await SignInAttempt(server: server, account: nil, deviceName: deviceName)
    let email = try email ?? Terminal.line("email", hint: "name it: handstamp signup EMAIL")
    let password = try Terminal.secret("password", twice: true)
    let name = name ?? String(email.prefix { $0 != "@" })
    let outcome: SignUpOutcome
    do throws(SessionError) {
      outcome = try await WaitLine.shared.during(attempt.server.text) { () async throws(SessionError) in
        try await attempt.identity.signUp(email: email, password: password, username: name)
      }
    } catch {
      throw Refusal(error, server: attempt.server)
    }
    switch outcome {
    case .signedIn(let grant):
      try await attempt.signIn(name: email, tag: tag, activate: list.activates) { grant }
    case .confirmationSent:
      Terminal.say("a mail is on its way to \(email), if it can have an account: open its link")
      Terminal.say("then run: handstamp login \(email) --server \(attempt.server.text)")
    }
  }
}
#endif
