#if Command
import ArgumentParser
import Handstamp
import HandstampCommandLine
import HandstampSupport

struct Audit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "show or verify the log of session events on this device",
    subcommands: [Show.self, Verify.self], defaultSubcommand: Show.self)

  /// Returns the log of the chosen account, and the account.
  static func trail(_ options: AccountOptions) async throws(CommandError) -> (AuditTrail, ListedAccount) {
    let home = try Home.current()
    let account = try await KnownAccounts(of: home).account(options.named)
    do throws(VaultError) { return (try await FileAuditLog(home.vault(of: account.id)).trail(), account) } catch {
      throw CommandError(error)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "print the log, oldest first")

    @Option(help: "print only the last N records") var last: Int?
    @OptionGroup var output: OutputOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
      let (trail, _) = try await Audit.trail(account)
      if output.json {
        Terminal.out(trail.json(last: last).text)
      } else {
        var rows: [[String]] = []
        for record in trail.lines.suffix(last.map { max(0, $0) } ?? trail.lines.count) {
          guard let record else {
            rows.append(["?", "", "", "invalid record"])
            continue
          }
          let entry = record.entry
          rows.append([
            "\(record.sequence)", entry.at.description, entry.action.description.onOneLine,
            [
              entry.outcome, entry.action.method.map { "by \($0.rawValue)" }, entry.address,
              entry.session.map { "session \($0)" }, record.isIntact ? nil : "(unverified)",
            ].compactMap { $0?.onOneLine }.joined(separator: "  "),
          ])
        }
        Table(rows: rows).write()
      }
      if !trail.verdict.isIntact { Terminal.say("the log was altered; run: handstamp audit verify") }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "check that the log is complete and unaltered",
      discussion: "exits 1 if it is not")

    @OptionGroup var output: OutputOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
      let (trail, account) = try await Audit.trail(account)
      if output.json { Terminal.out(json: trail.object) }
      guard let what = trail.damage else {
        if !output.json { Terminal.out("intact, \(trail.lines.count) record(s)") }
        return
      }
      throw CommandError(
        .failure, "the log of \(account.name) \(what)",
        hint: "rely only on the records before that point; see: handstamp audit show")
    }
  }
}

extension AuditTrail {
  /// Describes the damage for people; `nil` if the log is intact.
  var damage: String? {
    switch verdict {
    case .intact: nil
    case .cut(let after, let head): "was truncated after record \(after); it once reached record \(head)"
    case .broken(let number, .unreadable): "is unreadable at record \(number)"
    case .broken(let number, .altered): "was altered at record \(number)"
    case .broken(let number, .missing): "is missing record \(number)"
    case .broken(let number, .repeated): "has a duplicate in place of record \(number)"
    case .broken(let number, .replaced): "has a different record in place of record \(number)"
    }
  }

  /// The verdict for programs.
  fileprivate var object: JSONObject {
    let count = lines.count
    switch verdict {
    // How many of the newest records could have been removed undetected.
    case .intact(let newer): return ["verdict": "intact", "records": count, "newer": newer]
    case .broken(let number, let why):
      return ["verdict": "broken", "records": count, "at": number, "reason": why.rawValue]
    // The last record before the cut, and the last one that the log is known to have had.
    case .cut(let after, let head): return ["verdict": "cut", "records": count, "at": after, "head": head]
    }
  }
}
#endif
