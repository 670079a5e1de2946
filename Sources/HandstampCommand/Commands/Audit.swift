#if Command
import ArgumentParser
import HandstampCore
import HandstampVaults

struct Audit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit", abstract: "show or verify the log of session events on this device",
    subcommands: [Show.self, Verify.self], defaultSubcommand: Show.self)

  /// Returns the log of the chosen account, and the account.
  static func trail(_ options: AccountOptions) async throws(CommandError) -> (AuditTrail, ListedAccount) {
    let home = try Home.current()
    let account = try await AccountBook(of: home).account(options.named)
    do throws(VaultError) { return (try await FileAuditLog(home.vault(of: account.id)).trail(), account) } catch {
      throw CommandError(error)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "print the log, oldest first")

    @Option(help: "print only the last N records") var last: Int?
    @OptionGroup var output: OutputOptions
    @OptionGroup var account: AccountOptions

    struct Answer: Document {
      struct Item: Encodable {
        var sequence: UInt64
        var at: String
        var atEpoch: Int64
        var action: String
        var outcome: String
        var account: String?
        var session: String?
        var program: String
        var process: Int64
        /// Whether the log is unaltered up to and including this record.
        var intact: Bool
      }
      var intact: Bool
      var records: [Item]
    }

    func run() async throws {
      let (trail, _) = try await Audit.trail(account)
      let items = trail.items.suffix(last.map { max(0, $0) } ?? trail.items.count)
      if output.json {
        Answer(intact: trail.isIntact, records: items.compactMap { Answer.Item($0) }).writeLine()
      } else {
        var rows: [[String]] = []
        for item in items {
          guard let record = item.record else {
            rows.append(["?", "", "", "invalid record"])
            continue
          }
          let entry = record.entry
          rows.append([
            "\(record.sequence)", entry.at.description, entry.action.rawValue.onOneLine,
            [
              entry.outcome, entry.session.map { "session \($0)" }, item.isIntact ? nil : "(unverified)",
            ].compactMap { $0?.onOneLine }.joined(separator: "  "),
          ])
        }
        Table(rows: rows).write()
      }
      if !trail.isIntact { Terminal.say("the log was altered; run: handstamp audit verify") }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify", abstract: "check that the log is complete and unaltered",
      discussion: "exits 1 if it is not")

    @OptionGroup var output: OutputOptions
    @OptionGroup var account: AccountOptions

    struct Answer: Document {
      /// `intact`, `broken` or `cut`.
      var verdict: String
      var records: Int
      /// How many of the newest records could have been removed undetected.
      var newer: UInt64?
      /// The number of the broken record, or of the last one before the cut.
      var at: UInt64?
      var reason: String?
      /// The number of the last record the log is known to have had.
      var head: UInt64?
    }

    func run() async throws {
      let (trail, account) = try await Audit.trail(account)
      if output.json { Answer(trail).writeLine() }
      guard let what = trail.damage else {
        if !output.json { Terminal.out("intact, \(trail.items.count) record(s)") }
        return
      }
      throw CommandError(
        .failure, "the log of \(account.name) \(what)",
        hint: "rely only on the records before that point; see: handstamp audit show")
    }
  }
}

extension AuditTrail {
  var isIntact: Bool { damage == nil }

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
}

extension Audit.Show.Answer.Item {
  /// `nil` for a line that is not a record.
  fileprivate init?(_ item: AuditTrail.Item) {
    guard let record = item.record else { return nil }
    let entry = record.entry
    self.init(
      sequence: record.sequence, at: entry.at.description, atEpoch: entry.at.seconds, action: entry.action.rawValue,
      outcome: entry.outcome, account: entry.account?.rawValue, session: entry.session?.rawValue,
      program: record.writer.program, process: record.writer.process, intact: item.isIntact)
  }
}

extension Audit.Verify.Answer {
  fileprivate init(_ trail: AuditTrail) {
    self.init(verdict: "intact", records: trail.items.count)
    switch trail.verdict {
    case .intact(let newer): self.newer = newer
    case .broken(let number, let why): (verdict, at, reason) = ("broken", number, why.rawValue)
    case .cut(let after, let head): (verdict, at, self.head) = ("cut", after, head)
    }
  }
}
#endif
