#if Programs
import ArgumentParser
import Foundation
import Handstamp
import HandstampCore
import HandstampVaults

/// `handstamp status`.
struct Status: SessionCommand {
  static let configuration = CommandConfiguration(
    abstract: "tells who is signed in, without asking the server",
    discussion: """
      exits 5 where a session is stored that cannot be read, else 0; with --check as the state says: 0 signed in, 4 sign-in
      needed, 5 vault locked or not usable; --verify asks the server as well
      """)

  @Flag(help: "tell the state by the exit code") var check = false
  @Flag(help: "ask the server whether it accepts the session") var verify = false
  @OptionGroup var output: OutputOptions
  @OptionGroup var account: AccountOptions

  func perform() async throws {
    var report = try await report(of: try Home.current())
    let isAsked = verify && report.name != nil
    if isAsked { try await self.verify(&report) }
    report.show(output)
    if case .corrupt = report.state { throw ExitCode(ExitReason.vault.rawValue) }
    if case .unavailable = report.state { throw ExitCode(ExitReason.vault.rawValue) }
    if isAsked, report.verified == nil {
      throw Refusal(
        .failure, "\(report.server ?? "the server") offers no way to find out whether it accepts the session",
        hint: "use the token where it is meant for: handstamp token")
    }
    if check, report.exitStatus != .ok { throw ExitCode(report.exitStatus.rawValue) }
  }

  private func report(of home: Home) async throws(Refusal) -> StatusReport {
    let now = SystemClock().now()
    let damages = await HomeCheck.damages(of: home)
    // What keeps the list from being read is an answer as well.
    if case .failure(let trouble) = await home.index.read() {
      var report = StatusReport(home: home, account: nil, reading: .trouble(trouble), now: now)
      report.explain(damages)
      return report
    }
    let book = try await AccountBook(of: home)
    let rule = account.named == nil ? try FolderRules(of: home).current() : nil
    let account = account.named == nil ? try book.usual(by: rule) : try account.chosen(book)
    let reading = if let account { await home.vault(of: account.id).read() } else { VaultReading.absent }
    var report = StatusReport(home: home, account: account, reading: reading, now: now)
    report.folder = rule?.folder
    if account == nil, !book.accounts.isEmpty { report.reason = StatusReport.noActiveAccount }
    report.explain(damages)
    return report
  }

  private func verify(_ report: inout StatusReport) async throws {
    let caller = try await Caller.current(account, minimumAge: .zero)
    do {
      if let foreign = try await caller.foreign() {
        report.verified = try await caller.isAccepted(by: foreign)
      } else {
        _ = try await caller.call("GET", "/v1/me", as: WhoAmI.self, for: "account")
        report.verified = true
      }
    } catch let refusal where refusal.code == .signInNeeded {
      report.verified = false
    }
  }
}

