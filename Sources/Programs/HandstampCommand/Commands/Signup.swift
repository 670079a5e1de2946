#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine

struct Signup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "signup", abstract: "create an account, sign in, and make it the active one",
    discussion: """
      --json prints the status of the account, which is signed out, with the
      reason confirmation_sent, until the address is confirmed
      """)

  @Argument(help: "email address") var email: String?
  @Option(help: "display name (default: the part before the @)") var name: String?
  @Option(help: "name of this device in the list of sessions (default: host name)") var deviceName: String?
  @OptionGroup var network: NetworkOptions
  @OptionGroup var list: ListingOptions
  @OptionGroup var output: OutputOptions
  @OptionGroup var server: ServerOptions
  @OptionGroup var quietOption: QuietOption

  func perform(in installation: Installation) async throws {
    try EnvironmentToken.refuse(to: "signup")
    let attempt = try await SignInAttempt(
      server: server, account: nil, deviceName: deviceName, network: network, output: output, tag: list.tag(),
      activates: list.activates)
    let email = try email ?? Terminal.line("email", hint: "run: handstamp signup EMAIL")
    let password = try Terminal.secret("password", twice: true)
    let name = name ?? String(email.prefix { $0 != "@" })
    let claim = SignInClaim(.signUp, as: email)
    let outcome = try await attempt.server.waiting { () async throws(SessionError) in
      try await attempt.identity.signUp(email: email, password: password, username: name)
    }
    switch outcome {
    case .signedIn(let grant):
      try await attempt.signIn(by: claim, name: email) { () async throws(CommandError) in grant }
    case .confirmationSent:
      Terminal.say("check your mail at \(email)")
      guard Terminal.isInteractive else {
        Terminal.say("open the link in it, then run: handstamp login \(email) --server \(attempt.server.text)")
        if output.json { StatusReport(confirmationSentBy: attempt.server, home: attempt.home).writeLine() }
        return
      }
      let code = Secret(
        try Terminal.line(
          "code in the mail", hint: "run: handstamp login \(email), if you have an account or opened the mail's link"))
      try await attempt.signIn(by: claim, name: email) { () async throws(CommandError) in
        try await attempt.server.waiting { () async throws(SessionError) in
          try await attempt.identity.confirmSignUp(code, password: password)
        }
      }
    }
  }
}

extension StatusReport {
  /// A sign-up that goes on with the link in a mail.
  fileprivate init(confirmationSentBy server: ServerAddress, home: Home) {
    self.init(home: home, account: nil, reading: .absent, now: SystemClock().now())
    self.server = server.text
    reason = "confirmation_sent"
  }
}
#endif
