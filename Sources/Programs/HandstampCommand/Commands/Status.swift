#if Command
import ArgumentParser
import Foundation
import Handstamp
import HandstampCommandLine
import HandstampOAuth

struct Status: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "show who is signed in here",
    discussion: """
      reads what is stored, and does not ask the server; like every command that
      uses a session, it then sends sign-outs that the server does not know of yet

      exits 5 if a stored session cannot be read, else 0; with --check, the exit
      code tells the state: 0 signed in, 4 sign-in needed, 5 vault locked or
      unavailable, 7 the server refuses the client

      --verify also asks the server, and exits 4 if it does not accept the token,
      or if there is none; a third-party OAuth server is asked by its user
      information endpoint if the metadata names one, else by introspection, else
      by a refresh
      """)

  @Flag(help: "report the state in the exit code") var check = false
  @Flag(help: "ask the server whether it accepts the token") var verify = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform(in installation: Installation) async throws {
    var report = try await report(of: installation)
    let isAsked = verify && report.name != nil
    if isAsked { try await self.verify(&report, in: installation) }
    report.show(output)
    if [.corrupt, .unavailable].contains(report.state) { throw ExitCode(ExitReason.vault.rawValue) }
    if isAsked, report.verified == nil {
      throw CommandError(
        .failure, "\(report.server ?? "the server") has no way to verify the session",
        hint: "try the token where it is used: handstamp token")
    }
    if check || verify, report.exitStatus != .ok { throw ExitCode(report.exitStatus.rawValue) }
  }

  private func report(of installation: Installation) async throws(CommandError) -> StatusReport {
    let home = try Home.current()
    let now = SystemClock().now()
    let damages = await HomeCheck.damages(of: home)
    // An unreadable list is a result, too.
    if case .failure(let trouble) = await home.accounts.read() {
      var report = StatusReport(home: home, account: nil, reading: .trouble(trouble), now: now)
      report.explain(damages)
      return report
    }
    let known = try await installation.knownAccounts()
    let (account, folder) = try known.choice(self.account.named)
    let reading = if let account { await home.vault(of: account.id).read() } else { VaultReading.absent }
    var report = StatusReport(
      home: home, account: account, named: self.account.account, reading: reading, now: now)
    report.folder = folder
    let bridges = account.map { account in home.bridges.filter { $0.account == account.id } } ?? []
    if !bridges.isEmpty { report.programs = bridges.map(StatusReport.Program.init) }
    if account == nil, !known.accounts.isEmpty { report.reason = StatusReport.noActiveAccount }
    report.explain(damages)
    return report
  }

  private func verify(_ report: inout StatusReport, in installation: Installation) async throws {
    let caller = try await AuthorizedCaller.current(account, in: installation, minimumAge: .zero)
    do {
      if let foreign = try await caller.foreign() {
        report.verified = try await caller.isAccepted(by: foreign)
      } else {
        _ = try await caller.call("GET", "/v1/me", as: WhoAmI.self, for: "account details")
        report.verified = true
      }
    } catch let refusal where refusal.exit == .signInNeeded {
      report.verified = false
    }
  }
}

/// The output of `status`.
struct StatusReport: Document {
  enum State: String, Encodable {
    case signedIn = "signed_in"
    case signedOut = "signed_out"
    case locked, unavailable, corrupt
  }
  struct Account: Encodable {
    var id: String
    var name: String
  }
  struct Access: Encodable {
    /// `valid`, `over` (expired), or `unknown` if the server gave no lifetime.
    var state: String
    var expiresAt: String?
    var expiresAtEpoch: Int64?
  }

  /// A program that uses the account by `handstamp mcp`.
  struct Program: Encodable {
    /// The program's name, if the system tells it.
    var program: String?
    /// The ID of the bridge's process.
    var process: Int32
    /// The remote server.
    var url: String
    var since: String
    var sinceEpoch: Int64

    init(_ bridge: RunningBridge) {
      (program, process, url) = (bridge.program, bridge.process, bridge.url)
      (since, sinceEpoch) = (bridge.since.description, bridge.since.seconds)
    }
  }

  static let noActiveAccount = "no_active_account"

  var home: String
  /// The place of the vault key, as `handstamp key show` names it; `nil` if that cannot be read.
  var keyStore: String?
  var server: String?
  /// The name of the account on this device.
  var name: String?
  var tag: String?
  /// The folder that the account is set for; `nil` unless the folder chose the account.
  var folder: String?
  var state: State
  /// Why the account is signed out, or why the vault is unavailable.
  var reason: String?
  /// The provider where the session ended, if it did.
  var provider: String?
  var account: Account?
  var session: String?
  var signedInAt: String?
  var signedInAtEpoch: Int64?
  var accessToken: Access?
  /// Whether a new access token is available without signing in.
  var refreshable: Bool?
  /// The protection of a refresh whose response is lost: `rotation_key`, `overlap`, `not_rotated`, `predecessor` or `none`; `unknown` if
  /// the server has not shown it and the user has not said it.
  var repeats: String?
  /// Whether the server can be told of a sign-out.
  var revocable: Bool?
  var pendingEnds = 0
  /// Whether `HANDSTAMP_TOKEN` takes the place of the session's token.
  var environmentToken: Bool
  /// The server's response to refreshes, if it contains no tokens; `nil` if the last refresh succeeded or got no response.
  var refreshFailure: JSONObject?
  /// How the server is reached, if a proxy or a client certificate is set; `nil` otherwise.
  var network: NetworkReport?
  /// Whether the server accepts the session; `nil` unless it was asked.
  var verified: Bool?
  /// The programs that use the account by `handstamp mcp` now; `nil` if there are none.
  var programs: [Program]?

