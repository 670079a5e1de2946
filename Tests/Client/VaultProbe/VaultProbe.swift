#if Exploration
import Foundation
import Handstamp
import HandstampKeys
import HandstampSupport
import HandstampTesting

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// `VaultProbe <folder> <command> [<argument> …]`: uses one vault in one process, for tests that start many and kill some.
/// It prints one line per result; an error is its code without `storage_`, and its text.
///
/// - `read` · `begin <session>` · `prepare <session> <byte>` · `signout`
/// - `attempt <session> [<generation>]` · `advance <session>`: the writes before and after a refresh that cannot be repeated
/// - `lines`: runs the commands that it reads from its input, one per line
/// - `touch <session> <count>`: that many edits in a row; prints only the last result
/// - `hold`: acquires the refresh lock, prints `held`, and holds it until its input ends
/// - `lock [child]`: locks an attempt, prints `locked <device> <number>`, and holds that until its input ends; with `child`, it
///   has started a program by then, which ends with the same input
/// - `audit <count> <outcome>`: writes that many entries to the audit log, limited to 32 KiB; prints the log's last number
/// - `set <passphrase>` · `change <passphrase> <passphrase>`: seals the vaults' key
/// - `open <passphrase>`: unlocks and reads a vault sealed that way
/// - `move <place>`: moves the key to `file` or `passphrase`
/// - `trail`: checks the audit log against the vault
/// - `time <count>`: prints the microseconds that a read and an edit take
///
/// With `VAULT_PROBE_KILL=<step>` in its environment, it kills itself with SIGKILL at that step of its first write. With
/// `VAULT_PROBE_STOP=<step>`, it stops itself there until it is continued.
@main struct VaultProbe {
  static func main() async {
    let arguments = CommandLine.arguments
    guard arguments.count >= 3 else { exit(64) }
    let environment = ProcessInfo.processInfo.environment
    let (killing, stopping) = (environment["VAULT_PROBE_KILL"], environment["VAULT_PROBE_STOP"])
    var vault = SealedFileVault(folder: arguments[1], account: AccountID("ada"), patience: .seconds(300))
    vault.reached = { reached in
      if reached.rawValue == killing { kill(getpid(), SIGKILL) }
      // To this thread: a signal to the process may stop it through another one, while this one goes on for a moment.
      if reached.rawValue == stopping { raise(SIGSTOP) }
    }
    let command = VaultProbe(vault: vault, arguments: Array(arguments[3...]))
    guard await command.run(arguments[2]) else { exit(64) }
  }

  private func runLines() async {
    while let words = readLine()?.split(separator: " ").map(String.init), let name = words.first {
      guard await VaultProbe(vault: vault, arguments: Array(words.dropFirst())).run(name) else { exit(64) }
    }
  }

  let vault: SealedFileVault
  let arguments: [String]

  private func run(_ command: String) async -> Bool {
    switch command {
    case "read": say(text(await vault.read()))
    case "begin": await edit(.begin(VaultSamples.session(arguments.first ?? "s1")))
    case "signout": await edit(.signOut(.signedOut, at: VaultSamples.moment(9)))
    case "prepare":
      guard arguments.count == 2, let byte = UInt8(arguments[1]), let key = VaultSamples.key(byte) else { return false }
      await edit(.prepare(SessionID(arguments[0]), holding: RefreshToken("\(arguments[0])-refresh-0"), key: key))
    case "attempt":
      guard let session = arguments.first, let key = VaultSamples.key(1) else { return false }
      let attempt = RefreshAttempt(
        since: VaultSamples.moment(1), sender: ProcessIdentity(id: getpid()), limit: .seconds(60))
      await edit(
        .prepare(
          SessionID(session), holding: RefreshToken("\(session)-refresh-\(arguments.dropFirst().first ?? "0")"),
          key: key,
          attempt: attempt))
    case "advance":
      guard let session = arguments.first else { return false }
      var tokens = VaultSamples.refreshed(
        RefreshToken("\(session)-refresh-0"), to: RefreshToken("\(session)-refresh-1"))
      tokens.response.tokens.credential = .accessToken(AccessToken(String(repeating: "x", count: 4000)))
      await edit(.advance(SessionID(session), tokens))
    case "lines": await runLines()
    case "touch":
      guard arguments.count == 2, let count = Int64(arguments[1]) else { return false }
      await touch(SessionID(arguments[0]), count)
    case "hold":
      guard let lock = try? await vault.lock(.refresh, within: .seconds(600)) else { return false }
      say("held")
      while readLine() != nil {}
      lock.unlock()
      say("let go")
    case "lock":
      guard let (lock, file) = vault.lockAttempt() else {
        say("no lock")
        return true
      }
      let child = Process()
      child.executableURL = URL(fileURLWithPath: "/bin/cat")
      child.standardOutput = FileHandle.nullDevice
      if !arguments.isEmpty { try? child.run() }
      say("locked \(file.device) \(file.number)")
      while readLine() != nil {}
      lock.unlock()
      say("let go")
    case "account":
      let id = arguments.first ?? "ada"
      await edit(.add(ListedAccount(id: AccountID(id), name: id, addedAt: UnixTime(seconds: 1))))
    case "activate": await edit(.activate(AccountID(arguments.first ?? "ada")))
    case "audit":
      guard arguments.count == 2, let count = Int64(arguments[0]) else { return false }
      await audit(count, outcome: arguments[1])
    case "trail":
      do throws(VaultError) { say("\(try await FileAuditLog(vault).trail().verdict)") } catch { say(text(error)) }
    case "set", "change", "open":
      do throws(PassphraseError) { try await seal(command) } catch { say("\(error)") }
    case "move": await move(to: arguments.first ?? "file")
    case "time": await time(arguments.first.flatMap(Int64.init) ?? 1000)
    default: return false
    }
    return true
  }

