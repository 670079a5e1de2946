#if Programs
import Foundation
import Handstamp
import HandstampAsyncHTTP
import HandstampCore
import HandstampVaults

/// What is known of the accounts and their servers.
extension Examination {
  mutating func accounts() async {
    let book: AccountBook
    do throws(Refusal) { book = try await AccountBook(of: home) } catch {
      if damages.isEmpty { add(.problem("accounts", error.message, hint: error.hint)) }
      return
    }
    let unusable = await home.index.read().map { $0.accounts.count { Account($0) == nil } }
    if case .success(let count) = unusable, count > 0 {
      add(.problem("accounts", "\(count) on the list have no usable server", hint: "put accounts.json right"))
    }
    switch (book.accounts.count, book.activeAccount) {
    case (0, _): add(.note("accounts", "there are none", hint: "run: handstamp login"))
    case (let count, nil): add(.note("accounts", "\(count), none of them active", hint: "run: handstamp switch NAME"))
    case (let count, let active?): add(.ok("accounts", "\(count), the active one is \(active.words)"))
    }
    for rule in FolderRules(of: home).all where book[rule.account] == nil {
      add(.problem("folders", rule.gone.message, hint: rule.gone.hint))
    }
    for account in book.accounts { await examine(account, handle: account.handle(among: book.accounts)) }
    let waiting = Departures(of: home).all.count + book.former.count
    if waiting > 0 {
      add(.note("sign_outs", "\(waiting) account(s) that were erased may still have to be told of"))
    }
    // A server of which all accounts are signed in to by OAuth is asked for its metadata alone: it may be any kind.
    var servers: [(ServerAddress, OAuthRecord?)] = []
    for account in book.accounts {
      let record = try? home.oauth(of: account.id)
      if let index = servers.firstIndex(where: { $0.0 == account.server }) {
        if record == nil { servers[index].1 = nil }
      } else {
        servers.append((account.server, record))
      }
    }
    for finding in await Examination.reach(servers) { add(finding) }
  }

  /// - Parameter handle: names it on a command line.
  private mutating func examine(_ account: Account, handle: String) async {
    let name = account.name
    let now = SystemClock().now()
    switch await home.vault(of: account.id).read() {
    case .absent: add(.ok("vault", "nobody is signed in", account: name))
    case .trouble(let trouble):
      let refusal = Refusal(trouble)
      let login = "run: handstamp login --account \(shellWord(handle))"
      add(
        .problem(
          "vault", refusal.message, account: name,
          hint: trouble == .corrupt ? login : refusal.concernsHome ? damages.hint ?? refusal.hint : refusal.hint))
    case .accessOnly: add(.note("vault", "locked", account: name, hint: "unlock it"))
    case .value(let entry):
      if let session = entry.session {
        examine(session, of: name, now)
        if let note = home.refusedRefresh(of: account.id, session: session.id) {
          let words = "\(account.server.text) \(note.words(at: now.wall))"
          add(.problem("refresh", words, account: name, hint: "run: handstamp login --account \(shellWord(handle))"))
        }
      }
      let undelivered = entry.tombstones.count { $0.revocation != nil }
      if undelivered > 0 {
        add(
          .note(
            "sign_outs", "\(undelivered) of which the server has not heard", account: name,
            hint: "the next command that reaches it tells it"))
      }
      for tombstone in entry.tombstones {
        let whose = tombstone.account.map { ", account \($0)" } ?? ""
        let left = tombstone.steps.isEmpty ? "" : ", \(tombstone.steps.count) clean-up step(s) to be done"
        add(
          .note(
            "ended",
            "session \(tombstone.session)\(whose) at \(tombstone.endedAt.wall): \(tombstone.reason.words)\(left)",
            account: name))
      }
    }
  }