/// What `status` found out.
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
    /// `valid`, `over`, or `unknown` when the server did not say how long it is good.
    var state: String
    var expiresAt: String?
    var expiresAtEpoch: Int64?
  }

  struct RefreshFailure: Encodable {
    /// The HTTP status.
    var status: Int
    /// The OAuth error code; `nil`: there was none.
    var error: String?
    var since: String
    var sinceEpoch: Int64
    var lastAt: String
    var lastAtEpoch: Int64
  }

  static let noActiveAccount = "no_active_account"

  var schemaVersion = 1
  var home: String
  var server: String?
  /// What the account is called on this device.
  var name: String?
  var tag: String?
  /// The folder that the account is set for; nothing where it is not the folder that chose it.
  var folder: String?
  var state: State
  /// Why nobody is signed in, or why the vault cannot be used.
  var reason: String?
  var account: Account?
  var session: String?
  var signedInAt: String?
  var signedInAtEpoch: Int64?
  var accessToken: Access?
  /// Whether a new access token can be had without signing in.
  var refreshable: Bool?
  var pendingEnds = 0
  /// Whether `HANDSTAMP_TOKEN` takes the place of the session's token.
  var environmentToken: Bool
  /// The server's answer to refreshes, where it brings no tokens; `nil`: the last refresh brought some, or was not answered.
  var refreshFailure: RefreshFailure?
  /// What the server says; nothing unless it was asked.
  var verified: Bool?

  init(home: Home, account: HandstampCommand.Account?, reading: VaultReading, now: Moment) {
    self.home = home.path
    server = account?.server.text
    name = account?.name
    tag = account?.tag
    namedAs = account?.namedAs
    environmentToken = EnvironmentToken.current != nil
    switch reading {
    case .absent: state = .signedOut
    case .value(let entry):
      pendingEnds = entry.tombstones.count { $0.revocation != nil }
      guard let session = entry.session else {
        state = .signedOut
        reason = entry.tombstones.last?.reason.rawValue
        return
      }
      state = .signedIn
      show(session.id, session.profile, session.access, now: now)
      signedInAt = session.startedAt.wall.description
      signedInAtEpoch = session.startedAt.wall.seconds
      refreshable = session.refresh != nil
      if let account, let note = home.refusedRefresh(of: account.id, session: session.id) { show(note, now: now) }
    case .accessOnly(let id, let profile, let access):
      state = .locked
      show(id, profile, access, now: now)
    case .trouble(.locked): state = .locked
    case .trouble(.corrupt): state = .corrupt
    case .trouble(.unavailable(let why)):
      state = .unavailable
      reason = why
    }
  }

  private mutating func show(_ id: SessionID, _ profile: Profile, _ access: StoredAccess?, now: Moment) {
    account = Account(id: profile.id.rawValue, name: profile.name)
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

  private mutating func show(_ note: RefusedRefresh, now: Moment) {
    refreshFailure = RefreshFailure(
      status: note.status, error: note.error, since: note.since.description, sinceEpoch: note.since.seconds,
      lastAt: note.last.description, lastAtEpoch: note.last.seconds)
    refusal = "the server \(note.words(at: now.wall))"
    isRefused = note.isRefusal
  }

  /// For people alone.
  private var timeLeft: Duration?
  /// For people alone: what ``refreshFailure`` says.
  private(set) var refusal: String?
  private var isRefused = false
  private var hint: String?
  /// What was written after `--account`; `nil`: nothing.
  private var namedAs: String?

  private enum CodingKeys: String, CodingKey {
    case schemaVersion, home, server, name, tag, folder, state, reason, account, session, signedInAt, signedInAtEpoch,
      accessToken,
      refreshable, refreshFailure, pendingEnds, environmentToken, verified
  }

  /// With what keeps a session from being read, and the way out of it. Where one is stored that cannot be read, nothing else is
  /// said than that.
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
    switch state {
    case .signedIn:
      if verified == false { return .signInNeeded }
      if isRefused, accessToken?.state != "valid" { return .signInNeeded }
      return accessToken?.state == "over" && refreshable == false ? .signInNeeded : .ok
    case .signedOut: return environmentToken && verified != false ? .ok : .signInNeeded
    case .locked, .unavailable, .corrupt: return .vault
    }
  }

  /// Prints it, for people or for programs.
  func show(_ output: OutputOptions) {
    if output.json { print() } else { for line in lines { Terminal.out(line) } }
    if refusal != nil {
      Terminal.say("hint: run: handstamp login" + (namedAs.map { " --account \(shellWord($0))" } ?? ""))
    }
    if let hint { Terminal.say("hint: \(hint)") }
    if pendingEnds > 0 { Terminal.say("\(pendingEnds) ended session(s) of which the server has not heard yet") }
  }

  private var endWords: String? { reason.flatMap { EndReason(rawValue: $0) }?.words }

  /// For people, in a column.
  var stateWords: String {
    switch state {
    case .signedIn: refusal == nil ? "signed in" : "signed in, refresh refused"
    case .signedOut: "signed out" + (endWords.map { ": \($0)" } ?? "")
    case .locked: "locked"
    case .corrupt: "vault damaged"
    case .unavailable: "vault not usable"
    }
  }

  /// For people.
  private var lines: [String] {
    var rows: [[String]] = []
    switch state {
    case .signedIn: rows.append(["signed in", account?.name ?? ""])
    case .signedOut:
      rows.append([
        "signed out",
        endWords ?? (reason == StatusReport.noActiveAccount ? "no account is active" : "nobody is signed in"),
      ])
    case .locked: rows.append(["locked", "the vault must be unlocked"])
    case .corrupt:
      rows.append([
        "vault damaged", "a session is stored here that cannot be read: \(plain(reason ?? "it is damaged"))",
      ])
    case .unavailable:
      rows.append(["vault not usable", "a session is stored here that cannot be read: \(plain(reason ?? ""))"])
    }
    if let name { rows.append(["account", tag.map { "\(name) (\($0))" } ?? name]) }
    if let folder { rows.append(["set for", folder]) }
    if let server { rows.append(["server", server]) }
    if let session { rows.append(["session", session]) }
    if let signedInAt { rows.append(["since", signedInAt]) }
    if let accessToken {
      let words =
        switch accessToken.state {
        case "valid": "good for \(timeLeft?.words ?? "a while")"
        case "over": refreshable == true && refusal == nil ? "over, the next use gets a new one" : "over"
        default: "of unknown life"
        }
      rows.append(["access token", words])
    }
    if let refusal { rows.append(["refresh", refusal]) }
    if let verified { rows.append(["the server", verified ? "accepts it" : "does not accept it"]) }
    if environmentToken { rows.append(["note", "HANDSTAMP_TOKEN is set and used instead"]) }
    rows.append(["home", home])
    return Table(rows: rows).lines
  }
}
#endif
