#if Command
import ArgumentParser
import Handstamp
import HandstampCore

/// `handstamp signup`.
struct Signup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "signup", abstract: "create an account, sign in, and make it the active one")

  @Argument(help: "email address") var email: String?
  @Option(help: "display name (default: the part before the @)") var name: String?
  @Option(help: "name of this device in the list of sessions (default: host name)") var deviceName: String?
  @OptionGroup var list: ListingOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var quietOption: QuietOption

  func perform() async throws {
    try EnvironmentToken.refuse(to: "signup")
    let tag = try list.tag()
    let attempt = try await SignInAttempt(server: server, account: nil, deviceName: deviceName)
    let email = try email ?? Terminal.line("email", hint: "run: handstamp signup EMAIL")
    let password = try Terminal.secret("password", twice: true)
    let name = name ?? String(email.prefix { $0 != "@" })
    let outcome: SignUpResponse
    do throws(SessionError) {
      outcome = try await WaitLine.shared.during(attempt.server.text) { () async throws(SessionError) in
        try await attempt.identity.signUp(email: email, password: password, username: name)
      }
    } catch {
      throw CommandError(error, server: attempt.server)
    }
    switch outcome {
    case .signedIn(let grant):
      try await attempt.signIn(name: email, tag: tag, activate: list.activates) { () async throws(CommandError) in grant
      }
    case .confirmationSent:
      Terminal.say("check your mail at \(email)")
      guard Terminal.isInteractive else {
        Terminal.say("open the link in it, then run: handstamp login \(email) --server \(attempt.server.text)")
        return
      }
      let code = Secret(
        try Terminal.line(
          "code in the mail", hint: "run: handstamp login \(email), if you have an account or opened the mail's link"))
      try await attempt.signIn(name: email, tag: tag, activate: list.activates) { () async throws(CommandError) in
        try await attempt.response { () async throws(SessionError) in
          try await attempt.identity.confirmSignUp(code, password: password)
        }
      }
    }
  }
}
#endif