  private mutating func examine(_ session: StoredSession, of name: String, _ now: Moment) {
    var words = "signed in since \(session.startedAt.wall)"
    if let lifetime = session.access?.lifetime {
      let left = lifetime.remaining(at: now)
      let refresh = left - RefreshPolicy().margin(forLife: lifetime.duration)
      words += left > .zero ? ", token good for \(left.words)" : ", token over"
      words += refresh > .zero ? ", a long-lived program refreshes in \(refresh.words)" : ", refreshed at the next use"
    }
    add(.ok("vault", words, account: name))
    if session.refresh == nil {
      add(.note("vault", "there is no refresh token", account: name, hint: "run: handstamp login when it is over"))
    }
    if session.pendingKey != nil {
      add(
        .note(
          "pending_key", "1 refresh has begun and its answer has not been stored", account: name,
          hint: "the next use sends the same pair again"))
    }
    if now.wall < session.startedAt.wall {
      add(
        .note(
          "clock", "this device's clock is before the sign-in", account: name, hint: "set the clock of this device"))
    }
  }

  /// All at once: one that hangs must not hide the others.
  private static func reach(_ servers: [(ServerAddress, OAuthRecord?)]) async -> [Finding] {
    await withTaskGroup(of: (Int, [Finding]).self) { group in
      for (number, (server, record)) in servers.enumerated() {
        group.addTask {
          if let record { return (number, await OAuthExamination(server: server, record: record).findings()) }
          return (number, await reach(server))
        }
      }
      return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }
  }

  private static func reach(_ server: ServerAddress) async -> [Finding] {
    let clock = SystemClock()
    let begin = clock.now()
    let answer: TransportResponse
    do throws(TransportError) {
      answer = try await WaitLine.shared.during(server.text) { () async throws(TransportError) in
        try await AsyncHTTPTransport.shared.send(
          TransportRequest(method: "GET", url: server.text + "/health", timeout: .seconds(5)))
      }
    } catch {
      let refusal = Refusal(APIError.unreachable(error), server: server)
      return [.problem("server", refusal.message, hint: refusal.hint)]
    }
    let end = clock.now()
    let time = end.uptime - begin.uptime
    var findings: [Finding] = []
    if answer.status == 200 {
      let release = answer.header("Server").map { ", \(plain($0))" } ?? ""
      findings.append(.ok("server", "\(server.text) answers in \(time.words)\(release)"))
    } else {
      findings.append(
        .problem("server", "\(server.text) is not well: status \(answer.status)", hint: "ask whoever runs it"))
    }
    return findings + [clockFinding(answer.header("Date"), server, begin: begin.wall, time: time)]
  }

  /// - Parameters:
  ///   - date: the server's, as it writes it.
  ///   - begin: when it was asked.
  ///   - time: how long it took to answer.
  static func clockFinding(
    _ date: String?, _ server: ServerAddress, begin: UnixTime, time: Duration
  ) -> Finding {
    guard let date = date.flatMap(HTTPDate.init) else {
      return .note("clock", "\(server.text) does not tell its time")
    }
    // The date has whole seconds, and was written somewhere between the question and the answer.
    let skew = begin.advanced(by: time / 2).since(date.time.advanced(by: .milliseconds(500)))
    return clockFinding(skew, server, precision: time / 2 + .milliseconds(500))
  }

  /// Tokens are measured from their receipt, so a wrong clock ends none; certificates, limits and logs go by it.
  static func clockFinding(_ skew: Duration, _ server: ServerAddress, precision: Duration) -> Finding {
    let size = skew < .zero ? .zero - skew : skew
    guard size > precision + .seconds(1) else {
      return .ok("clock", "as that of \(server.text), within \(precision.words)")
    }
    let words = "this device is \(size.words) \(skew > .zero ? "ahead of" : "behind") \(server.text)"
    let hint =
      "set the clock of this device, or of the server; tokens are not measured by it, certificates and limits are"
    return size >= .seconds(60) ? .problem("clock", words, hint: hint) : .note("clock", words, hint: hint)
  }
}

/// A point of time as HTTP writes it (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
struct HTTPDate: Sendable, Hashable {
  var time: UnixTime

  init?(_ text: String) {
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.timeZone = TimeZone(identifier: "GMT")
    format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    guard let date = format.date(from: text) else { return nil }
    time = UnixTime(seconds: Int64(date.timeIntervalSince1970))
  }
}
#endif