  init(home: Home, account: ListedAccount?, named: String? = nil, reading: VaultReading, now: Moment) {
    self.home = home.path
    let store = try? home.keyStore()
    (keyStore, keyWords) = (store?.name, store?.place)
    server = account?.serverAddress.text
    name = account?.name
    tag = account?.tag
    namedAs = named
    environmentToken = EnvironmentToken.current != nil
    // A record that cannot be read is reported by the first request, and by doctor.
    network = account.flatMap { try? NetworkReport(to: $0.serverAddress, of: $0.id, in: home) }
    if network?.isPlain == true { network = nil }
    switch reading {
    case .absent: state = .signedOut
    case .value(let entry):
      pendingEnds = entry.unrevoked.count
      guard let session = entry.session else {
        state = .signedOut
        let end = entry.tombstones.last?.reason
        (reason, provider) = (end?.rawValue, end?.provider)
        return
      }
      state = .signedIn
      show(session.id, session.profile, session.access, now: now)
      signedInAt = session.startedAt.wall.description
      signedInAtEpoch = session.startedAt.wall.seconds
      refreshable = session.refresh != nil
      revocable = session.revocation != nil
      if session.isOver(at: now) { (state, reason) = (.signedOut, EndReason.expired.rawValue) }
      if let account, session.refresh != nil { repeats = StatusReport.repeats(of: session, account, in: home) }
      if let account, let note = home.refusedRefresh(of: account.id, session: session.id) { show(note, now: now) }
    case .accessOnly(let session):
      state = .locked
      show(session.id, session.profile, session.access, now: now)
    case .trouble(.locked): state = .locked
    case .trouble(.corrupt): state = .corrupt
    case .trouble(let error):
      state = .unavailable
      reason = error.description
    }
  }

  private mutating func show(_ id: SessionID, _ profile: Profile?, _ access: StoredAccess?, now: Moment) {
    account = profile.map { Account(id: $0.id.rawValue, name: $0.name) }
    session = id.rawValue
    guard let access else { return }
    guard let lifetime = access.lifetime else {
      accessToken = Access(state: "unknown")
      return
    }
    let left = lifetime.remaining(at: now)
    let end = now.wall.advanced(by: left)
    accessToken = Access(
      state: left > .zero ? "valid" : "over", expiresAt: left > .zero ? end.description : nil,
      expiresAtEpoch: left > .zero ? end.seconds : nil)
    timeLeft = left
  }

  /// The server's known treatment of a repeated refresh.
  private static func repeats(of session: StoredSession, _ account: ListedAccount, in home: Home) -> String {
    guard let record = try? home.oauth(of: account.id), session.rotationKeys != .accepted else { return "rotation_key" }
    let known = record.reuse ?? record.settings(secret: nil).knownReuse
    switch known ?? (session.isRotated == false ? .notRotated : nil) {
    case .overlap?: return "overlap"
    case .notRotated?: return session.isRotated == true ? "unknown" : "not_rotated"
    case .predecessor?: return "predecessor"
    case .never?: return "none"
    case nil: return "unknown"
    }
  }

  private mutating func show(_ note: RefusedRefresh, now: Moment) {
    // The HTTP status, and the OAuth error code, if there was one.
    refreshFailure = [
      "status": note.status, "error": note.error, "since": note.since.description, "sinceEpoch": note.since.seconds,
      "lastAt": note.last.description, "lastAtEpoch": note.last.seconds,
    ]
    refusal = "the server \(note.words(at: now.wall))"
    isRefused = note.isRefusal
    misconfiguration = note.error.flatMap { RequestError.configurationErrors.contains($0) ? $0 : nil }
  }

  /// For the text output only.
  private var keyWords: String?
  /// For the text output only.
  private var timeLeft: Duration?
  /// For the text output only: ``refreshFailure`` in words.
  private(set) var refusal: String?
  private var isRefused = false
  /// The code by which the server refuses the client rather than the session.
  private var misconfiguration: String?
  private var hint: String?
  /// The value of `--account`, if given.
  private var namedAs: String?

  private enum CodingKeys: String, CodingKey {
    case home, keyStore, server, name, tag, folder, state, reason, provider, account, session, signedInAt,
      signedInAtEpoch, accessToken, refreshable, refreshFailure, repeats, revocable, pendingEnds, environmentToken,
      network, verified, programs
  }

