#if Programs
import ArgumentParser
import HandstampCore
import HandstampVaults

/// `handstamp audit`.
struct Audit: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "what happened to an account's sessions on this device", subcommands: [Show.self, Verify.self])

  /// The log of the account that was chosen, and the account.
  static func trail(_ options: AccountOptions) async throws(Refusal) -> (AuditTrail, Account) {
    let home = try Home.current()
    let account = try options.chosen(try await AccountBook(of: home))
    do throws(VaultTrouble) { return (try await FileAuditLog(home.vault(of: account.id)).trail(), account) } catch {
      throw Refusal(error)
    }
  }

  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "prints the log, oldest first")

    @Option(help: "only the last so many") var last: Int?
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
        /// Whether nothing was changed up to here.
        var intact: Bool
      }
      var schemaVersion = 1
      var intact: Bool
      var records: [Item]
    }

    func run() async throws {
      let (trail, _) = try await Audit.trail(account)
      let items = trail.items.suffix(last.map { max(0, $0) } ?? trail.items.count)
      if output.json {
        Answer(intact: trail.isIntact, records: items.compactMap { Answer.Item($0) }).print()
      } else {
        var rows: [[String]] = []
        for item in items {
          guard let record = item.record else {
            rows.append(["?", "", "", "this line is no record"])
            continue
          }
          let entry = record.entry
          rows.append([
            "\(record.sequence)", entry.at.description, entry.action.rawValue.onOneLine,
            [
              entry.outcome, entry.session.map { "session \($0)" }, item.isIntact ? nil : "(not to be relied on)",
            ].compactMap { $0?.onOneLine }.joined(separator: "  "),
          ])
        }
        for line in Table(rows: rows).lines { Terminal.out(line) }
      }
      if !trail.isIntact { Terminal.say("the log was changed: handstamp audit verify says where") }
    }
  }

  struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "checks that nothing in the log was changed, cut or taken out", discussion: "exits 1 when something was"
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var account: AccountOptions

    struct Answer: Document {
      var schemaVersion = 1
      /// `intact`, `broken` or `cut`.
      var verdict: String
      var records: Int
      /// How many of the newest could have been cut unseen.
      var newer: UInt64?
      /// The number of the record where it is broken, or after which it was cut.
      var at: UInt64?
      var reason: String?
      /// How far it had come once.
      var head: UInt64?
    }

    func run() async throws {
      let (trail, account) = try await Audit.trail(account)
      if output.json { Answer(trail).print() }
      guard let what = trail.damage else {
        if !output.json { Terminal.out("intact, \(trail.items.count) record(s)") }
        return
      }
      throw Refusal(
        .failure, "the log of \(account.name) \(what)",
        hint: "handstamp audit show prints it; what stands before that place is genuine")
    }
  }
}

extension AuditTrail {
  var isIntact: Bool { damage == nil }

  /// What is wrong with it, for people.
  var damage: String? {
    switch verdict {
    case .intact: nil
    case .cut(let after, let head): "was cut behind record \(after); it had come to \(head)"
    case .broken(let number, .unreadable): "is not readable at record \(number)"
    case .broken(let number, .altered): "was altered at record \(number)"
    case .broken(let number, .missing): "lacks record \(number)"
    case .broken(let number, .repeated): "has a record once more in place of \(number)"
    case .broken(let number, .replaced): "has another record in place of \(number)"
    }
  }
}

extension Audit.Show.Answer.Item {
  /// Nothing for a line that is no record.
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