  private func edit(_ edit: AccountsEdit) async {
    switch await FileAccountsStore(folder: vault.folder).edit(edit) {
    case .success(let list): say("accounts \(list.accounts.count)")
    case .failure(let trouble): say(text(trouble))
    }
  }

  private func edit(_ edit: VaultEdit) async { say(text(await vault.edit(edit))) }

  private func touch(_ session: SessionID, _ count: Int64) async {
    var last = ""
    for number in 0..<count {
      let outcome = await vault.edit(.touch(session, at: VaultSamples.moment(number)))
      last = text(outcome)
      guard case .done = outcome else { break }
    }
    say(last)
  }

  private func seal(_ command: String) async throws(PassphraseError) {
    let passphrase = Passphrase(folder: vault.folder, cost: PassphraseCost(rounds: 10))
    let words = arguments.map { Secret($0) }
    switch (command, words.count) {
    case ("set", 1): try await passphrase.set(words[0])
    case ("change", 2): try await passphrase.change(from: words[0], to: words[1])
    default: try await passphrase.unlock(with: words.first ?? Secret(""))
    }
    let sealed = SealedFileVault(folder: vault.folder, account: vault.account, key: .passphrase(passphrase))
    say(command == "open" ? text(await sealed.read()) : command)
  }

  private func move(to place: String) async {
    let text = Secret("a long passphrase")
    let passphrase = Passphrase(folder: vault.folder, cost: PassphraseCost(rounds: 10)) { _ in text }
    let sealed = PassphraseKey(passphrase, reason: "to test", new: text)
    do throws(VaultError) {
      let trouble = try await VaultKeyPlace(folder: vault.folder) { _ in sealed }.move(to: place)
      say(trouble.map { self.text($0) } ?? "moved")
    } catch {
      say(self.text(error))
    }
  }

  private func audit(_ count: Int64, outcome: String) async {
    let log = FileAuditLog(vault, limit: 32 << 10)
    if case .value(let entry) = await vault.read(), let head = entry.auditHead { log.found(head) }
    for number in 0..<count {
      let time = VaultSamples.moment(number).wall
      await log.record(
        AuditEntry(action: .refresh, session: SessionID("s1"), account: AccountID("ada"), at: time, outcome: outcome))
    }
    say(log.trouble.map(text) ?? log.head.map { "\($0.sequence)" } ?? "nothing")
  }

  private func time(_ count: Int64) async {
    let session = VaultSamples.session()
    _ = await vault.edit(.begin(session))
    let clock = ContinuousClock()
    let reading = await clock.measure { for _ in 0..<count { _ = await vault.read() } }
    let editing = await clock.measure {
      for number in 0..<count { _ = await vault.edit(.touch(session.id, at: VaultSamples.moment(number))) }
    }
    say("read \(reading / Double(count) / .microseconds(1)) edit \(editing / Double(count) / .microseconds(1))")
  }

  private func text(_ reading: VaultReading) -> String {
    switch reading {
    case .value(let entry): text(entry)
    case .absent: "absent"
    case .accessOnly: "access only"
    case .trouble(let trouble): text(trouble)
    }
  }

  private func text(_ outcome: VaultOutcome) -> String {
    switch outcome {
    case .done(let entry): "done \(text(entry))"
    case .conflict(let entry): "conflict \(text(entry))"
    case .failed(let trouble): "failed \(text(trouble))"
    }
  }

  private func text(_ entry: VaultEntry) -> String {
    "\(entry.revision) \(entry.session?.id.rawValue ?? "-") \(entry.tombstones.map(\.session.rawValue).sorted())"
  }

  private func text(_ error: VaultError) -> String {
    let name = String(error.code.dropFirst("storage_".count))
    return error.detail.map { "\(name): \($0)" } ?? name
  }

  private func say(_ line: String) { VaultProbe.say(line) }

  private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
}
#else
@main struct VaultProbe {
  static func main() {}
}
#endif
