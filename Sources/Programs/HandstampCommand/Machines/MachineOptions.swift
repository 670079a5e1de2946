#if Command
import ArgumentParser
import HandstampCommandLine
import HandstampCore
import HandstampOAuth

/// `--client-credentials` and `--ci`: a token of the program itself instead of an account's. It is kept for this command alone: a next one
/// gets its own.
struct MachineOptions: ParsableArguments {
  @Flag(help: "use a token of a client itself, without a user; needs --issuer and --client-id")
  var clientCredentials = false
  @Option(help: ArgumentHelp("the same, for the ID token of a CI's job", valueName: "github or gitlab"))
  var ci: CIProvider?
  @Option(help: "issuer of the server, as in its metadata") var issuer: String?
  @Option(name: .customLong("client-id"), parsing: .unconditional, help: "ID of the client") var clientID: String?
  @Option(help: ArgumentHelp("file with the client's secret in its first line", valueName: "file"))
  var clientSecretFile: String?
  @Option(help: ArgumentHelp("file with the client's private key for P-256, in PEM", valueName: "file"))
  var clientKeyFile: String?
  @Option(name: .customLong("client-key-id"), help: "ID of that key, if the server wants it") var clientKeyID: String?
  @Option(help: "audience of the job's ID token (default: the client ID)") var ciAudience: String?

  /// Whether the command is for a program itself.
  var isUsed: Bool { clientCredentials || ci != nil }

  /// Refuses options that would have no effect.
  private func checkUse() throws(CommandError) {
    let given: [(String, Bool)] = [
      ("--issuer", issuer != nil), ("--client-id", clientID != nil), ("--client-secret-file", clientSecretFile != nil),
      ("--client-key-file", clientKeyFile != nil), ("--client-key-id", clientKeyID != nil),
      ("--ci-audience", ciAudience != nil),
    ]
    if !isUsed, let name = given.first(where: \.1)?.0 {
      throw CommandError(
        .usage, "\(name) is for a token without a user", hint: "add --client-credentials, or --ci github")
    }
  }

  /// Returns the program; `nil` unless the command is for one.
  ///
  /// - Parameters:
  ///   - account: must name none.
  ///   - target: less than the client may have, or one of its APIs.
  func machine(
    instead account: AccountOptions, for target: TokenTarget? = nil
  ) throws(CommandError) -> Machine? {
    try checkUse()
    guard isUsed else { return nil }
    let verb = ci == nil ? "--client-credentials" : "--ci"
    try EnvironmentToken.refuse(to: verb)
    guard account.account == nil else {
      throw CommandError(.usage, "\(verb) is for no account", hint: "omit --account")
    }
    guard !clientCredentials || ci == nil else {
      throw CommandError(.usage, "--client-credentials and --ci cannot be combined", hint: "keep one of them")
    }
    guard let issuer, let clientID, !clientID.isEmpty else {
      throw CommandError(
        .usage, "\(verb) needs --issuer and --client-id",
        hint:
          "run: handstamp token \(verb)\(ci.map { " \($0.rawValue)" } ?? "") --issuer https://id.example.org --client-id ID"
      )
    }
    let server = try ServerAddress(parsing: issuer)
    var client = OAuthClient(
      issuer: issuer, id: clientID, scopes: target?.scopes ?? [], resources: target?.resource.map { [$0] } ?? [])
    client.parameters = target?.audience.map { ["audience": $0] } ?? [:]
    try authenticate(&client, verb)
    let grant = ci.map {
      MachineClient.Grant.assertion(IDTokenSource(provider: $0, audience: ciAudience ?? clientID).token)
    }
    return Machine(
      client: MachineClient(client, grant: grant ?? .clientCredentials, transport: CommandTransport.shared),
      server: server)
  }

  private func authenticate(_ client: inout OAuthClient, _ verb: String) throws(CommandError) {
    guard clientSecretFile == nil || clientKeyFile == nil else {
      throw CommandError(
        .usage, "--client-secret-file and --client-key-file cannot be combined",
        hint: "keep the one that the server knows")
    }
    guard ci != nil || clientSecretFile != nil || clientKeyFile != nil else {
      throw CommandError(
        .usage, "\(verb) needs the client's secret or key",
        hint: "add --client-secret-file FILE, or --client-key-file FILE")
    }
    if let clientSecretFile {
      client.secret = try SecretFile.firstLine(of: clientSecretFile, for: "--client-secret-file", code: .failure)
    }
    if let clientKeyFile {
      let pem = try SecretFile.content(of: clientKeyFile, for: "--client-key-file", code: .failure)
      do throws(SessionError) { client.key = try ClientKey(pem: pem, id: clientKeyID) } catch {
        throw CommandError(
          .failure, "--client-key-file: \(clientKeyFile) is not a private key for P-256 in PEM",
          hint: "make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out client.pem")
      }
    }
  }
}
#endif
