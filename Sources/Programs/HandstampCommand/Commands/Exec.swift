#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampSupport

struct Exec: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "exec", abstract: "run a program with a valid token in its environment",
    discussion: """
      replaces this process with the program, so that signals and the exit code
      pass straight through; exits 127 if the program is not found, 126 if it
      cannot be run

      the token is only in HANDSTAMP_TOKEN, or in the variables named by --env,
      and is not renewed there; HANDSTAMP_ACCOUNT is set to the account, so that
      a nested handstamp uses the same one

      NAME=id-token-file puts the path of a file into the variable, which only you
      can read and which always has a valid ID token, for programs that read it
      again, such as those of AWS; handstamp then waits for the program, passes
      signals on, exits as it does, and removes the file
      """)

  @Option(
    help: """
      environment variable for the token, NAME=id-token for the ID token of an OpenID Connect sign-in, or \
      NAME=id-token-file for a file with it (repeatable) (default: HANDSTAMP_TOKEN)
      """)
  var env: [String] = []
  @Option(help: "minimum remaining lifetime, e.g. 60s or 5m, or what is left, if the server does not answer")
  var minValidity = Span(.zero)
  @OptionGroup var account: AccountOptions
  @OptionGroup(title: "Programs without users") var machine: MachineOptions
  @Argument(parsing: .postTerminator, help: "program to run and its arguments, after --") var command: [String] = []

  /// Names of variables, by their content.
  private struct Variables {
    var access: [String] = []
    var idToken: [String] = []
    var idTokenFile: [String] = []
  }

  private func variables() throws(CommandError) -> Variables {
    guard command.first?.isEmpty == false else {
      throw CommandError(.usage, "missing program", hint: "run: handstamp exec -- CMD ARGS")
    }
    var found = Variables()
    for text in env.isEmpty ? [EnvironmentToken.name] : env {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let isName = parts[0].utf8.allSatisfy { $0 == 95 || $0.isAlphanumeric }
      guard isName, let first = parts[0].utf8.first, !first.isDigit else {
        throw CommandError(.usage, "invalid variable name", hint: "use letters, digits and _, with a letter or _ first")
      }
      switch parts.dropFirst().first {
      case nil: found.access.append(parts[0])
      case "id-token": found.idToken.append(parts[0])
      case "id-token-file": found.idTokenFile.append(parts[0])
      case .some:
        throw CommandError(
          .usage, "unknown kind of token for \(parts[0])",
          hint: "use --env \(parts[0]), --env \(parts[0])=id-token, or --env \(parts[0])=id-token-file")
      }
    }
    return found
  }

  func perform(in installation: Installation) async throws {
    let variables = try variables()
    let wantsIDToken = !variables.idToken.isEmpty || !variables.idTokenFile.isEmpty
    if let machine = try machine.machine(instead: account) {
      guard !wantsIDToken else {
        throw CommandError(
          .usage, "a program has no ID token: no user has signed in", hint: "omit =id-token and =id-token-file")
      }
      let token = try await machine.token(validFor: minValidity.duration)
      return try await replace(variables.access.reduce(into: [:]) { $0[$1] = token.secret }, in: installation)
    }
    if wantsIDToken { try EnvironmentToken.refuse(to: "id-token") }
    if let given = try await HandedToken.current(account: account.account, lasting: minValidity.duration) {
      return try await replace(variables.access.reduce(into: [:]) { $0[$1] = given.secret }, in: installation)
    }
    let client = try await installation.client(account, isShortLived: variables.idTokenFile.isEmpty)
    guard !variables.idTokenFile.isEmpty else {
      return try await replace(try await values(of: variables, client), in: installation)
    }
    let file = IdentityTokenFile(of: client)
    let outcome: ProgramOutcome
    do {
      // First, because it may refresh the session: then the access token is new as well.
      _ = try await file.renew(minimumValidity: minValidity.duration)
      var values = try await values(of: variables, client)
      for name in variables.idTokenFile { values[name] = Secret(file.path) }
      // From now on the terminal belongs to the program.
      WaitLine.shared.silence()
      let program = try AttendedProgram(Replacement(command: command, variables: values))
      outcome = await file.keepFresh(until: program)
    } catch {
      file.remove()
      throw error
    }
    file.remove()
    _ = await client.controller.waitForRefresh()
    await installation.conclude()
    outcome.repeated()
  }

  private func replace(_ values: [String: Secret], in installation: Installation) async throws {
    // The other program replaces this one, so nothing can be done later.
    await installation.conclude()
    try Replacement(command: command, variables: values).run()
  }

  /// The variables of the program, but for those with the path of a file.
  private func values(
    of variables: Variables, _ client: AccountClient
  ) async throws(CommandError) -> [String: Secret] {
    var values = [EnvironmentAccount.name: Secret(client.account.id.rawValue)]
    // First, because it may refresh the session: then the access token is new as well.
    if !variables.idToken.isEmpty {
      let token = try await client.identityToken(minimumValidity: minValidity.duration)
      for name in variables.idToken { values[name] = token.secret }
    }
    if !variables.access.isEmpty {
      let token = try await client.token(minimumValidity: minValidity.duration)
      for name in variables.access { values[name] = token.secret }
    }
    // The other program may replace this one; anything kept only in memory would be lost.
    guard await client.controller.waitForRefresh() else {
      throw CommandError(
        .vault, "cannot save the new tokens, and running the program now would lose them",
        hint: "free disk space where the vault is, then run the same command again")
    }
    return values
  }
}
#endif