  /// Adds what keeps a session from being read, and the hint that fixes it. A stored session that cannot be read takes
  /// precedence over any other state.
  mutating func explain(_ damages: [Damage]) {
    let hiding = damages.filter(\.hidesSession)
    switch state {
    case .signedIn, .locked: return
    case .signedOut:
      guard let first = hiding.first else { return }
      state = .unavailable
      reason = first.words
    case .corrupt, .unavailable: if let first = hiding.first { reason = first.words }
    }
    let login = "run: handstamp login" + (namedAs.map { " --account \(shellWord($0))" } ?? "")
    hint = hiding.hint ?? damages.hint ?? (state == .corrupt ? login : "run: handstamp doctor")
  }

  var exitStatus: ExitReason {
    if let verified { return verified ? .ok : .signInNeeded }
    switch state {
    case .signedIn:
      if isRefused, accessToken?.state != "valid" { return misconfiguration != nil ? .configuration : .signInNeeded }
      return accessToken?.state == "over" && refreshable == false ? .signInNeeded : .ok
    case .signedOut: return environmentToken ? .ok : .signInNeeded
    case .locked, .unavailable, .corrupt: return .vault
    }
  }

  /// Prints the report as text or as JSON.
  func show(_ output: OutputOptions) {
    if output.json { writeLine() } else { for line in lines { Terminal.out(line) } }
    if let misconfiguration {
      let hint = CommandError.clientHint(misconfiguration, at: server ?? "the server")
      Terminal.say("hint: \(hint), then run the command again")
    } else if refusal != nil {
      Terminal.say("hint: run: handstamp login" + (namedAs.map { " --account \(shellWord($0))" } ?? ""))
    }
    if let hint { Terminal.say("hint: \(hint)") }
    if pendingEnds > 0 { Terminal.say("\(pendingEnds) sign-out(s) not yet sent to the server") }
  }

  /// Why the session ended, unless by a sign-out, which the state says.
  private var endWords: String? {
    guard let end = reason.flatMap({ EndReason(rawValue: $0) }), end != .signedOut else { return nil }
    return end.at(provider).words
  }

  /// The state in words, for a table column.
  var stateWords: String {
    switch state {
    case .signedIn: refusal == nil ? "signed in" : "signed in, refresh refused"
    case .signedOut: "signed out" + (endWords.map { ": \($0)" } ?? "")
    case .locked: "locked"
    case .corrupt: "vault damaged"
    case .unavailable: "vault unavailable"
    }
  }

  private static let words = [
    "rotation_key": "cost nothing: refreshes carry a rotation key",
    "overlap": "cost nothing within the server's overlap",
    "not_rotated": "cost nothing: the server does not replace refresh tokens",
    "predecessor": "cost nothing: the server accepts the previous refresh token",
    "none": "end the session: the server accepts no repeat",
    "unknown": "may end the session; if the server has an overlap, set it with: handstamp login --overlap SECONDS",
  ]

  /// The text output.
  private var lines: [String] {
    var rows: [[String]] = []
    switch state {
    case .signedIn: rows.append(["signed in", account?.name ?? ""])
    case .signedOut:
      rows.append([
        "signed out",
        endWords ?? (reason == StatusReport.noActiveAccount ? "no account is active" : "not signed in"),
      ])
    case .locked: rows.append(["locked", "unlock the vault to use the session"])
    case .corrupt:
      rows.append([
        "vault damaged", "cannot read a session stored here: \(plain(reason ?? "it is damaged"))",
      ])
    case .unavailable:
      rows.append(["vault unavailable", "cannot read a session stored here: \(plain(reason ?? ""))"])
    }
    if let name { rows.append(["account", tag.map { "\(name) (\($0))" } ?? name]) }
    if let folder { rows.append(["set for", folder]) }
    if let server { rows.append(["server", server]) }
    if let network { rows.append(["reached", network.words]) }
    if let session { rows.append(["session", session]) }
    if let signedInAt { rows.append(["since", signedInAt]) }
    if let accessToken {
      let words =
        switch accessToken.state {
        case "valid": "valid for \(timeLeft?.words ?? "a while")"
        case "over": refreshable == true && refusal == nil ? "expired, refreshed at the next use" : "expired"
        default: "unknown lifetime"
        }
      rows.append(["access token", words])
    }
    if let refusal { rows.append(["refresh", refusal]) }
    if let repeats { rows.append(["lost responses", StatusReport.words[repeats] ?? repeats]) }
    if revocable == false {
      let end = refreshable == true ? "it expires" : accessToken?.expiresAt ?? "it expires"
      rows.append(["a sign-out", "cannot be told to the server, where the session stays valid until \(end)"])
    }
    if let verified { rows.append(["the server", verified ? "accepts it" : "does not accept it"]) }
    if environmentToken { rows.append(["note", "HANDSTAMP_TOKEN is set, and its token is used instead"]) }
    for program in programs ?? [] {
      rows.append(["used by", "\(program.program ?? "a program"), for \(program.url), since \(program.since)"])
    }
    if AgentClient.isSet { rows.append(["note", "HANDSTAMP_AGENT is set, and its agent's tokens are used instead"]) }
    if let keyWords { rows.append(["vault key", keyWords]) }
    rows.append(["home", home])
    return Table(rows: rows).lines
  }
}
#endif
